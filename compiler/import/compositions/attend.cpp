// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/import/proto.h"

namespace collage::import {
namespace {

using ir::DType;
using ir::Shape;
using ir::ValueId;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Returns whether a constant is false everywhere.
bool is_never(const Composition& c, ValueId flags) {
  const ir::Tensor* constant = c.constant(flags);
  if (constant == nullptr) return false;
  for (int64_t i = 0; i < constant->count(); ++i) {
    if (runtime::element_as_double(constant->view(), i) != 0) return false;
  }
  return true;
}

/// bool[…, queries, 1]: the queries that may attend no key. Invalid if there is none.
ValueId queries_without_keys(Composition& c, const Attend& a) {
  if (!a.may_allow_none || (!a.allowed.is_valid() && !a.bias.is_valid())) return ValueId();
  ValueId bias = a.bias.is_valid() ? a.bias : c.scalar(0, a.q);
  if (a.allowed.is_valid()) bias = c.add("Where", {a.allowed, bias, c.scalar(kMinusInfinity, bias)});
  if (!c.is_good() || c.dim(bias, -1) < 1) return ValueId();
  ValueId most = c.reduce("ReduceMax", bias, {-1});
  ValueId none = c.add("Equal", {most, c.scalar(kMinusInfinity, most)});
  return is_never(c, none) ? ValueId() : none;
}

}  // namespace

double scale_of(Composition& c, int64_t size) {
  const double scale = c.attr("scale", 0.0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, size)));
}

bool has_fitting_shapes(Composition& c, const Attend& a) {
  if (!c.is_good()) return false;
  if (!c.need(c.rank(a.q) == 4 && c.rank(a.k) == 4 && c.rank(a.v) == 4, "queries, keys and values differ in rank"))
    return false;
  int64_t size = a.keys_last ? c.dim(a.k, 2) : c.dim(a.k, 3), keys = a.keys_last ? c.dim(a.k, 3) : c.dim(a.k, 2);
  return c.need(size == c.dim(a.q, 3),
                fmt::format("queries of {} and keys of {} numbers do not multiply", c.dim(a.q, 3), size)) &&
         c.need(keys == c.dim(a.v, 2), fmt::format("{} keys for {} values", keys, c.dim(a.v, 2)));
}

ValueId scaled_products(Composition& c, ValueId q, ValueId k, double scale) {
  // Products of 16 bits overflow unless both sides are scaled before.
  if (size_of(c.dtype(q)) >= 4) return c.times(c.add("MatMul", {q, k}), scale);
  const double root = std::sqrt(std::abs(scale));
  const ValueId scaled = c.times(q, std::copysign(root, scale));
  return c.add("MatMul", {scaled, c.times(k, root)});
}

std::optional<DType> softmax_precision(Composition& c, DType otherwise) {
  if (!c.has_attr("softmax_precision")) return otherwise;
  const auto stated = static_cast<int>(c.attr("softmax_precision", int64_t{0}));
  const std::optional<DType> dtype = dtype_of(stated);
  if (!c.need(dtype && runtime::is_float(*dtype), fmt::format("softmax in {}", element_name(stated)))) return {};
  return dtype;
}

ValueId repeat_heads(Composition& c, ValueId x, int64_t heads) {
  Shape shape = c.shape(x);
  if (!c.is_good() || shape[1] == heads) return x;
  if (!c.need(shape[1] > 0 && heads % shape[1] == 0,
              fmt::format("{} heads of queries do not divide into {} of keys and values", heads, shape[1]))) {
    return x;
  }
  Shape wide = {shape[0], shape[1], heads / shape[1], shape[2], shape[3]};
  ValueId column = c.reshape(x, {shape[0], shape[1], 1, shape[2], shape[3]});
  return c.reshape(c.expand(column, wide), {shape[0], heads, shape[2], shape[3]});
}

ValueId attend(Composition& c, const Attend& a) {
  if (!has_fitting_shapes(c, a)) return ValueId();
  int64_t heads = c.dim(a.q, 1);
  ValueId k = repeat_heads(c, a.k, heads);
  if (!a.keys_last) k = c.transpose(k, {0, 1, 3, 2});
  ValueId v = repeat_heads(c, a.v, heads);
  auto show = [&](Scores stage, ValueId value) {
    if (a.scores_result && a.scores == stage) c.give(*a.scores_result, value);
  };

  ValueId s = scaled_products(c, a.q, k, a.scale);
  show(Scores::Products, s);
  if (a.softcap != 0) s = c.times(c.add("Tanh", {c.times(s, 1 / a.softcap)}), a.softcap);
  show(Scores::Capped, s);
  if (a.bias.is_valid()) s = c.add("Add", {s, a.bias});
  if (a.allowed.is_valid()) s = c.add("Where", {a.allowed, s, c.scalar(kMinusInfinity, s)});
  show(Scores::Masked, s);
  DType type = c.dtype(a.q);
  ValueId p = c.add("Softmax", {c.cast(s, a.softmax_type.value_or(type))}, Composition::attrs("axis", int64_t{-1}));

  // A row of such a query is NaN up to here. Behind the second product it costs less to replace, and rules for
  // attention match; the probabilities themselves are replaced only where they are wanted.
  ValueId none = queries_without_keys(c, a);
  bool shows_p = a.scores_result && a.scores == Scores::Probabilities && c.wants(*a.scores_result);
  if (shows_p && none.is_valid()) {
    p = c.add("Where", {none, c.scalar(0, p), p});
    none = ValueId();
  }
  p = c.cast(p, type);
  show(Scores::Probabilities, p);
  auto last = [&](std::string_view op, std::vector<ValueId> inputs) {
    return a.result ? c.result(*a.result, op, std::move(inputs)) : c.add(op, std::move(inputs));
  };
  if (!none.is_valid()) return last("MatMul", {p, c.cast(v, type)});
  ValueId y = c.add("MatMul", {p, c.cast(v, type)});
  return last("Where", {none, c.scalar(0, y), y});
}

