// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's attention operators: Attention, QAttention, MultiHeadAttention, GroupQueryAttention.
#include <cmath>

#include "compiler/import/compositions/attend.h"
#include "compiler/import/compositions/compositions.h"
#include "compiler/import/compositions/quantized_products.h"
#include "compiler/import/compositions/rotary.h"

namespace collage::import::compositions {

using ir::AttrMap;
using ir::DType;
using ir::Shape;
using ir::ValueId;
using runtime::Ints;

namespace {

/// Where(mask, 0, filter) in `type`, broadcast to the scores. `mask`: of 0 and 1, [batch, keys] or [batch, queries,
/// keys], or the number of keys that count, [batch]. Returns an invalid id after an error.
ValueId mask_bias(Composition& c, ValueId mask, int64_t batch, int64_t keys, DType type) {
  double filter = c.attr("mask_filter_value", -10000.0);
  if (!mask.is_valid() || !c.is_good()) return ValueId();
  Shape shape = c.shape(mask);
  ValueId kept;
  if (shape == Shape{batch}) {
    kept = first_keys(c, mask, keys);
  } else if (shape == Shape{batch, keys}) {
    kept = c.reshape(c.cast(mask, DType::Bool), {batch, 1, 1, keys});
  } else if (shape.size() == 3 && shape[0] == batch && shape[2] == keys) {
    kept = c.reshape(c.cast(mask, DType::Bool), {batch, 1, shape[1], keys});
  } else {
    c.refuse(fmt::format("a mask of shape {} is not supported for {} sequences and {} keys", runtime::to_string(shape),
                         batch, keys));
    return ValueId();
  }
  return c.add("Where", {kept, c.scalar(0, type), c.scalar(filter, type)});
}

ValueId sum_of(Composition& c, ValueId a, ValueId b) {
  if (!a.is_valid() || !b.is_valid()) return a.is_valid() ? a : b;
  return c.add("Add", {a, b});
}

/// The scale that the node states, else 1 / sqrt(size of a head).
double scale_of(Composition& c, int64_t size) {
  double scale = c.attr("scale", 0.0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, size)));
}

void forbid_future(Composition& c, Attend& a, int64_t past) {
  if (c.attr("unidirectional", int64_t{0}) == 0) return;
  Window causal;
  causal.right = 0;
  a.allowed = window(c, causal, c.dim(a.q, 2), c.dim(a.v, 2), past, ValueId());
}

/// Operands of Attention and QAttention after the projection.
struct SelfAttention {
  ValueId projected;  ///< [batch, length, queries + keys + values]
  ValueId mask, past, bias;
};

