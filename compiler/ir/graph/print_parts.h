// SPDX-License-Identifier: Apache-2.0
// Shared by print.cpp and print_placed.cpp: names, types, constants and operators in the model language.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::ir {

/// Returns the name of a value in the text, which in a placed model depends on the format.
using NameOf = std::function<std::string(ValueId)>;

/// `%x`, `%"odd name"`; with `sigil` `@` for models and partitions.
std::string sigil_name(char sigil, std::string_view name);
std::string quoted(std::string_view text);

/// `model @m(%x: f32[1]) -> (%y: f32[1]) {` and its line end.
std::string print_header(const Graph& graph);
/// All constants, a line each. Elements are left out where a constant has more than `most`.
std::string print_constants(const Graph& graph, int64_t most);
/// `%c = Conv(%x, %w) {strides = [2, 2]} : f32[1, 8] on npu[0]` and its line end. Elements are left out where a tensor
/// among its attributes has more than `most`.
std::string print_node(const Graph& graph, NodeId node, std::string_view indent, const NameOf& result_name,
                       const NameOf& operand_name, int64_t most);

enum class Elements {
  All,
  Few,  ///< for a screen: a tensor with more than a few elements is printed without them, `dense f32[768] […]`
};
/// Returns how many elements a tensor may have whose elements are printed.
int64_t most_printed(Elements elements);
/// Returns a comment for the top of a text that is printed for a screen: it says that elements are left out. Empty
/// where none are.
std::string note_on_elements(std::string_view text);

}  // namespace collage::ir
