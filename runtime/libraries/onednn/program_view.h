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
  /// The operator `name` that makes the value, or null. It has that many operands at least, and all that it has are
  /// there.
  const LibraryOp* maker(int value, std::string_view name, size_t operands) const;
  const LibraryOp* maker(int value) const;
  /// The number that all elements of a constant are, if it has one element.
  std::optional<double> number(int value) const;
  bool is_constant(int value) const;
  /// The other operand of an operator of two, one of which is `value`; -1 if none is.
  static int other(const LibraryOp& op, int value);
  /// A new constant.
  int add_constant(Tensor data);
  int add_value(DType dtype, Shape shape);

 private:
  LibraryProgram& program_;
  std::vector<int> maker_;  ///< by value: index of an operator, or -1
};

/// A pattern whose last operator is `root`: what to put into its place, or nothing.
using Pattern = std::optional<LibraryOp> (*)(ProgramView& view, const LibraryOp& root);

std::optional<LibraryOp> match_swish(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_gelu(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_hard_swish(ProgramView& view, const LibraryOp& root);
std::optional<LibraryOp> match_layer_norm(ProgramView& view, const LibraryOp& root);

}  // namespace collage::runtime::onednn
