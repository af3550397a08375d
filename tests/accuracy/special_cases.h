// SPDX-License-Identifier: Apache-2.0
// Operators on NaN, infinities, zeros of both signs, denormals, and numbers near overflow.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::testing {

struct SpecialCase {
  std::string name;
  std::string statements;  ///< in the model language, over the inputs and weights
  std::vector<std::pair<std::string, runtime::Tensor>> inputs;
  std::vector<std::pair<std::string, runtime::Tensor>> weights{};
};

/// Functions of one or two numbers on numbers of every exponent, and on special values.
std::vector<SpecialCase> function_cases();

/// Operators that look for extremes, that add up, and that normalise, on tensors with special values at many places.
std::vector<SpecialCase> tensor_cases();

}  // namespace collage::testing
