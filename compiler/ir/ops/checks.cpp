// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/ops/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernels/kernel.h"

namespace collage::ir::ops {

bool is_in(DType dtype, TypeClass type_class) {
  switch (type_class) {
    case TypeClass::Any: return true;
    case TypeClass::NumberOrBool: return runtime::is_arithmetic(dtype) || dtype == DType::Bool;
    case TypeClass::Number: return runtime::is_arithmetic(dtype);
    case TypeClass::Float: return runtime::is_arithmetic(dtype) && runtime::is_float(dtype);
    case TypeClass::Integer: return runtime::is_arithmetic(dtype) && !runtime::is_float(dtype);
    case TypeClass::Bool: return dtype == DType::Bool;
  }
  return false;
}

std::string_view name_of(TypeClass type_class) {
  switch (type_class) {
    case TypeClass::Any: return "any dtype";
    case TypeClass::NumberOrBool: return "a number or bool";
    case TypeClass::Number: return "a number";
    case TypeClass::Float: return "f32, f64, f16 or bf16";
    case TypeClass::Integer: return "an integer";
    case TypeClass::Bool: return "bool";
  }
  return "";
}

bool require_type(InferContext& ctx, size_t operand, TypeClass type_class) {
  DType dtype = ctx.input(operand).dtype;
  if (is_in(dtype, type_class)) return true;
  return ctx.type_error(operand, fmt::format("operand has dtype {}, needs {}", name_of(dtype), name_of(type_class)));
}

bool require_same_types(InferContext& ctx, size_t first) {
  DType dtype = ctx.input(first).dtype;
  for (size_t i = first + 1; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i) || ctx.input(i).dtype == dtype) continue;
    return ctx.type_error(
        i, fmt::format("operand has dtype {}, but an earlier one has {}", name_of(ctx.input(i).dtype), name_of(dtype)));
  }
  return true;
}

bool require_rank(InferContext& ctx, size_t operand, size_t least, size_t most) {
  const Shape& shape = ctx.input(operand).shape;
  if (shape.size() >= least && shape.size() <= most) return true;
  std::string wanted = least == most ? fmt::format("{}", least)
                       : most > 60   ? fmt::format("at least {}", least)
                                     : fmt::format("{} to {}", least, most);
  return ctx.shape_error(
      operand, fmt::format("operand {} has rank {}, needs rank {}", runtime::to_string(shape), shape.size(), wanted));
}

bool require_shape(InferContext& ctx, size_t operand, const Shape& shape) {
  const Shape& found = ctx.input(operand).shape;
  if (found == shape) return true;
  return ctx.shape_error(
      operand, fmt::format("operand has shape {}, needs {}", runtime::to_string(found), runtime::to_string(shape)));
}

bool require_broadcast_to(InferContext& ctx, size_t operand, const Shape& shape) {
  const Shape& found = ctx.input(operand).shape;
  Shape both;
  if (runtime::broadcast_shapes(found, shape, &both) && both == shape) return true;
  return ctx.shape_error(operand, fmt::format("operand {} does not broadcast to {}", runtime::to_string(found),
                                              runtime::to_string(shape)));
}

bool broadcast_operands(InferContext& ctx, Shape* shape, size_t first) {
  *shape = ctx.input(first).shape;
  for (size_t i = first + 1; i < ctx.input_count(); ++i) {
    if (!ctx.has_input(i)) continue;
    Shape both;
    if (!runtime::broadcast_shapes(*shape, ctx.input(i).shape, &both)) {
      return ctx.shape_error(i, fmt::format("shapes {} and {} do not broadcast", runtime::to_string(*shape),
                                            runtime::to_string(ctx.input(i).shape)));
    }
    *shape = std::move(both);
  }
  return true;
}

