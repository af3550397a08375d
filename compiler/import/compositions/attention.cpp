// SPDX-License-Identifier: Apache-2.0
// Attention of opsets 23 to 25. Operands: Q K V mask past_key past_value nonpad_kv_seqlen; results: Y present_key
// present_value scores. Queries, keys and values are [batch, heads, length, size] or [batch, length, heads * size].
#include <cmath>
#include <limits>

#include "compiler/import/compositions/attend.h"
#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {
namespace {

using ir::DType;
using ir::Shape;
using ir::ValueId;

/// Keys that the mask does not reach may not be attended.
void add_mask(Composition& c, ValueId mask, int64_t keys, Attend& a) {
  if (!c.need(c.rank(mask) <= 4, "the mask has more than 4 dimensions")) return;
  if (c.dtype(mask) == DType::Bool) {
    a.allowed = pad_keys(c, mask, keys, 0);
  } else {
    a.bias = pad_keys(c, c.cast(mask, c.dtype(a.q)), keys, -std::numeric_limits<double>::infinity());
  }
}

/// Adds which keys the position of a query allows.
void add_window(Composition& c, int64_t past, ValueId valid_keys, Attend& a) {
  Window bounds;
  if (int64_t left = c.attr("left_window_size", int64_t{-1}); left >= 0) bounds.left = left;
  if (int64_t right = c.attr("right_window_size", int64_t{-1}); right >= 0) bounds.right = right;
  bool is_causal = c.attr("is_causal", int64_t{0}) != 0;
  if (is_causal) bounds.right = 0;
  int64_t queries = c.dim(a.q, 2), keys = c.dim(a.v, 2);
  constexpr int64_t kMostWindow = int64_t{1} << 40;
  if (!c.need(bounds.left.value_or(0) < kMostWindow && bounds.right.value_or(0) < kMostWindow,
              "the window is too wide"))
    return;
  ValueId offset;
  if (valid_keys.is_valid() && c.is_good()) {
    ValueId count = c.reshape(c.cast(valid_keys, DType::I64), {runtime::element_count(c.shape(valid_keys)), 1, 1, 1});
    offset = c.plus(count, -static_cast<double>(queries));
  }
  // A query attends at least its own position, unless something else bounds it too.
  bool attends_itself = !a.allowed.is_valid() && !a.bias.is_valid() && !offset.is_valid() && past + queries <= keys;
  if (attends_itself) a.may_allow_none = false;
  a.allowed = both(c, a.allowed, window(c, bounds, queries, keys, past, offset));
  if (valid_keys.is_valid()) a.allowed = both(c, a.allowed, first_keys(c, valid_keys, keys));
}

}  // namespace

void attention(Composition& c) {
  if (!c.need_rank(0, 3, 4) || !c.need_rank(1, c.rank(c.in(0)), c.rank(c.in(0))) ||
      !c.need_rank(2, c.rank(c.in(0)), c.rank(c.in(0)))) {
    return;
  }
  bool is_flat = c.rank(c.in(0)) == 3, has_past = c.has(4) || c.has(5);
  bool shows_present = c.wants(1) || c.wants(2);
  int64_t heads = c.attr("q_num_heads", int64_t{0}), kv_heads = c.attr("kv_num_heads", int64_t{0});
  if (!c.need(!has_past || (c.has(4) && c.has(5)), "past keys and values come together") ||
      !c.need(!has_past || !c.has(6), "lengths of keys and past keys exclude each other")) {
    return;
  }
  Attend a;
  a.q = is_flat ? split_heads(c, c.in(0), heads) : c.in(0);
  a.keys_last = is_flat && !has_past && !c.wants(1);
  a.k = !is_flat      ? c.in(1)
        : a.keys_last ? split_heads_keys_last(c, c.in(1), kv_heads)
                      : split_heads(c, c.in(1), kv_heads);
  a.v = is_flat ? split_heads(c, c.in(2), kv_heads) : c.in(2);
  if (has_past) {
    a.k = c.result(1, "Concat", {c.in(4), a.k}, Composition::attrs("axis", int64_t{2}));
    a.v = c.result(2, "Concat", {c.in(5), a.v}, Composition::attrs("axis", int64_t{2}));
  } else if (shows_present) {
    if (c.wants(1)) c.give(1, a.k);
    if (c.wants(2)) c.give(2, a.v);
  }
  if (!c.is_good()) return;
  a.scale = c.attr("scale", 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, c.dim(a.q, 3)))));
  a.softcap = c.attr("softcap", 0.0);
  a.softmax_type = softmax_precision(c, c.dtype(a.q));
  if (!a.softmax_type) return;
  if (c.has(3)) add_mask(c, c.in(3), c.dim(a.v, 2), a);
  add_window(c, has_past ? c.dim(c.in(4), 2) : 0, c.in(6), a);
  int64_t mode = c.attr("qk_matmul_output_mode", int64_t{0});
  if (!c.need(mode >= 0 && mode <= 3, fmt::format("qk_matmul_output_mode {} is none of 0 to 3", mode))) return;
  a.scores = static_cast<Scores>(mode);
  if (c.wants(3)) a.scores_result = 3;
  if (!is_flat) a.result = 0;
  ValueId y = attend(c, a);
  if (is_flat && c.is_good()) join_heads(c, 0, y);
}

}  // namespace collage::import::compositions
