// SPDX-License-Identifier: Apache-2.0
// Layers that carry a state from call to call, as models with linear attention have them.
#include <cmath>

#include "compiler/import/compositions/attend.h"
#include "compiler/import/compositions/compositions.h"

namespace collage::import::compositions {
namespace {

using ir::DType;
using ir::Shape;
using ir::ValueId;

/// A recurrence is written step by step; longer ones would make graphs that take too long to compile.
constexpr int64_t kMostSteps = 512;

}  // namespace

// CausalConvWithState(x, w, bias, past)  =>  Conv(Concat(past, x), w, bias) {group = channels}, then Swish if asked for
void causal_conv_with_state(Composition& c) {
  if (!c.need_rank(0, 3, 3) || !c.need_rank(1, 3, 3)) return;
  ValueId x = c.in(0), w = c.in(1);
  int64_t kernel = c.dim(w, 2), channels = c.dim(x, 1);
  if (!c.need(kernel > 0, "the kernel is empty")) return;
  std::string activation = c.attr("activation", "none");
  bool is_swish = activation == "silu" || activation == "swish";
  if (!c.need(is_swish || activation == "none", fmt::format("`{}` is no activation of it", activation))) return;
  ValueId past = c.in(3), all = x;
  if (past.is_valid() && !c.need(c.shape(past) == Shape{c.dim(x, 0), channels, kernel - 1},
                                 fmt::format("the past state has shape {}, need [{}, {}, {}]",
                                             runtime::to_string(c.shape(past)), c.dim(x, 0), channels, kernel - 1))) {
    return;
  }
  if (!past.is_valid() && kernel > 1) past = c.expand(c.scalar(0, x), {c.dim(x, 0), channels, kernel - 1});
  if (past.is_valid() && kernel > 1) all = c.concat({past, x}, 2);
  if (!c.is_good()) return;
  std::vector<ValueId> operands = {all, w};
  if (c.has(2)) operands.push_back(c.in(2));
  ir::AttrMap attrs = Composition::attrs("group", channels);
  if (is_swish) {
    ValueId y = c.cast(c.add("Conv", operands, attrs), DType::F32);
    ValueId gated = c.add("Mul", {y, c.add("Sigmoid", {y})});
    ValueId narrow = c.cast(gated, c.dtype(x));
    c.give(0, narrow);
  } else {
    c.result(0, "Conv", operands, attrs);
  }
  if (!c.wants(1)) return c.ignore_result(1);
  int64_t length = c.dim(all, 2);
  c.give(1, c.slice(all, 2, length - (kernel - 1), length));
}

// Step by step, in f32, with S the state of each head of keys:
//     S = exp(decay) * S;   v = beta * (v - S^T k);   S = S + k v^T;   y = scale * q^T S
// `update_rule` says which of the first two there are.
void linear_attention(Composition& c) {
  for (size_t i : {0u, 1u, 2u}) {
    if (!c.need_rank(i, 3, 3)) return;
  }
  int64_t heads = c.attr("q_num_heads", int64_t{0}), kv_heads = c.attr("kv_num_heads", int64_t{0});
  c.ignore_attr("chunk_size");
  std::string rule = c.attr("update_rule", "gated_delta");
  bool decays = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  int64_t batch = c.dim(c.in(0), 0), steps = c.dim(c.in(0), 1);
  if (!c.need(decays || corrects || rule == "linear", fmt::format("`{}` is no update rule", rule)) ||
      !c.need(decays == c.has(4), "a decay is given if and only if the update rule is gated") ||
      !c.need(corrects == c.has(5), "beta is given if and only if the update rule has a delta") ||
      !c.need(kv_heads > 0 && heads > 0 && heads % kv_heads == 0,
              fmt::format("{} heads of queries for {} of keys", heads, kv_heads)) ||
      !c.need(c.dim(c.in(1), 1) == steps && c.dim(c.in(2), 1) == steps, "the lengths of the operands differ")) {
    return;
  }
  for (size_t i : {4u, 5u}) {
    if (c.has(i) &&
        (!c.need_rank(i, 3, 3) || !c.need(c.dim(c.in(i), 1) == steps, "the lengths of the operands differ")))
      return;
  }
  if (steps > kMostSteps) {
    c.refuse(fmt::format("LinearAttention over {} steps is not supported, at most {}", steps, kMostSteps));
    return;
  }
  DType type = c.dtype(c.in(0));
  auto unpack = [&](ValueId x, int64_t count) { return split_heads(c, c.cast(x, DType::F32), count); };
  ValueId q = unpack(c.in(0), heads), k = unpack(c.in(1), kv_heads), v = unpack(c.in(2), kv_heads);
  ValueId decay, beta;
  if (decays) decay = c.add("Exp", {unpack(c.in(4), kv_heads)});
  if (corrects) beta = unpack(c.in(5), c.dim(c.in(5), 2) == 1 ? 1 : kv_heads);
  if (!c.is_good()) return;
  int64_t size = c.dim(k, 3), value_size = c.dim(v, 3);
  if (!c.need(c.dim(q, 3) == size, "queries and keys differ in size") ||
      !c.need(!decays || c.dim(decay, 3) == 1 || c.dim(decay, 3) == size, "the decay does not fit the keys") ||
      !c.need(!corrects || c.dim(beta, 3) == 1, "beta has one number per head")) {
    return;
  }
  double scale = c.attr("scale", 0.0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, size)));
  DType state_type = c.has(3) ? c.dtype(c.in(3)) : type;
  Shape state_shape = {batch, kv_heads, size, value_size};
  if (c.has(3) && !c.need(c.shape(c.in(3)) == state_shape, "the past state has the wrong shape")) return;
  ValueId state = c.has(3) ? c.cast(c.in(3), DType::F32) : c.expand(c.scalar(0, DType::F32), state_shape);
  int64_t group = heads / kv_heads;
  // Heads of queries that share a state are the rows of one product.
  ValueId queries = c.reshape(q, {batch, kv_heads, group, steps, size});
  std::vector<ValueId> rows;
  for (int64_t t = 0; t < steps && c.is_good(); ++t) {
    auto at = [&](ValueId x) { return c.slice(x, 2, t, t + 1); };  // [batch, heads, 1, n]
    if (decays) state = c.add("Mul", {state, c.transpose(at(decay), {0, 1, 3, 2})});
    ValueId key = at(k), value = at(v);
    if (corrects) value = c.add("Mul", {at(beta), c.add("Sub", {value, c.add("MatMul", {key, state})})});
    state = c.add("Add", {state, c.add("Mul", {c.transpose(key, {0, 1, 3, 2}), value})});
    ValueId query = c.reshape(c.slice(queries, 3, t, t + 1), {batch, kv_heads, group, size});
    rows.push_back(c.reshape(c.add("MatMul", {query, state}), {batch, 1, heads * value_size}));
  }
  if (!c.is_good()) return;
  ValueId y = rows.empty()       ? c.expand(c.scalar(0, DType::F32), {batch, 0, heads * value_size})
              : rows.size() == 1 ? rows[0]
                                 : c.concat(rows, 1);
  c.give(0, c.cast(c.times(y, scale), type));
  c.give(1, c.cast(state, state_type));
}

}  // namespace collage::import::compositions
