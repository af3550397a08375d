// SPDX-License-Identifier: Apache-2.0
// Random values for two ways to compute the same, and where their results differ: of the two sides of a rewrite, of a
// pattern and the `semantics` of its kernel.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "compiler/ir/graph/graph.h"

namespace collage::lint {

/// Values of one execution.
struct Trial {
  std::string_view what;
  bool is_whole;
  double low;
  double high;
  bool changes_constants = true;  ///< else they are those of the test's model
};

inline constexpr Trial kTrials[] = {
    {"values in [-1, 1)", false, -1, 1, false}, {"whole numbers from -3 to 3", true, -3, 3},
    {"values in [-10, 10)", false, -10, 10},    {"positive values", false, 0.125, 4},
    {"whole numbers from 0 to 1", true, 0, 1},
};

ir::Tensor random_tensor(const ir::TensorType& type, const Trial& trial, std::mt19937_64& random);

/// Changes every constant of which the test's model does not say what is in it.
void change_constants(ir::Graph& graph, const Trial& trial, std::mt19937_64& random);

/// Index of the first element that differs by more than `check` allows, or -1.
int64_t first_difference(const ir::Tensor& left, const ir::Tensor& right);

/// `[0, 3]`
std::string indices(const ir::Shape& shape, int64_t element);

/// One element; the sign of a NaN means nothing.
std::string element_text(const ir::Tensor& tensor, int64_t element);

}  // namespace collage::lint
