// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/rotary.h"

#include "compiler/import/compositions/compositions.h"

namespace collage::import {

using ir::Shape;
using ir::ValueId;

// (a, b) => (cos * a - sin * b, sin * a + cos * b)
ValueId rotate(Composition& c, const Rotary& r, std::optional<size_t> i) {
  int64_t size = c.dim(r.x, -1), half = r.turned / 2;
  if (!c.need(r.turned > 0 && r.turned % 2 == 0 && r.turned <= size,
              fmt::format("{} of {} numbers cannot turn in pairs", r.turned, size))) {
    return ValueId();
  }
  if (!c.need(c.dim(r.cos, -1) == half && c.dim(r.sin, -1) == half,
              fmt::format("the caches have {} and {} angles, need {}", c.dim(r.cos, -1), c.dim(r.sin, -1), half))) {
    return ValueId();
  }
  ValueId a = r.is_interleaved ? c.slice(r.x, 3, 0, r.turned, 2) : c.slice(r.x, 3, 0, half);
  ValueId b = r.is_interleaved ? c.slice(r.x, 3, 1, r.turned, 2) : c.slice(r.x, 3, half, r.turned);
  ValueId turned_a = c.add("Sub", {c.add("Mul", {r.cos, a}), c.add("Mul", {r.sin, b})});
  ValueId turned_b = c.add("Add", {c.add("Mul", {r.sin, a}), c.add("Mul", {r.cos, b})});
  std::vector<ValueId> parts = {turned_a, turned_b};
  if (r.is_interleaved && c.is_good()) {
    Shape shape = c.shape(r.x);
    shape.back() = r.turned;
    Shape column = shape;
    column.back() = half;
    column.push_back(1);
    parts = {c.reshape(c.concat({c.reshape(turned_a, column), c.reshape(turned_b, column)}, 4), shape)};
  }
  if (r.turned < size) parts.push_back(c.slice(r.x, 3, r.turned, size));
  ir::AttrMap last = Composition::attrs("axis", int64_t{-1});
  if (i && parts.size() > 1) return c.result(*i, "Concat", parts, last);
  ValueId y = parts.size() > 1 ? c.add("Concat", parts, last) : parts[0];
  if (i) c.give(*i, y);
  return y;
}

void rotate_into_result(Composition& c, const Rotary& r, const Shape& given) {
  if (given.size() == 4) {
    rotate(c, r, 0);
    return;
  }
  ValueId y = rotate(c, r, std::nullopt);
  if (c.is_good()) c.result(0, "Reshape", {y, c.ints(given)}, c.shape_attrs(given));
}

namespace compositions {

// Operands: x, cos, sin, positions. x: [batch, heads, length, size] or [batch, length, heads * size]; the caches are
// [positions, turned / 2], or [batch, length, turned / 2] if no positions are given.
void rotary_embedding(Composition& c) {
  if (!c.need_rank(0, 3, 4)) return;
  ValueId x = c.in(0);
  const Shape given = c.shape(x);
  bool is_flat = given.size() == 3;
  int64_t heads = c.attr("num_heads", int64_t{0});
  Rotary r;
  r.is_interleaved = c.attr("interleaved", int64_t{0}) != 0;
  r.turned = c.attr("rotary_embedding_dim", int64_t{0});
  if (is_flat) {
    if (!c.need(heads > 0 && given[2] % heads == 0,
                fmt::format("{} numbers do not divide into {} heads", given[2], heads)))
      return;
    x = c.reshape(x, {given[0], given[1], heads, given[2] / heads});
  }
  r.x = x;
  if (r.turned == 0) r.turned = c.dim(x, 3);
  auto cache = [&](size_t operand) {
    ValueId angles = c.in(operand);
    if (c.has(3)) angles = c.add("Gather", {angles, c.in(3)});
    if (!c.need(c.rank(angles) == 3, "angles need the dimensions batch, length and angle")) return angles;
    Shape shape = c.shape(angles);
    shape.insert(shape.begin() + (is_flat ? 2 : 1), 1);
    return c.reshape(angles, shape);
  };
  r.cos = cache(1);
  r.sin = cache(2);
  rotate_into_result(c, r, given);
}

}  // namespace compositions
}  // namespace collage::import
