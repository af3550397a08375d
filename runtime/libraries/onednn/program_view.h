// SPDX-License-Identifier: Apache-2.0
// A program while it is rewritten: who makes a value, what numbers constants are.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/plan/library_program.h"

namespace collage::runtime::onednn {

class ProgramView {
 public:
  explicit ProgramView(LibraryProgram& program);

  LibraryProgram& program() { return program_; }
  const Shape& shape(int value) const { return program_.values[static_cast<size_t>(value)].shape; }
  /// The operator `name` that makes the value, or null. Returns it only if it has at least `count` operands, none
  /// omitted.
  const LibraryOp* maker(int value, std::string_view name, size_t operands) const;
  const LibraryOp* maker(int value) const;
  /// The value of a constant with one element.
  std::optional<double> number(int value) const;
  bool is_constant(int value) const;
  /// The operand other than `value` of an operator with two operands; -1 if `value` is neither of them.
  static int other(const LibraryOp& op, int value);
  /// A new constant.
  int add_constant(Tensor data);
  int add_value(DType dtype, Shape shape);

 private:
  LibraryProgram& program_;
  std::vector<int> maker_;  ///< by value: index of an operator, or -1
};

/// The replacement of a pattern whose last operator is `root`; nullopt if it does not match.
using Pattern = std::optional<LibraryOp> (*)(ProgramView& view, const LibraryOp& root);

std::optional<LibraryOp> match_swish(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_gelu(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_hard_swish(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_layer_norm(ProgramView& view, const LibraryOp& root);

}  // namespace collage::runtime::onednn
