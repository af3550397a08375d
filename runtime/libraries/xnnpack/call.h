// SPDX-License-Identifier: Apache-2.0
// One operator of XNNPACK, with the clamp at its end. What depends on shapes only is decided when the call is made.
#pragma once

#include <xnnpack.h>

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime::xnnpack {

/// A value as a call reads or writes it. `shape` is its own, or has 1s before it (of an operand that broadcasts).
struct Operand {
  int value = -1;
  Shape shape;
  std::string layout;
};

/// What a call's results are limited to.
struct Limits {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

struct Call {
  std::vector<Operand> reads;
  Operand write;
  /// Makes the operator; packs the weights, if it has any.
  std::function<xnn_status(xnn_operator_t*)> create;
  std::function<xnn_status(xnn_operator_t, const std::vector<const float*>&, float*, pthreadpool_t)> setup;
  std::string text;
  std::vector<Tensor> weights{};  ///< constants that `create` packs
  int last_op = -1;               ///< operator of the program whose result it makes
};

/// An operator of the program, and what was fused with it: a bias after MatMul, a clamp.
struct Source {
  const LibraryProgram& program;
  const LibraryOp& op;
  int bias = -1;    ///< a constant; -1: none
  int output = -1;  ///< of the last operator
  Limits limits{};
  /// Layouts of values in memory; empty for values that no call has written so far.
  const std::vector<std::string>& layouts;

  const LibraryValue& value(int id) const { return program.values[static_cast<size_t>(id)]; }
  const Shape& shape(int id) const { return value(id).shape; }
  /// The operand, or -1 if there is none.
  int input(size_t index) const { return index < op.inputs.size() ? op.inputs[index] : -1; }
  bool is_constant(int id) const { return id >= 0 && !value(id).constant.is_empty_handle(); }
  /// Where a result is wanted in a layout, that one; else `otherwise`.
  std::string layout_of_output(std::string otherwise) const;
};

Result<Call> make_convolution(const Source& source);
Result<Call> make_deconvolution(const Source& source);
Result<Call> make_pool(const Source& source);
Result<Call> make_global_pool(const Source& source);
Result<Call> make_resize(const Source& source);
Result<Call> make_fully_connected(const Source& source);
Result<Call> make_softmax(const Source& source);
Result<Call> make_unary(const Source& source);
Result<Call> make_binary(const Source& source);
Result<Call> make_prelu(const Source& source);

/// The call of an operator's name, and whether it can limit its results.
struct Lowering {
  Result<Call> (*make)(const Source& source) = nullptr;
  bool takes_limits = false;
};
Lowering find_lowering(std::string_view op);

/// What a Relu or Clip limits to; nothing where a bound is computed, or nothing lies between them.
std::optional<Limits> limits_of(const Source& clamp);

/// The calls of a program in order, clamps and biases fused.
Result<std::vector<Call>> make_calls(const LibraryProgram& program);

/// `, at least 0, at most 6`; nothing for no limits.
std::string to_string(const Limits& limits);

/// A constant in another layout: `NHWC` of weights is OHWI.
Tensor in_layout(const Tensor& constant, std::string_view layout);

}  // namespace collage::runtime::xnnpack
