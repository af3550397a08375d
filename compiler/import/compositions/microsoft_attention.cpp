// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's attention operators of equal heads: Attention, QAttention, MultiHeadAttention.
//
// Keys and values of earlier steps come before the new ones. Where past and present share a buffer, the past has room
// for all steps, and the length of the past says where the new ones go:
//
//     past a b _ _, new x, 2 of the past count  =>  present a b x _, of which x may attend a, b and x
#include "compiler/import/compositions/attend.h"
#include "compiler/import/compositions/compositions.h"
#include "compiler/import/compositions/quantized_products.h"

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

/// The length of the past in a shared buffer, as i64[1, 1, 1, 1]. Returns an invalid id after an error.
ValueId start_in_buffer(Composition& c, ValueId length) {
  if (!c.need(runtime::element_count(c.shape(length)) == 1, "one length of the past is needed")) return ValueId();
  return c.reshape(c.cast(length, DType::I64), {1, 1, 1, 1});
}

/// Adds what the queries may attend, and what is added to their scores. `past`: rows before the new ones; `start`:
/// where these stand in a shared buffer, invalid where there is none.
void add_masks(Composition& c, ValueId mask, ValueId bias, int64_t past, ValueId start, Attend& a) {
  const int64_t queries = c.dim(a.q, 2), keys = c.dim(a.v, 2);
  if (start.is_valid()) {
    if (mask.is_valid() && c.rank(mask) > 1) mask = pad_keys(c, mask, keys, 0);
    if (bias.is_valid()) bias = pad_keys(c, bias, keys, 0);
    a.allowed = first_keys(c, c.plus(start, static_cast<double>(queries)), keys);
  }
  a.bias = sum_of(c, mask_bias(c, mask, c.dim(a.q, 0), keys, c.dtype(a.q)), bias);
  a.may_allow_none = false;
  if (c.attr("unidirectional", int64_t{0}) == 0) return;
  Window causal;
  causal.right = 0;
  a.allowed = window(c, causal, queries, keys, past, start);
}

/// Operands of Attention and QAttention after the projection.
struct SelfAttention {
  ValueId projected;  ///< [batch, length, queries + keys + values]
  ValueId mask, past, bias;
  ValueId past_length = {};  ///< in a shared buffer
};

// past and present: [2, batch, heads, length, size], keys before values
void self_attention(Composition& c, const SelfAttention& s) {
  int64_t heads = c.attr("num_heads", int64_t{0});
  if (!c.need(c.rank(s.projected) == 3, "the input needs the dimensions batch, length and size")) return;
  int64_t width = c.dim(s.projected, 2);
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
  if (c.attr("do_rotary", int64_t{0}) != 0) {
    c.refuse(fmt::format("{} with rotary embedding is not supported", c.op()));
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
  ValueId start;
  if (s.past.is_valid() && c.is_good()) {
    const Shape shape = c.shape(s.past);
    if (!c.need(shape.size() == 5 && shape[0] == 2, "the past has the dimensions 2, batch, heads, length and size"))
      return;
    past = shape[3];
    auto half = [&](int64_t i) {
      return c.reshape(c.slice(s.past, 0, i, i + 1), {shape[1], shape[2], shape[3], shape[4]});
    };
    if (s.past_length.is_valid()) start = start_in_buffer(c, s.past_length);
    const auto behind = [&](ValueId old, ValueId fresh) {
      return start.is_valid() ? append(c, old, fresh, start, past) : c.concat({old, fresh}, 2);
    };
    a.k = behind(half(0), a.k);
    a.v = behind(half(1), a.v);
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
  add_masks(c, s.mask, s.bias, past, start, a);
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

}  // namespace

// Attention(x, weights, bias, mask, past, attention bias, length of the past)
//   =>  heads of x * weights + bias, attended
void microsoft_attention(Composition& c) {
  const bool shares_buffer = c.attr("past_present_share_buffer", int64_t{0}) != 0;
  if (shares_buffer && !c.need(c.has(4) && c.has(6), "a shared buffer comes with the length of the past")) return;
  ValueId projected = c.add("MatMul", {c.in(0), c.in(1)});
  if (c.has(2)) projected = c.add("Add", {projected, c.in(2)});
  self_attention(c, {projected, c.in(3), c.in(4), c.in(5), shares_buffer ? c.in(6) : ValueId()});
}

// QAttention(x, weights, bias, x_scale, w_scale, mask, x_zero, w_zero, past): the projection is in integers
void quantized_attention(Composition& c) {
  if (c.attr("past_present_share_buffer", int64_t{0}) != 0) {
    c.refuse("QAttention with a shared buffer is not supported");
    return;
  }
  std::vector<ValueId> operands = {c.in(0), c.in(1), c.in(6), c.in(7)};
  ValueId projected = c.add("Add", {scaled_integers(c, operands, c.in(3), c.in(4)), c.in(2)});
  self_attention(c, {projected, c.in(5), c.in(8), ValueId()});
}

// Operands: query, key, value, bias, key padding mask, attention bias, past key, past value, and where these are shared
// buffers the length of the past. The query may hold all three, [batch, length, heads, 3, size], the key also the
// values, [batch, keys, heads, 2, size]; keys and values of an encoder are [batch, heads, keys, size].
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
  ValueId start;
  if (c.has(8)) {
    if (!c.need(has_past, "a length of the past comes with past keys and values")) return;
    start = start_in_buffer(c, c.in(8));
    a.k = append(c, c.in(6), a.k, start, past);
    a.v = append(c, c.in(7), a.v, start, past);
    c.give(1, a.k);
    c.give(2, a.v);
  } else if (has_past) {
    a.k = c.result(1, "Concat", {c.in(6), a.k}, along_keys);
    a.v = c.result(2, "Concat", {c.in(7), a.v}, along_keys);
  } else {
    c.give(1, a.k);
    c.give(2, a.v);
  }
  if (!c.is_good()) return;
  a.scale = scale_of(c, c.dim(a.q, 3));
  add_masks(c, c.in(4), c.in(5), past, start, a);
  if (c.wants(3)) a.scores_result = 3;
  ValueId y = attend(c, a);
  if (c.is_good()) join_heads(c, 0, y);
}

}  // namespace collage::import::compositions
