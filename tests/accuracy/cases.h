// SPDX-License-Identifier: Apache-2.0
// One example or more of every class of kernels that code is generated for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::testing {

struct AccuracyCase {
  std::string kind;        ///< the class
  std::string statements;  ///< in the model language; inputs are %x and %z
  std::vector<std::pair<std::string, ir::Shape>> inputs;
  std::vector<std::pair<std::string, ir::Shape>> weights{};  ///< uniform in [-1, 1)
  double range = 1;                                          ///< inputs are uniform in [-range, range)
};

/// Sums, windows and normalisations.
std::vector<AccuracyCase> kernel_cases();

/// Every operator of one or two f32 operands that code generation treats as pointwise; what it does not know is not
/// there.
std::vector<AccuracyCase> pointwise_cases();

}  // namespace collage::testing
