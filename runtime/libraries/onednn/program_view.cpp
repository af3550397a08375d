// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/onednn/program_view.h"

#include <algorithm>

namespace collage::runtime::onednn {

ProgramView::ProgramView(LibraryProgram& program) : program_(program), maker_(program.values.size(), -1) {
  for (size_t i = 0; i < program.ops.size(); ++i) {
    for (int output : program.ops[i].outputs) {
      if (output >= 0) maker_[static_cast<size_t>(output)] = static_cast<int>(i);
    }
  }
}

const LibraryOp* ProgramView::maker(int value) const {
  if (value < 0 || static_cast<size_t>(value) >= maker_.size()) return nullptr;
  int at = maker_[static_cast<size_t>(value)];
  return at < 0 ? nullptr : &program_.ops[static_cast<size_t>(at)];
}

const LibraryOp* ProgramView::maker(int value, std::string_view name, size_t operands) const {
  const LibraryOp* op = maker(value);
  bool fits = op != nullptr && op->op == name && op->inputs.size() >= operands &&
              std::all_of(op->inputs.begin(), op->inputs.end(), [](int input) { return input >= 0; });
  return fits ? op : nullptr;
}

bool ProgramView::is_constant(int value) const {
  return value >= 0 && !program_.values[static_cast<size_t>(value)].constant.is_empty_handle();
}

std::optional<double> ProgramView::number(int value) const {
  if (!is_constant(value)) return std::nullopt;
  const Tensor& constant = program_.values[static_cast<size_t>(value)].constant;
  if (constant.count() != 1) return std::nullopt;
  return element_as_double(constant.view(), 0);
}

int ProgramView::other(const LibraryOp& op, int value) {
  if (op.inputs.size() != 2) return -1;
  if (op.inputs[0] == value) return op.inputs[1];
  return op.inputs[1] == value ? op.inputs[0] : -1;
}

int ProgramView::add_value(DType dtype, Shape shape) {
  program_.values.push_back({dtype, std::move(shape), {}});
  maker_.push_back(-1);
  return static_cast<int>(program_.values.size()) - 1;
}

int ProgramView::add_constant(Tensor data) {
  int id = add_value(data.dtype(), data.shape());
  program_.values.back().constant = std::move(data);
  return id;
}

}  // namespace collage::runtime::onednn
