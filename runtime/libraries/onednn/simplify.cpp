// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/simplify.h"

#include <algorithm>
#include <cmath>

#include "runtime/libraries/onednn/program_view.h"

namespace collage::runtime::onednn {
namespace {

/// y = x * s + t with s = scale / sqrt(variance + epsilon), t = shift - mean * s, computed in f64.
void split_batch_norm(ProgramView& view, const LibraryOp& norm, std::vector<LibraryOp>& to) {
  auto operand = [&](size_t i) { return view.program().values[static_cast<size_t>(norm.inputs[i])].constant.view(); };
  const Shape shape = view.shape(norm.inputs[0]);
  Shape per_channel(shape.size() - 1, 1);
  per_channel[0] = shape[1];
  Tensor scale(DType::F32, per_channel), shift(DType::F32, per_channel);
  double epsilon = norm.attrs.get_float("epsilon", 1e-5);
  for (int64_t c = 0; c < shape[1]; ++c) {
    double s = element_as_double(operand(1), c) / std::sqrt(element_as_double(operand(4), c) + epsilon);
    scale.as<float>()[static_cast<size_t>(c)] = static_cast<float>(s);
    shift.as<float>()[static_cast<size_t>(c)] =
        static_cast<float>(element_as_double(operand(2), c) - element_as_double(operand(3), c) * s);
  }
  int scaled = view.add_value(DType::F32, shape);
  to.push_back({"Mul", {}, {norm.inputs[0], view.add_constant(scale)}, {scaled}});
  to.push_back({"Add", {}, {scaled, view.add_constant(shift)}, {norm.outputs[0]}});
}

bool can_split(const ProgramView& view, const LibraryOp& op) {
  if (op.op != "BatchNormalization" || op.inputs.size() != 5 || op.outputs[0] < 0 || op.inputs[0] < 0) return false;
  const Shape& shape = view.shape(op.inputs[0]);
  if (shape.size() < 2) return false;
  return std::all_of(op.inputs.begin() + 1, op.inputs.end(),
                     [&](int input) { return view.is_constant(input) && view.shape(input) == Shape{shape[1]}; });
}

/// op(a, b, c) => op(op(a, b), c), shapes growing as they broadcast.
void split_variadic(ProgramView& view, const LibraryOp& op, std::vector<LibraryOp>& to) {
  std::string name = op.op == "Mean" ? "Add" : op.op == "Sum" ? "Add" : op.op;
  bool is_mean = op.op == "Mean";
  int sum = op.inputs[0];
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    bool is_last = i + 1 == op.inputs.size() && !is_mean;
    Shape shape;
    broadcast_shapes(view.shape(sum), view.shape(op.inputs[i]), &shape);
    int next = is_last ? op.outputs[0] : view.add_value(DType::F32, shape);
    to.push_back({name, {}, {sum, op.inputs[i]}, {next}});
    sum = next;
  }
  if (is_mean) {
    Tensor share(DType::F32, {});
    share.as<float>()[0] = 1.0F / static_cast<float>(op.inputs.size());
    to.push_back({"Mul", {}, {sum, view.add_constant(share)}, {op.outputs[0]}});
  } else if (op.inputs.size() == 1) {
    to.push_back({"Identity", {}, {sum}, {op.outputs[0]}});
  }
}

bool is_variadic(const LibraryOp& op) {
  if (op.op != "Sum" && op.op != "Max" && op.op != "Min" && op.op != "Mean") return false;
  return (op.inputs.size() != 2 || op.op == "Mean") && !op.inputs.empty() &&
         std::all_of(op.inputs.begin(), op.inputs.end(), [](int input) { return input >= 0; });
}

LibraryOp linear(int x, double alpha, double beta, int result) {
  LibraryOp op{"Linear", {}, {x}, {result}};
  op.attrs.set("alpha", alpha);
  op.attrs.set("beta", beta);
  return op;
}

void split_hard_sigmoid(ProgramView& view, const LibraryOp& op, std::vector<LibraryOp>& to) {
  int line = view.add_value(DType::F32, view.shape(op.outputs[0]));
  to.push_back(linear(op.inputs[0], op.attrs.get_float("alpha", 0.2), op.attrs.get_float("beta", 0.5), line));
  LibraryOp clip{"Clip", {}, {line}, {op.outputs[0]}};
  clip.attrs.set("min", 0.0);
  clip.attrs.set("max", 1.0);
  to.push_back(std::move(clip));
}

bool is_general_gemm(const ProgramView& view, const LibraryOp& op) {
  if (op.op != "Gemm" || op.inputs.size() < 2 || op.inputs[0] < 0 || op.inputs[1] < 0) return false;
  int addend = op.inputs.size() > 2 ? op.inputs[2] : -1;
  const Shape& result = view.shape(op.outputs[0]);
  if (addend < 0) return op.attrs.get_float("alpha", 1) != 1;
  const Shape& shape = view.shape(addend);
  bool is_row =
      !shape.empty() && !result.empty() && shape.back() == result.back() && element_count(shape) == shape.back();
  return !is_row || op.attrs.get_float("alpha", 1) != 1 || op.attrs.get_float("beta", 1) != 1;
}

/// alpha A B + beta C
void split_gemm(ProgramView& view, const LibraryOp& op, std::vector<LibraryOp>& to) {
  const Shape shape = view.shape(op.outputs[0]);
  double alpha = op.attrs.get_float("alpha", 1), beta = op.attrs.get_float("beta", 1);
  int addend = op.inputs.size() > 2 ? op.inputs[2] : -1;
  LibraryOp product = op;
  product.attrs.erase("alpha");
  product.attrs.erase("beta");
  product.inputs.resize(2);
  int result = product.outputs[0] = view.add_value(DType::F32, shape);
  to.push_back(product);
  if (addend >= 0 && beta != 1) {
    int scaled = view.add_value(DType::F32, view.shape(addend));
    to.push_back(linear(addend, beta, 0, scaled));
    addend = scaled;
  }
  int multiple = addend < 0 ? op.outputs[0] : view.add_value(DType::F32, shape);
  to.push_back(linear(result, alpha, 0, multiple));
  if (addend >= 0) to.push_back({"Add", {}, {multiple, addend}, {op.outputs[0]}});
}

bool is_reversed_difference(const ProgramView& view, const LibraryOp& op) {
  if (op.op != "Sub" || op.inputs.size() != 2 || op.inputs[0] < 0 || op.inputs[1] < 0) return false;
  int64_t size = element_count(view.shape(op.outputs[0]));
  return element_count(view.shape(op.inputs[0])) != size && element_count(view.shape(op.inputs[1])) == size &&
         !view.number(op.inputs[0]);
}

void expand(LibraryProgram& program) {
  std::vector<LibraryOp> ops;
  ProgramView view(program);
  for (const LibraryOp& op : program.ops) {
    bool has_result = op.outputs.size() == 1 && op.outputs[0] >= 0;
    if (has_result && can_split(view, op)) {
      split_batch_norm(view, op, ops);
    } else if (has_result && is_variadic(op)) {
      split_variadic(view, op, ops);
    } else if (has_result && op.op == "HardSigmoid" && op.inputs.size() == 1 && op.inputs[0] >= 0) {
      split_hard_sigmoid(view, op, ops);
    } else if (has_result && is_general_gemm(view, op)) {
      split_gemm(view, op, ops);
    } else if (has_result && is_reversed_difference(view, op)) {
      int difference = view.add_value(DType::F32, view.shape(op.outputs[0]));
      ops.push_back({"Sub", {}, {op.inputs[1], op.inputs[0]}, {difference}});
      ops.push_back({"Neg", {}, {difference}, {op.outputs[0]}});
    } else {
      ops.push_back(op);
    }
  }
  program.ops = std::move(ops);
}

void contract(LibraryProgram& program) {
  constexpr Pattern kPatterns[] = {match_swish, match_gelu, match_hard_swish, match_layer_norm};
  ProgramView view(program);
  for (LibraryOp& op : program.ops) {
    if (op.outputs.size() != 1 || op.outputs[0] < 0) continue;
    for (Pattern pattern : kPatterns) {
      if (std::optional<LibraryOp> made = pattern(view, op)) {
        op = std::move(*made);
        break;
      }
    }
  }
}

void drop_unread(LibraryProgram& program) {
  std::vector<bool> is_read(program.values.size(), false);
  for (int output : program.outputs) is_read[static_cast<size_t>(output)] = true;
  std::vector<LibraryOp> kept;
  for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
    bool is_needed = std::any_of(op->outputs.begin(), op->outputs.end(),
                                 [&](int output) { return output >= 0 && is_read[static_cast<size_t>(output)]; });
    if (!is_needed) continue;
    for (int input : op->inputs) {
      if (input >= 0) is_read[static_cast<size_t>(input)] = true;
    }
    kept.push_back(std::move(*op));
  }
  std::reverse(kept.begin(), kept.end());
  program.ops = std::move(kept);
}

}  // namespace

LibraryProgram simplify(LibraryProgram program) {
  contract(program);
  expand(program);
  drop_unread(program);
  return program;
}

}  // namespace collage::runtime::onednn
