// SPDX-License-Identifier: Apache-2.0
// The program that a library runs: the operators of one partition over numbered values. Plain data, part of a Plan.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/attributes.h"
#include "runtime/core/lowering_call.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

struct LibraryValue {
  DType dtype = DType::F32;
  Shape shape;                   ///< logical
  Tensor constant;               ///< the data of a constant, plain; otherwise an empty handle
  std::string layout = "plain";  ///< of an input or output: the layout of its buffer
  std::string encoding{};        ///< of a constant for a plug-in (encodings.h); `constant` itself is plain
};

struct LibraryOp {
  std::string op;
  AttrMap attrs;
  std::vector<int> inputs;  ///< indices into LibraryProgram::values; -1: an optional operand that is absent
  std::vector<int> outputs;
};

/// A value is a constant, an input, or the output of one operator. Operators are in topological order.
struct LibraryProgram {
  std::vector<LibraryValue> values;
  std::vector<LibraryOp> ops;
  std::vector<int> inputs;            ///< no constants, each once
  std::vector<int> outputs;           ///< results that are read outside, each once; made by the operators
  std::vector<LoweringCall> calls{};  ///< what the rules ask for; built-in libraries use the operators only
};

}  // namespace collage::runtime
