// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/compositions/rotary.h"

#include <algorithm>

#include "compiler/import/compositions/compositions.h"

namespace collage::import {

using ir::DType;
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

}  // namespace compositions
}  // namespace collage::import
