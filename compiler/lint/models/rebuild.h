// SPDX-License-Identifier: Apache-2.0
// A small model once more, with other sizes, attributes or constants: what holds for the model of a test may not hold
// beside it.
//
//     %c = Conv(%x: f32[1, 2, 9, 9], %w)   =>   the same with %x: f32[1, 2, 8, 8], or with {pads = [0, 1, 2, 3]}
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::lint {

std::set<int64_t> sizes_of_inputs(const ir::Graph& graph);

enum class Resized {
  Inputs,
  OpenConstantsToo  ///< those whose elements the test leaves open
};
/// The model with `other` in the place of `size`, wherever that stands.
std::optional<ir::Graph> resized(const ir::Graph& graph, int64_t size, int64_t other, Resized where);

/// Models in which one size of the inputs is one less or one more, wherever it stands; where inputs alone do not allow
/// that, in constants whose elements the test leaves open as well.
std::vector<ir::Graph> with_other_sizes(const ir::Graph& graph);

/// Models in which one number or list of numbers among the attributes of a node is another.
std::vector<ir::Graph> with_other_attributes(const ir::Graph& graph);

/// Gives each operand that reads a constant one of its own, as far as `accepts` holds of the result: a test that writes
/// one constant for several parameters does not tell these from each other. The elements of constants that the test
/// writes out become open on the same condition.
ir::Graph with_own_constants(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& accepts);

/// Whether the types are still those that inference gives, after a change of constants: these may follow from them, as
/// the result of a Resize does from its scales.
bool has_inferred_types(const ir::Graph& graph);

/// The sizes that differ from those of `graph`: "`%x` is f32[1, 2, 8, 8]".
std::string changed_types_text(const ir::Graph& graph, const ir::Graph& changed);

}  // namespace collage::lint