ValueId split_heads(Composition& c, ValueId x, int64_t heads) {
  if (!c.need(c.rank(x) == 3 && heads > 0 && c.dim(x, 2) % heads == 0,
              fmt::format("{} does not divide into {} heads", runtime::to_string(c.shape(x)), heads))) {
    return ValueId();
  }
  return c.transpose(c.reshape(x, {c.dim(x, 0), c.dim(x, 1), heads, c.dim(x, 2) / heads}), {0, 2, 1, 3});
}

ValueId split_heads_keys_last(Composition& c, ValueId x, int64_t heads) {
  if (!c.need(c.rank(x) == 3 && heads > 0 && c.dim(x, 2) % heads == 0,
              fmt::format("{} does not divide into {} heads", runtime::to_string(c.shape(x)), heads))) {
    return ValueId();
  }
  return c.transpose(c.reshape(x, {c.dim(x, 0), c.dim(x, 1), heads, c.dim(x, 2) / heads}), {0, 2, 3, 1});
}

void join_heads(Composition& c, size_t i, ValueId x) {
  Shape to = {c.dim(x, 0), c.dim(x, 2), c.dim(x, 1) * c.dim(x, 3)};
  ValueId rows = c.transpose(x, {0, 2, 1, 3});
  c.result(i, "Reshape", {rows, c.ints(to)}, c.shape_attrs(to));
}

ValueId pad_keys(Composition& c, ValueId x, int64_t keys, double value) {
  Shape rest = c.shape(x);
  if (!c.is_good() || rest.empty() || rest.back() >= keys) return x;
  rest.back() = keys - rest.back();
  return c.concat({x, c.expand(c.scalar(value, x), rest)}, -1);
}

ValueId append(Composition& c, ValueId past, ValueId fresh, ValueId starts, int64_t capacity) {
  const int64_t old = c.dim(past, 2), length = c.dim(fresh, 2);
  if (!c.need(c.rank(past) == 4 && c.rank(fresh) == 4 && length <= capacity && old <= capacity,
              fmt::format("{} and {} rows do not fit a buffer of {}", old, length, capacity)) ||
      !c.need(
          c.dim(past, 0) == c.dim(fresh, 0) && c.dim(past, 1) == c.dim(fresh, 1) && c.dim(past, 3) == c.dim(fresh, 3),
          fmt::format("{} does not fit past keys or values of {}", runtime::to_string(c.shape(fresh)),
                      runtime::to_string(c.shape(past))))) {
    return fresh;
  }
  const ValueId at = c.reshape(c.range(capacity), {capacity, 1});
  if (length == 1 && capacity <= old + 1) {
    return c.add("Where", {c.add("Equal", {at, starts}), fresh, capacity == old ? past : c.concat({past, fresh}, 2)});
  }
  // Row j is row j - start of `fresh`, which stands behind `past`, or row j itself.
  const ValueId within = c.add("Sub", {at, starts});
  const auto number = [&c](int64_t value) { return c.scalar(static_cast<double>(value), DType::I64); };
  const ValueId is_fresh =
      c.add("And", {c.add("GreaterOrEqual", {within, number(0)}), c.add("Less", {within, number(length)})});
  const ValueId from =
      c.add("Where", {is_fresh, c.add("Add", {within, number(old)}), c.add("Min", {at, number(old + length - 1)})});
  Shape shape = c.shape(fresh);
  shape[2] = capacity;
  return c.add("GatherElements", {c.concat({past, fresh}, 2), c.expand(from, shape)},
               Composition::attrs("axis", int64_t{2}));
}

ValueId both(Composition& c, ValueId a, ValueId b) {
  if (!a.is_valid() || !b.is_valid()) return a.is_valid() ? a : b;
  return c.add("And", {a, b});
}

ValueId window(Composition& c, const Window& bounds, int64_t queries, int64_t keys, int64_t offset,
               ValueId offset_by_batch) {
  if ((!bounds.left && !bounds.right) || !c.is_good()) return ValueId();
  ValueId key = c.range(keys);
  ValueId query = c.reshape(c.range(queries), {queries, 1});
  auto shifted = [&](int64_t by) {
    ValueId at = c.plus(query, static_cast<double>(by + (offset_by_batch.is_valid() ? 0 : offset)));
    return offset_by_batch.is_valid() ? c.add("Add", {at, offset_by_batch}) : at;
  };
  ValueId allowed;
  if (bounds.right) allowed = c.add("LessOrEqual", {key, shifted(*bounds.right)});
  if (bounds.left) allowed = both(c, allowed, c.add("GreaterOrEqual", {key, shifted(-*bounds.left)}));
  return allowed;
}

ValueId first_keys(Composition& c, ValueId count, int64_t keys) {
  if (!c.is_good()) return ValueId();
  ValueId column = c.reshape(c.cast(count, DType::I64), {runtime::element_count(c.shape(count)), 1, 1, 1});
  return c.add("Less", {c.range(keys), column});
}

}  // namespace collage::import