// past and present: [2, batch, heads, length, size], keys before values
void self_attention(Composition& c, const SelfAttention& s) {
  int64_t heads = c.attr("num_heads", int64_t{0});
  if (!c.need(c.rank(s.projected) == 3, "the input needs the dimensions batch, length and size")) return;
  int64_t batch = c.dim(s.projected, 0), width = c.dim(s.projected, 2);
  Ints sizes = {width / 3, width / 3, width / 3};
  if (const auto* given = c.any_attr("qkv_hidden_sizes")) {
    const auto* ints = std::get_if<Ints>(given);
    if (!c.need(ints != nullptr, "attribute `qkv_hidden_sizes` must be a list of integers")) return;
    sizes = *ints;
  }
  if (!c.need(sizes.size() == 3 && sizes[0] > 0 && sizes[1] > 0 && sizes[2] > 0 && sizes[0] <= width &&
                  sizes[1] <= width && sizes[2] <= width && sizes[0] + sizes[1] + sizes[2] == width,
              fmt::format("{} columns do not divide into queries, keys and values", width))) {
    return;
  }
  if (c.attr("do_rotary", int64_t{0}) != 0 || c.attr("past_present_share_buffer", int64_t{0}) != 0) {
    c.refuse(fmt::format("{} with rotary embedding or a shared buffer is not supported", c.op()));
    return;
  }
  c.ignore_attr("rotary_embedding_dim");
  std::vector<ValueId> parts =
      c.add_many("Split", {s.projected, c.ints(sizes)}, Composition::attrs("axis", int64_t{2}), 3);
  Attend a;
  bool keeps_keys = s.past.is_valid() || c.wants(1);
  a.q = split_heads(c, parts[0], heads);
  a.keys_last = !keeps_keys;
  a.k = keeps_keys ? split_heads(c, parts[1], heads) : split_heads_keys_last(c, parts[1], heads);
  a.v = split_heads(c, parts[2], heads);
  int64_t past = 0;
  if (s.past.is_valid() && c.is_good()) {
    const Shape shape = c.shape(s.past);
    if (!c.need(shape.size() == 5 && shape[0] == 2, "the past has the dimensions 2, batch, heads, length and size"))
      return;
    past = shape[3];
    auto half = [&](int64_t i) {
      return c.reshape(c.slice(s.past, 0, i, i + 1), {shape[1], shape[2], shape[3], shape[4]});
    };
    a.k = c.concat({half(0), a.k}, 2);
    a.v = c.concat({half(1), a.v}, 2);
  }
  if (c.wants(1) && c.is_good()) {
    auto whole = [&](ValueId x) {
      Shape shape = c.shape(x);
      shape.insert(shape.begin(), 1);
      return c.reshape(x, shape);
    };
    c.result(1, "Concat", {whole(a.k), whole(a.v)}, Composition::attrs("axis", int64_t{0}));
  }
  c.ignore_result(1);
  if (!c.is_good()) return;
  a.scale = scale_of(c, c.dim(a.q, 3));
  a.bias = sum_of(c, mask_bias(c, s.mask, batch, c.dim(a.v, 2), c.dtype(a.q)), s.bias);
  a.may_allow_none = false;
  forbid_future(c, a, past);
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

}  // namespace

// Attention(x, weights, bias, mask, past, attention bias)  =>  heads of x * weights + bias, attended
void microsoft_attention(Composition& c) {
  ValueId projected = c.add("MatMul", {c.in(0), c.in(1)});
  if (c.has(2)) projected = c.add("Add", {projected, c.in(2)});
  self_attention(c, {projected, c.in(3), c.in(4), c.in(5)});
}

// QAttention(x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past): the projection is in integers
void quantized_attention(Composition& c) {
  std::vector<ValueId> operands = {c.in(0), c.in(1), c.in(6), c.in(7)};
  ValueId projected = c.add("Add", {scaled_integers(c, operands, c.in(3), c.in(4)), c.in(2)});
  self_attention(c, {projected, c.in(5), c.in(8), ValueId()});
}

