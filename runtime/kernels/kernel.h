// SPDX-License-Identifier: Apache-2.0
// Reference kernels: one plain C++ implementation per operator, the ONNX semantics in the clearest loops.
//
// They check the other ways to run an operator, run what has no faster way, fold constants, and compute for simulated
// devices. All tensors are dense and row-major in the logical order. Inference ran before: shapes and dtypes of outputs
// are right, attributes are legal. What only the data can show (an index out of range) is a failed Status.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/core/attributes.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

struct KernelArgs {
  std::span<const TensorView> inputs;   ///< in operand order; `is_absent()` where an optional one is left out
  std::span<const TensorView> outputs;  ///< allocated by the caller, contents arbitrary; may be absent
  const AttrMap& attrs;

  /// Input `i`, absent where the node has fewer operands.
  TensorView input(size_t i) const { return i < inputs.size() ? inputs[i] : TensorView{}; }
  /// Output `i`, absent where the node has fewer results.
  TensorView output(size_t i) const { return i < outputs.size() ? outputs[i] : TensorView{}; }
};

/// The kernel of one operator, or none: equal to null.
class ReferenceKernel {
 public:
  using Function = Status (*)(const KernelArgs&);

  ReferenceKernel() = default;
  /// `sees_narrow`: the function takes f16 and bf16 as they are.
  ReferenceKernel(Function function, bool sees_narrow) : function_(function), sees_narrow_(sees_narrow) {}

  Status operator()(const KernelArgs& args) const;
  bool operator==(std::nullptr_t) const { return function_ == nullptr; }

 private:
  Function function_ = nullptr;
  bool sees_narrow_ = false;
};

/// The kernel of an ONNX operator, or null if there is none. The table is `kernels.def`.
ReferenceKernel find_reference_kernel(std::string_view op);

/// Computes all results of an operator that finds their shapes in the elements of its operands, as NonZero does.
using DataDependentKernel = Result<std::vector<Tensor>> (*)(std::span<const TensorView> inputs, const AttrMap& attrs);

/// The kernel of such an operator, or null for all others. Its reference kernel gives the same results, where their
/// shapes were known before: inference runs this one on constant operands.
DataDependentKernel find_data_dependent_kernel(std::string_view op);

/// Names of all operators with a kernel, sorted.
std::vector<std::string_view> reference_kernel_names();

}  // namespace collage::runtime
