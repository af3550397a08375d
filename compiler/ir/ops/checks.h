// SPDX-License-Identifier: Apache-2.0
// Checks that many shape functions share. A check reports its error and returns false, so that a shape function is one
// conjunction of conditions.
#pragma once

#include <initializer_list>
#include <string_view>

#include "compiler/ir/ops/op_def.h"

namespace collage::ir::ops {

/// Numbers, floats and integers are those that operators compute with: no float8, no integers of 4 bits.
enum class TypeClass { Any, NumberOrBool, Number, Float, Integer, Bool };

bool is_in(DType dtype, TypeClass type_class);
std::string_view name_of(TypeClass type_class);

bool require_type(InferContext& ctx, size_t operand, TypeClass type_class);
/// Requires that every present operand has the dtype of operand `first`.
bool require_same_types(InferContext& ctx, size_t first = 0);
bool require_rank(InferContext& ctx, size_t operand, size_t least, size_t most);
bool require_shape(InferContext& ctx, size_t operand, const Shape& shape);
/// Requires that operand `operand` broadcasts to `shape` without enlarging it.
bool require_broadcast_to(InferContext& ctx, size_t operand, const Shape& shape);

/// `*shape` = all present operands from `first` on, broadcast together.
bool broadcast_operands(InferContext& ctx, Shape* shape, size_t first = 0);

/// Reads an int attribute as an index into `rank` dimensions (`rank` itself too if `past_end`); negative indices count
/// from the end.
bool read_axis(InferContext& ctx, std::string_view attr, size_t rank, size_t* axis, bool past_end = false);

/// Requires that a string attribute is one of `known`.
bool require_one_of(InferContext& ctx, std::string_view attr, std::initializer_list<std::string_view> known);

/// Most elements of an operand that says something about dimensions: a begin and an end for each of 64.
inline constexpr int64_t kMostListed = 128;

/// Reads the elements of the operand, which must be a constant list (or scalar) of i32 or i64. One that is longer than
/// `most` is refused before its elements are made.
bool read_constant_ints(InferContext& ctx, size_t operand, runtime::Ints* values, int64_t most = kMostListed);
/// Makes `axes` non-negative and checks that they are in range and distinct. An error points at `operand`, or at `attr`
/// if given.
bool normalize_axes(InferContext& ctx, size_t operand, std::string_view attr, size_t rank, runtime::Ints* axes);

/// Sets the types of the results to those that the operator's data-dependent kernel gives. Requires that all present
/// operands are constant.
bool infer_from_elements(InferContext& ctx, std::string_view op);

/// If the operand is constant: its elements must be indices of a dimension of `extent`, negative ones from its end.
bool require_constant_indices(InferContext& ctx, size_t operand, int64_t extent);

/// Sets output 0's type to operand 0's.
bool same_as_input(InferContext& ctx);

/// Elements of result 0.
double result_count(const WorkArgs& args);
/// `per_element` operations for each element of result 0.
template <int per_element>
Work elementwise_work(const WorkArgs& args) {
  return {0, per_element * result_count(args)};
}
/// Data movement: no arithmetic.
inline Work no_work(const WorkArgs&) {
  return {};
}

}  // namespace collage::ir::ops
