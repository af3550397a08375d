// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/check_call.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "runtime/kernels/window.h"

namespace collage::runtime {
namespace {

struct CallParts {
  const AttrMap& attrs;
  std::span<const CallOperand> inputs;
  std::span<const CallOperand> outputs;

  const Shape& x() const { return *inputs[0].shape; }
  const Shape& y() const { return *outputs[0].shape; }
  bool has(size_t i) const { return i < inputs.size() && !inputs[i].is_absent(); }
};

using Rule = Status (*)(const CallParts&);

Status unless(bool fits, const char* what) {
  return fits ? Status::ok() : Status::error(what);
}

Shape spatial_part(const Shape& shape) {
  return Shape(shape.begin() + 2, shape.end());
}

Status check_broadcast(const CallParts& call) {
  const bool fits = std::all_of(call.inputs.begin(), call.inputs.end(), [&](const CallOperand& input) {
    Shape all;
    return input.is_absent() || (broadcast_shapes(*input.shape, call.y(), &all) && all == call.y());
  });
  return unless(fits, "an operand is not broadcast to its result");
}

bool have_dtype_of_first(const CallParts& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [&](const CallOperand& input) {
    return input.is_absent() || input.dtype == call.inputs[0].dtype;
  });
}

/// One dtype, of the result, too.
Status check_dtypes(const CallParts& call) {
  return unless(have_dtype_of_first(call) && call.outputs[0].dtype == call.inputs[0].dtype,
                "its operands and its result have several dtypes");
}

Status check_Same(const CallParts& call) {
  if (Status status = check_broadcast(call); !status) return status;
  return check_dtypes(call);
}

Status check_Every(const CallParts& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (!call.has(i)) return Status::error("one of its operands is absent");
  return check_Same(call);
}

Status check_Power(const CallParts& call) {
  if (Status status = check_broadcast(call); !status) return status;
  return unless(call.outputs[0].dtype == call.inputs[0].dtype, "its result has another dtype than its first operand");
}

Status check_Test(const CallParts& call) {
  if (Status status = check_broadcast(call); !status) return status;
  return unless(have_dtype_of_first(call) && call.outputs[0].dtype == DType::Bool,
                "its operands have several dtypes, or its result is not bool");
}

Status check_Choice(const CallParts& call) {
  if (Status status = check_broadcast(call); !status) return status;
  const DType chosen = call.outputs[0].dtype;
  return unless(call.inputs[0].dtype == DType::Bool && call.inputs[1].dtype == chosen && call.inputs[2].dtype == chosen,
                "it chooses among several dtypes");
}

Status check_Converted(const CallParts& call) {
  return unless(call.x() == call.y(), "its result has another shape than its operand");
}

Status check_LikeFirst(const CallParts& call) {
  if (call.x() != call.y() || call.inputs[0].dtype != call.outputs[0].dtype)
    return Status::error("its result is not like its operand");
  const bool are_single = std::all_of(call.inputs.begin() + 1, call.inputs.end(), [](const CallOperand& input) {
    return input.is_absent() || element_count(*input.shape) == 1;
  });
  return unless(are_single, "an operand behind the first has several elements, or none");
}

Status check_Bounded(const CallParts& call) {
  if (Status status = check_LikeFirst(call); !status) return status;
  return check_dtypes(call);
}

Status check_Matrices(const CallParts& call) {
  if (call.x().size() < 2) return Status::error("its operand is no matrix");
  return check_LikeFirst(call);
}

Status check_Moved(const CallParts& call) {
  return unless(element_count(call.x()) == element_count(call.y()) && call.inputs[0].dtype == call.outputs[0].dtype,
                "its result has other elements than its operand");
}

/// Compares the result with batch, channels and window.
Status check_result(const CallParts& call, int64_t channels, const std::optional<WindowProblem>& problem,
                    const Window& window) {
  if (problem) return Status::error(problem->message);
  Shape expected = {call.x()[0], channels};
  expected.insert(expected.end(), window.output.begin(), window.output.end());
  const bool fit = std::all_of(call.outputs.begin(), call.outputs.end(), [&](const CallOperand& output) {
    return output.is_absent() || *output.shape == expected;
  });
  return unless(fit, "its window gives a result of another shape");
}

Status check_window_over(const CallParts& call, bool is_transposed) {
  const Shape& x = call.x();
  const Shape& w = *call.inputs[1].shape;
  const int64_t group = call.attrs.get_int("group", 1);
  if (x.size() < 3 || w.size() != x.size()) return Status::error("it has no window of the rank of its operand");
  if (group < 1 || x[1] % group != 0 || w[0] % group != 0 || (is_transposed ? w[0] != x[1] : w[1] != x[1] / group))
    return Status::error("its weights are for other channels");
  int64_t channels = w[0];
  if (is_transposed && __builtin_mul_overflow(w[1], group, &channels))
    return Status::error("its weights are for other channels");
  Window window;
  const auto problem = is_transposed ? resolve_transposed_window(spatial_part(x), spatial_part(w), call.attrs, &window)
                                     : resolve_window(spatial_part(x), spatial_part(w), call.attrs, &window);
  return check_result(call, channels, problem, window);
}

Status check_floats_window(const CallParts& call, bool is_transposed) {
  if (Status status = check_window_over(call, is_transposed); !status) return status;
  if (Status status = check_dtypes(call); !status) return status;
  return unless(!call.has(2) || *call.inputs[2].shape == Shape{call.y()[1]}, "its bias is for other channels");
}

Status check_Convolution(const CallParts& call) {
  return check_floats_window(call, false);
}

Status check_Transposed(const CallParts& call) {
  return check_floats_window(call, true);
}

/// Whether a zero point is absent, or fits its operand: one number, or one for each of `most` channels.
bool fits_zero_point(const CallParts& call, size_t zero_point, size_t operand, int64_t most) {
  if (!call.has(zero_point)) return true;
  const int64_t count = element_count(*call.inputs[zero_point].shape);
  return call.inputs[zero_point].dtype == call.inputs[operand].dtype && (count == 1 || count == most);
}

Status check_Integers(const CallParts& call) {
  if (Status status = check_window_over(call, false); !status) return status;
  const auto is_byte = [](DType dtype) { return dtype == DType::I8 || dtype == DType::U8; };
  if (!is_byte(call.inputs[0].dtype) || !is_byte(call.inputs[1].dtype) || call.outputs[0].dtype != DType::I32)
    return Status::error("it does not sum up bytes to i32");
  return unless(fits_zero_point(call, 2, 0, 1) && fits_zero_point(call, 3, 1, call.y()[1]),
                "a zero point does not fit its operand");
}

Status check_Pool(const CallParts& call) {
  const Shape kernel = call.attrs.get_ints("kernel_shape");
  if (call.x().size() < 3 || kernel.size() != call.x().size() - 2)
    return Status::error("it has no window of the rank of its operand");
  if (call.outputs[0].dtype != call.inputs[0].dtype ||
      (call.outputs.size() > 1 && !call.outputs[1].is_absent() && call.outputs[1].dtype != DType::I64))
    return Status::error("its results have other dtypes");
  Window window;
  const auto problem = resolve_window(spatial_part(call.x()), kernel, call.attrs, &window);
  return check_result(call, call.x()[1], problem, window);
}

struct CallRule {
  std::string_view op;
  size_t operands;
  Rule rule;
};

constexpr CallRule kCallRules[] = {
#define CALL(op, operands, rule) {#op, operands, check_##rule},
#include "runtime/kernels/call_rules.def"
#undef CALL
};

static_assert(std::ranges::is_sorted(kCallRules, {}, &CallRule::op), "call_rules.def is sorted by name");

constexpr bool is_broadcasting(Rule rule) {
  return rule == check_Same || rule == check_Every || rule == check_Power || rule == check_Test || rule == check_Choice;
}

}  // namespace

Status check_call(std::string_view op, const AttrMap& attrs, std::span<const CallOperand> inputs,
                  std::span<const CallOperand> outputs) {
  const CallRule* row = std::ranges::lower_bound(kCallRules, op, {}, &CallRule::op);
  if (row == std::end(kCallRules) || row->op != op) return Status::ok();
  const bool are_there = inputs.size() >= row->operands && !outputs.empty() && !outputs[0].is_absent() &&
                         std::none_of(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(row->operands),
                                      [](const CallOperand& input) { return input.is_absent(); });
  std::string start = "`";
  start.append(op).append("`: ");
  if (!are_there) return Status::error(start + "it lacks an operand or its result");
  const Status status = row->rule({attrs, inputs, outputs});
  return status ? status : Status::error(start + status.message());
}

std::span<const CallRow> call_rows() {
  static constexpr CallRow rows[] = {
#define CALL(op, operands, rule) {#op, operands, is_broadcasting(check_##rule)},
#include "runtime/kernels/call_rules.def"
#undef CALL
  };
  return rows;
}

}  // namespace collage::runtime