bool read_axis(InferContext& ctx, std::string_view attr, size_t rank, size_t* axis, bool past_end) {
  int64_t value = ctx.attrs().int_of(attr);
  auto signed_rank = static_cast<int64_t>(rank);
  int64_t last = past_end ? signed_rank : signed_rank - 1;
  if (value < -signed_rank || value > last) {
    if (last < -signed_rank)
      return ctx.attr_error(attr, fmt::format("`{}` = {}, but a scalar has no axis", attr, value));
    return ctx.attr_error(
        attr, fmt::format("`{}` = {} is out of range: rank {} allows {} to {}", attr, value, rank, -signed_rank, last));
  }
  *axis = static_cast<size_t>(value < 0 ? value + signed_rank : value);
  return true;
}

bool require_one_of(InferContext& ctx, std::string_view attr, std::initializer_list<std::string_view> known) {
  std::string value = ctx.attrs().string_of(attr);
  if (std::find(known.begin(), known.end(), value) != known.end()) return true;
  return ctx.attr_error(attr, fmt::format("`{}` is one of {}, found \"{}\"", attr, fmt::join(known, ", "), value));
}

bool read_constant_ints(InferContext& ctx, size_t operand, runtime::Ints* values, int64_t most) {
  const TensorType& type = ctx.input(operand);
  if (type.dtype != DType::I64 && type.dtype != DType::I32) {
    return ctx.type_error(operand, fmt::format("operand has dtype {}, needs i64 or i32", name_of(type.dtype)));
  }
  if (!require_rank(ctx, operand, 0, 1)) return false;
  if (const int64_t count = runtime::element_count(type.shape); count > most)
    return ctx.shape_error(operand, fmt::format("a list of {} elements, at most {} are possible", count, most));
  const Tensor* tensor = ctx.constant(operand);
  if (tensor == nullptr) return ctx.not_constant(operand);
  runtime::TensorView view = tensor->view();
  values->clear();
  for (int64_t i = 0; i < view.count(); ++i) values->push_back(runtime::element_as_int(view, i));
  return true;
}

bool require_constant_indices(InferContext& ctx, size_t operand, int64_t extent) {
  const Tensor* tensor = ctx.constant(operand);
  if (tensor == nullptr) return true;
  const runtime::TensorView view = tensor->view();
  for (int64_t i = 0; i < view.count(); ++i) {
    const int64_t index = runtime::element_as_int(view, i);
    if (index < -extent || index >= extent)
      return ctx.shape_error(operand, fmt::format("index {} is out of range for a dimension of {}", index, extent));
  }
  return true;
}

bool normalize_axes(InferContext& ctx, size_t operand, std::string_view attr, size_t rank, runtime::Ints* axes) {
  auto fail = [&](std::string message) {
    return attr.empty() ? ctx.shape_error(operand, std::move(message)) : ctx.attr_error(attr, std::move(message));
  };
  auto signed_rank = static_cast<int64_t>(rank);
  std::vector<bool> seen(rank, false);
  for (int64_t& axis : *axes) {
    if (axis < -signed_rank || axis >= signed_rank)
      return fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
    if (axis < 0) axis += signed_rank;
    if (seen[static_cast<size_t>(axis)]) return fail(fmt::format("axis {} is named twice", axis));
    seen[static_cast<size_t>(axis)] = true;
  }
  return true;
}

bool infer_from_elements(InferContext& ctx, std::string_view op) {
  std::vector<runtime::TensorView> operands;
  for (size_t i = 0; i < ctx.input_count(); ++i) {
    const Tensor* constant = ctx.has_input(i) ? ctx.constant(i) : nullptr;
    if (ctx.has_input(i) && constant == nullptr) return ctx.not_constant(i);
    operands.push_back(constant == nullptr ? runtime::TensorView{} : constant->view());
  }
  runtime::Result<std::vector<Tensor>> results =
      runtime::find_data_dependent_kernel(op)(operands, ctx.attrs().written());
  if (!results) return ctx.shape_error(0, results.message());
  for (size_t i = 0; i < results->size(); ++i) ctx.set_output(i, {(*results)[i].dtype(), (*results)[i].shape()});
  return true;
}

bool same_as_input(InferContext& ctx) {
  ctx.set_output(0, ctx.input(0));
  return true;
}

double result_count(const WorkArgs& args) {
  return static_cast<double>(runtime::element_count(args.outputs[0].shape));
}

}  // namespace collage::ir::ops
