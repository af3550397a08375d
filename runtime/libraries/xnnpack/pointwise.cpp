// SPDX-License-Identifier: Apache-2.0
// Operators on single elements. They take tensors as they lie: only the order of elements of two operands must agree.
#include <array>

#include "runtime/core/layout.h"
#include "runtime/libraries/xnnpack/call.h"

namespace collage::runtime::xnnpack {
namespace {

using Create = xnn_status (*)(size_t, size_t, size_t, uint32_t, xnn_operator_t*);
using Setup = xnn_status (*)(xnn_operator_t, size_t, const float*, float*, pthreadpool_t);

/// Operators without parameters.
constexpr struct Unary {
  std::string_view op;
  Create create;
  Setup setup;
} kUnary[] = {
    {"Abs", xnn_create_abs_nc_f32, xnn_setup_abs_nc_f32},
    {"Ceil", xnn_create_ceiling_nc_f32, xnn_setup_ceiling_nc_f32},
    {"Floor", xnn_create_floor_nc_f32, xnn_setup_floor_nc_f32},
    {"HardSwish", xnn_create_hardswish_nc_f32, xnn_setup_hardswish_nc_f32},
    {"Neg", xnn_create_negate_nc_f32, xnn_setup_negate_nc_f32},
    {"Round", xnn_create_bankers_rounding_nc_f32, xnn_setup_bankers_rounding_nc_f32},
    {"Sigmoid", xnn_create_sigmoid_nc_f32, xnn_setup_sigmoid_nc_f32},
    {"Sqrt", xnn_create_square_root_nc_f32, xnn_setup_square_root_nc_f32},
};

/// As many rows of one element as there are: XNNPACK divides what lies in one piece as it likes.
Call unary_call(const Source& source, Setup setup) {
  const int x = source.input(0);
  const Shape& shape = source.shape(source.output);
  // A constant lies plainly.
  const std::string lies = source.is_constant(x) ? std::string(kPlainLayout) : source.layouts[static_cast<size_t>(x)];
  Call call;
  call.reads = {{x, shape, lies}};
  call.write = {source.output, shape, lies};
  call.setup = [setup, count = static_cast<size_t>(element_count(shape))](
                   xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return setup(op, count, in[0], out, pool);
  };
  return call;
}

struct Binary {
  std::string_view op;
  xnn_status (*create)(float, float, uint32_t, xnn_operator_t*);
  xnn_status (*create_without_limits)(uint32_t, xnn_operator_t*);
  xnn_status (*setup)(xnn_operator_t, size_t, const size_t*, size_t, const size_t*, const float*, const float*, float*,
                      pthreadpool_t);
  const char* text;
};

constexpr Binary kBinary[] = {
    {"Add", xnn_create_add_nd_f32, nullptr, xnn_setup_add_nd_f32, "add"},
    {"Div", xnn_create_divide_nd_f32, nullptr, xnn_setup_divide_nd_f32, "divide"},
    {"Max", nullptr, xnn_create_maximum_nd_f32, xnn_setup_maximum_nd_f32, "maximum"},
    {"Min", nullptr, xnn_create_minimum_nd_f32, xnn_setup_minimum_nd_f32, "minimum"},
    {"Mul", xnn_create_multiply_nd_f32, nullptr, xnn_setup_multiply_nd_f32, "multiply"},
    {"Sub", xnn_create_subtract_nd_f32, nullptr, xnn_setup_subtract_nd_f32, "subtract"},
};

/// Extents in the order of memory.
std::vector<size_t> extents(const Operand& operand) {
  std::vector<size_t> made;
  const std::optional<std::vector<int>> order = layout_permutation(operand.layout, operand.shape.size());
  for (int d : order.value()) made.push_back(static_cast<size_t>(operand.shape[static_cast<size_t>(d)]));
  return made;
}

}  // namespace

Result<Call> make_unary(const Source& source) {
  const std::string& name = source.op.op;
  for (const Unary& row : kUnary) {
    if (row.op != name) continue;
    Call call = unary_call(source, row.setup);
    call.create = [create = row.create](xnn_operator_t* op) { return create(1, 1, 1, 0, op); };
    call.text = name;
    return call;
  }
  const auto alpha = [&](double otherwise) {
    return static_cast<float>(source.op.attrs.get_float("alpha", otherwise));
  };
  if (name == "Elu" || name == "LeakyRelu") {
    const bool is_elu = name == "Elu";
    Call call = unary_call(source, is_elu ? xnn_setup_elu_nc_f32 : xnn_setup_leaky_relu_nc_f32);
    call.create = [create = is_elu ? xnn_create_elu_nc_f32 : xnn_create_leaky_relu_nc_f32,
                   factor = alpha(is_elu ? 1.0 : 0.01)](xnn_operator_t* op) { return create(1, 1, 1, factor, 0, op); };
    call.text = name;
    return call;
  }
  const std::optional<Limits> limits = limits_of(source);
  if (!limits) return Status::error("bounds that are computed, or nothing between them");
  Call call = unary_call(source, xnn_setup_clamp_nc_f32);
  call.create = [limits = *limits](xnn_operator_t* op) {
    return xnn_create_clamp_nc_f32(1, 1, 1, limits.low, limits.high, 0, op);
  };
  call.text = "clamp" + to_string(*limits);
  return call;
}

Result<Call> make_binary(const Source& source) {
  const Binary* row = nullptr;
  for (const Binary& one : kBinary) {
    if (one.op == source.op.op) row = &one;
  }
  if (source.op.inputs.size() != 2 || source.input(1) < 0) return Status::error("it needs two operands");
  const Shape& shape = source.shape(source.output);
  if (shape.size() > XNN_MAX_TENSOR_DIMS)
    return Status::error("rank " + std::to_string(shape.size()) + ", need at most 6");
  // An operand of the result's rank says how elements lie, unless the result is wanted in a layout.
  std::string lies(kPlainLayout);
  for (int id : source.op.inputs) {
    if (!source.is_constant(id) && source.shape(id).size() == shape.size())
      lies = source.layouts[static_cast<size_t>(id)];
  }
  lies = source.layout_of_output(lies);
  Call call;
  for (int id : source.op.inputs) {
    Shape extended = source.shape(id);
    extended.insert(extended.begin(), shape.size() - extended.size(), 1);
    call.reads.push_back({id, std::move(extended), lies});
  }
  call.write = {source.output, shape, lies};
  call.create = [row, limits = source.limits](xnn_operator_t* op) {
    if (row->create == nullptr) return row->create_without_limits(0, op);
    return row->create(limits.low, limits.high, 0, op);
  };
  call.setup = [setup = row->setup, a = extents(call.reads[0]), b = extents(call.reads[1])](
                   xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return setup(op, a.size(), a.data(), b.size(), b.data(), in[0], in[1], out, pool);
  };
  call.text = row->text;
  return call;
}

/// A slope for each channel.
Result<Call> make_prelu(const Source& source) {
  const Shape& x = source.shape(source.input(0));
  const int slope = source.input(1);
  if (x.size() != 4) return Status::error(std::to_string(x.size()) + " dimensions, need an image");
  if (!source.is_constant(slope)) return Status::error("slopes that are computed");
  Shape extended = source.shape(slope);
  if (extended.size() > 4) return Status::error("slopes of another rank");
  extended.insert(extended.begin(), 4 - extended.size(), 1);
  if (extended != Shape{1, x[1], 1, 1}) return Status::error("it needs one slope for each channel");
  const auto channels = static_cast<size_t>(x[1]), pixels = static_cast<size_t>(element_count(x) / x[1]);
  Call call;
  call.reads = {{source.input(0), x, "NHWC"}};
  call.write = {source.output, x, "NHWC"};
  call.weights = {source.value(slope).constant};
  call.create = [channels, slopes = source.value(slope).constant](xnn_operator_t* op) {
    return xnn_create_prelu_nc_f32(channels, channels, channels, reinterpret_cast<const float*>(slopes.data()), 0, op);
  };
  call.setup = [pixels](xnn_operator_t op, const std::vector<const float*>& in, float* out, pthreadpool_t pool) {
    return xnn_setup_prelu_nc_f32(op, pixels, in[0], out, pool);
  };
  call.text = "prelu";
  return call;
}

}  // namespace collage::runtime::xnnpack
