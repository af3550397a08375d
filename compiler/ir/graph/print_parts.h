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
/// All constants, a line each. Of those with more than `most` elements none is printed.
std::string print_constants(const Graph& graph, int64_t most);
/// `%c = Conv(%x, %w) {strides = [2, 2]} : f32[1, 8] on npu[0]` and its line end; tensors among its attributes
/// likewise.
std::string print_node(const Graph& graph, NodeId node, std::string_view indent, const NameOf& result_name,
                       const NameOf& operand_name, int64_t most);

enum class Elements {
  All,
  Few,  ///< for a screen: of more than a few elements none is printed, `dense f32[768] […]`
};
/// As many elements as a tensor has at most where they are printed.
int64_t most_printed(Elements elements);
/// A comment above a text that is printed for a screen, which says that elements are left out.
std::string note_on_elements(std::string_view text);

}  // namespace collage::ir
