// SPDX-License-Identifier: Apache-2.0
// Inputs of any shape, and the specialisation that takes them (plan/shape_table.h). Both libraries use it, as
// executable.h.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/api/executable.h"

namespace collage::runtime {

class ShapedInputs {
 public:
  /// `shaped`: null for a model of one shape.
  ShapedInputs(std::shared_ptr<const CompiledModel> compiled, std::shared_ptr<const ShapedModel> shaped);

  /// Fails where no specialisation takes the inputs, or where an input has another dtype, no shape or no buffer.
  Result<ShapeChoice> choose(std::span<const collage_array> inputs) const;
  Result<std::shared_ptr<const CompiledModel>> model(size_t variant) const;
  /// Copies with the rows that the choice adds. Expects inputs that were chosen for.
  std::vector<Tensor> padded(std::span<const collage_array> inputs, const ShapeChoice& choice) const;

 private:
  Status check_types(std::span<const collage_array> inputs) const;

  std::shared_ptr<const CompiledModel> compiled_;
  std::shared_ptr<const ShapedModel> shaped_;
  ShapeTable one_;  ///< of a model of one shape
};

}  // namespace collage::runtime