// Operands: query, key, value, bias, key padding mask, attention bias, past key, past value. The query may hold all
// three, [batch, length, heads, 3, size], the key also the values, [batch, keys, heads, 2, size]; keys and values of an
// encoder are [batch, heads, keys, size].
void multi_head_attention(Composition& c) {
  int64_t heads = c.attr("num_heads", int64_t{0});
  ValueId query = c.in(0), key = c.in(1), value = c.in(2);
  if (!c.need(heads > 0, "`num_heads` is missing")) return;
  // One of the tensors that are packed along axis 3, as [batch, length, heads * size].
  auto unpack = [&](ValueId x, int64_t i) {
    Shape shape = c.shape(x);
    return c.reshape(c.slice(x, 3, i, i + 1), {shape[0], shape[1], shape[2] * shape[4]});
  };
  if (c.rank(query) == 5) {
    if (!c.need(c.dim(query, 3) == 3 && !key.is_valid() && !value.is_valid(), "a packed query holds all three")) return;
    key = unpack(query, 1);
    value = unpack(query, 2);
    query = unpack(query, 0);
  } else if (key.is_valid() && c.rank(key) == 5) {
    if (!c.need(c.dim(key, 3) == 2 && !value.is_valid(), "packed keys hold the values")) return;
    value = unpack(key, 1);
    key = unpack(key, 0);
  }
  if (!c.need(key.is_valid() && value.is_valid(), "keys or values are missing") ||
      !c.need(c.rank(query) == 3, "the query needs the dimensions batch, length and size")) {
    return;
  }
  bool has_heads = c.rank(key) == 4;
  if (c.has(3)) {
    int64_t width = c.dim(query, 2), value_width = c.dim(c.in(3), 0) - 2 * width;
    if (!c.need(c.rank(c.in(3)) == 1 && value_width >= 0, "the bias does not fit the query")) return;
    query = c.add("Add", {query, c.slice(c.in(3), 0, 0, width)});
    if (!has_heads) {
      key = c.add("Add", {key, c.slice(c.in(3), 0, width, 2 * width)});
      value = c.add("Add", {value, c.slice(c.in(3), 0, 2 * width, 2 * width + value_width)});
    }
  }
  Attend a;
  bool has_past = c.has(6);
  if (!c.need(c.has(7) == has_past, "past keys and values come together")) return;
  bool keeps_keys = has_past || c.wants(1);
  a.q = split_heads(c, query, heads);
  a.keys_last = !has_heads && !keeps_keys;
  a.k = has_heads ? key : keeps_keys ? split_heads(c, key, heads) : split_heads_keys_last(c, key, heads);
  a.v = has_heads ? value : split_heads(c, value, heads);
  AttrMap along_keys = Composition::attrs("axis", int64_t{2});
  int64_t past = has_past ? c.dim(c.in(6), 2) : 0;
  if (has_past) {
    a.k = c.result(1, "Concat", {c.in(6), a.k}, along_keys);
    a.v = c.result(2, "Concat", {c.in(7), a.v}, along_keys);
  } else {
    c.give(1, a.k);
    c.give(2, a.v);
  }
  if (!c.is_good()) return;
  a.scale = scale_of(c, c.dim(a.q, 3));
  a.bias = sum_of(c, mask_bias(c, c.in(4), c.dim(a.q, 0), c.dim(a.v, 2), c.dtype(a.q)), c.in(5));
  a.may_allow_none = false;
  forbid_future(c, a, past);
  if (c.wants(3)) a.scores_result = 3;
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

namespace {

/// The keys or values of all positions up to now, as result `i`. `past`, of rank 4, may be invalid. `starts`:
/// i64[batch, 1, 1, 1], how many of `past` count; the new ones follow right after them.
ValueId append(Composition& c, size_t i, ValueId past, ValueId fresh, ValueId starts) {
  if (!c.is_good()) return fresh;
  if (!past.is_valid() || c.dim(past, 2) == 0) {
    c.give(i, fresh);
    return fresh;
  }
  Shape shape = c.shape(past);
  int64_t old = shape[2], length = c.dim(fresh, 2), total = old + length;
  ValueId all = c.concat({past, fresh}, 2);
  ValueId at = c.reshape(c.range(total), {total, 1});
  if (length == 1) return c.result(i, "Where", {c.add("Less", {at, starts}), all, fresh});
  // Position j holds past[j] up to the start, then new[j - start].
  ValueId in_new = c.add("Add", {c.add("Sub", {at, starts}), c.scalar(static_cast<double>(old), DType::I64)});
  ValueId from = c.add("Where", {c.add("Less", {at, starts}), at,
                                 c.add("Min", {in_new, c.scalar(static_cast<double>(total - 1), DType::I64)})});
  return c.result(i, "GatherElements", {all, c.expand(from, {shape[0], shape[1], total, shape[3]})},
                  Composition::attrs("axis", int64_t{2}));
}

}  // namespace

// Operands: query, key, value, past key, past value, last position of each sequence, total length, cos, sin, position
// ids, attention bias. Without key and value the query holds all three one after another. The total length is a shape
// here: that of the past and the new keys together.
void group_query_attention(Composition& c) {
  int64_t heads = c.attr("num_heads", int64_t{0}), kv_heads = c.attr("kv_num_heads", int64_t{0});
  constexpr int64_t kMostHeads = int64_t{1} << 24;
  if (!c.need(heads > 0 && kv_heads > 0 && heads < kMostHeads && kv_heads < kMostHeads,
              fmt::format("{} heads of queries and {} of keys do not exist", heads, kv_heads)) ||
      !c.need_rank(0, 3, 3) || !c.need(c.has(5), "the lengths of the sequences are left out")) {
    return;
  }
  c.has(6);
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
  a.k = append(c, 1, c.in(3), a.k, starts);
  a.v = append(c, 2, c.in(4), a.v, starts);
  if (!c.is_good()) return;
  a.scale = scale_of(c, c.dim(a.q, 3));
  a.softcap = c.attr("softcap", 0.0);
  a.bias = c.in(10);
  a.may_allow_none = false;
  Window bounds;
  bounds.right = 0;
  if (int64_t local = c.attr("local_window_size", int64_t{-1}); local > 0) bounds.left = local - 1;
  a.allowed = window(c, bounds, length, c.dim(a.v, 2), 0, starts);
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

// RotaryEmbedding(x, positions, cos, sin): x is [batch, length, heads * size] or [batch, heads, length, size]; one
// position is that of the first token of every sequence
void microsoft_rotary_embedding(Composition& c) {
  if (!c.need_rank(0, 3, 4) || !c.need(c.rank(c.in(2)) == 2 && c.rank(c.in(3)) == 2, "the caches need 2 dimensions"))
    return;
  const Shape given = c.shape(c.in(0));
  bool is_flat = given.size() == 3;
  int64_t heads = c.attr("num_heads", int64_t{0}), turned = c.attr("rotary_embedding_dim", int64_t{0});
  int64_t batch = given[0], length = is_flat ? given[1] : given[2];
  if (c.attr("is_packed_batching", int64_t{0}) != 0 || c.attr("scale", 1.0) != 1) {
    c.refuse("RotaryEmbedding with a scale or packed sequences is not supported");
    return;
  }
  if (!c.need(!is_flat || heads > 0 || turned == 0, "a part of each head turns, and `num_heads` is missing")) return;
  // Without a number of heads the caches tell their size.
  if (is_flat && heads == 0) heads = given[2] / std::max<int64_t>(1, 2 * c.dim(c.in(2), 1));
  if (is_flat && !c.need(heads > 0 && given[2] % heads == 0,
                         fmt::format("{} numbers do not divide into {} heads", given[2], heads)))
    return;
  Rotary r;
  r.is_interleaved = c.attr("interleaved", int64_t{0}) != 0;
  r.x = is_flat ? c.reshape(c.in(0), {batch, length, heads, given[2] / heads}) : c.in(0);
  r.turned = turned > 0 ? turned : 2 * c.dim(c.in(2), 1);
  ValueId positions = c.cast(c.in(1), DType::I64);
  if (runtime::element_count(c.shape(positions)) == 1) {
    positions = c.expand(c.add("Add", {c.reshape(positions, {1}), c.range(length)}), {batch, length});
  }
  if (!c.need(c.shape(positions) == Shape{batch, length}, "one position per token is needed")) return;
  auto angles = [&](size_t operand) {
    ValueId found = c.add("Gather", {c.in(operand), positions});
    int64_t count = c.dim(found, -1);
    return c.reshape(found, is_flat ? Shape{batch, length, 1, count} : Shape{batch, 1, length, count});
  };
  r.cos = angles(2);
  r.sin = angles(3);
  rotate_into_result(c, r, given);
}

}  // namespace collage::import::compositions
