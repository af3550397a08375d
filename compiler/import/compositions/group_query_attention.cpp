// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of ONNX Runtime: heads of queries share heads of keys and values, which lie in caches.
//
// A cache that grows has the keys of all earlier positions; one that is shared with the present has room for more, of
// which the first rows count. In both, new keys go where the sequence ends, each sequence of a batch for itself:
//
//     past a b, total length 3       =>  present a b x
//     past a b _ _, total length 3   =>  present a b x _
#include <algorithm>
#include <optional>

#include "compiler/import/compositions/attend.h"
#include "compiler/import/compositions/compositions.h"
#include "compiler/import/compositions/rotary.h"

namespace collage::import::compositions {

using ir::DType;
using ir::ValueId;

namespace {

/// How many rows the present keys and values have: as many as the past, or as the total length says where these are
/// more. Returns nullopt after an error.
std::optional<int64_t> capacity_of_caches(Composition& c) {
  constexpr int64_t kMostRows = int64_t{1} << 40;
  const ir::Tensor* total = c.constant(c.in(6));
  if (total == nullptr) {
    c.undecided("the total length of GroupQueryAttention, which its caches grow to, must be constant");
    return std::nullopt;
  }
  const bool is_length = total->count() == 1 && !is_float(total->dtype());
  const int64_t rows = is_length ? runtime::element_as_int(total->view(), 0) : -1;
  if (!c.need(rows >= 0 && rows < kMostRows, "the total length is not one length")) return std::nullopt;
  return std::max(rows, c.dim(c.in(3), 2));
}

}  // namespace

// Operands: query, key, value, past key, past value, last position of each sequence, total length, cos, sin, position
// ids, attention bias. Without key and value the query holds all three one after another.
void group_query_attention(Composition& c) {
  int64_t heads = c.attr("num_heads", int64_t{0}), kv_heads = c.attr("kv_num_heads", int64_t{0});
  constexpr int64_t kMostHeads = int64_t{1} << 24;
  if (!c.need(heads > 0 && kv_heads > 0 && heads < kMostHeads && kv_heads < kMostHeads,
              fmt::format("{} heads of queries and {} of keys do not exist", heads, kv_heads)) ||
      !c.need_rank(0, 3, 3) || !c.need(c.has(5) && c.has(6), "the lengths of the sequences are left out")) {
    return;
  }
  ValueId query = c.in(0), key = c.in(1), value = c.in(2);
  if (!c.need(key.is_valid() == value.is_valid(), "keys and values come together") ||
      !c.need(c.has(3) == c.has(4), "past keys and values come together") ||
      (c.has(3) && (!c.need_rank(3, 4, 4) || !c.need_rank(4, 4, 4)))) {
    return;
  }
  int64_t batch = c.dim(query, 0), length = c.dim(query, 1);
  if (!key.is_valid()) {
    int64_t all = heads + 2 * kv_heads, width = c.dim(query, 2);
    if (!c.need(width % all == 0, fmt::format("{} numbers do not divide into {} heads", width, all))) return;
    int64_t size = width / all;
    std::vector<ValueId> parts = c.add_many("Split", {query, c.ints({heads * size, kv_heads * size, kv_heads * size})},
                                            Composition::attrs("axis", int64_t{2}), 3);
    query = parts[0];
    key = parts[1];
    value = parts[2];
  }
  Attend a;
  a.q = split_heads(c, query, heads);
  a.k = split_heads(c, key, kv_heads);
  a.v = split_heads(c, value, kv_heads);
  if (!c.need(runtime::element_count(c.shape(c.in(5))) == batch, "one length per sequence is needed")) return;
  ValueId last = c.reshape(c.cast(c.in(5), DType::I64), {batch, 1, 1, 1});
  ValueId starts = c.add("Max", {c.plus(last, static_cast<double>(1 - length)), c.scalar(0, DType::I64)});
  if (c.attr("do_rotary", int64_t{0}) != 0) {
    if (!c.need(c.has(7) && c.has(8), "the rotary embedding needs its caches")) return;
    ValueId positions = c.has(9) ? c.in(9) : c.add("Add", {c.reshape(starts, {batch, 1}), c.range(length)});
    auto angles = [&](size_t operand) {
      ValueId found = c.add("Gather", {c.in(operand), positions});
      return c.reshape(found, {batch, 1, length, c.dim(found, -1)});
    };
    Rotary r;
    r.cos = angles(7);
    r.sin = angles(8);
    r.is_interleaved = c.attr("rotary_interleaved", int64_t{0}) != 0;
    r.turned = 2 * c.dim(r.cos, -1);
    r.x = a.q;
    a.q = rotate(c, r, std::nullopt);
    r.x = a.k;
    a.k = rotate(c, r, std::nullopt);
  } else {
    for (size_t operand : {7u, 8u, 9u}) c.has(operand);
    c.ignore_attr("rotary_interleaved");
  }
  if (!c.is_good()) return;
  if (c.attr("smooth_softmax", int64_t{0}) > 0 || c.attr("qk_output", int64_t{0}) != 0) {
    c.refuse("GroupQueryAttention with a smooth softmax or scores as a result is not supported");
    return;
  }
  if (c.attr("causal", int64_t{1}) != 1 || c.attr("sliding_window_cache", int64_t{0}) != 0) {
    c.refuse("GroupQueryAttention of later keys or with a cache of the window alone is not supported");
    return;
  }
  if (c.attr("k_quant_type", "NONE") != "NONE" || c.attr("v_quant_type", "NONE") != "NONE") {
    c.refuse("GroupQueryAttention with quantised keys or values is not supported");
    return;
  }
  // Attributes of quantised caches and of norms, whose operands are refused.
  c.ignore_attr("kv_cache_bit_width");
  c.ignore_attr("qk_norm_epsilon");
  if (c.dim(c.in(3), 2) > 0) {
    const std::optional<int64_t> capacity = capacity_of_caches(c);
    if (!capacity) return;
    a.k = append(c, c.in(3), a.k, starts, *capacity);
    a.v = append(c, c.in(4), a.v, starts, *capacity);
  }
  c.give(1, a.k);
  c.give(2, a.v);
  if (!c.is_good()) return;
  a.scale = scale_of(c, c.dim(a.q, 3));
  a.softcap = c.attr("softcap", 0.0);
  if (c.has(10)) a.bias = pad_keys(c, c.in(10), c.dim(a.v, 2), 0);
  a.may_allow_none = false;
  Window bounds;
  bounds.right = 0;
  if (int64_t local = c.attr("local_window_size", int64_t{-1}); local > 0) bounds.left = local - 1;
  a.allowed = window(c, bounds, length, c.dim(a.v, 2), 0, starts);
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

}  // namespace collage::import::compositions
