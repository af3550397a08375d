// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/node_list.h"

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/joined.h"
#include "runtime/core/wrapped.h"

namespace collage::request {
namespace {

using Cells = std::array<std::string, 4>;

std::string types_of(const ir::Graph& graph, const ir::Node& node) {
  return runtime::joined(node.outputs, ", ", [&](ir::ValueId output) {
    return output.is_valid() ? to_string(graph.value(output).type) : std::string("_");
  });
}

}  // namespace

std::string list_nodes(const ir::Graph& graph, const support::SourceManager& sources) {
  std::vector<Cells> rows;
  std::array<size_t, 4> columns{};
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    Cells cells = {ir::sigil_name('%', graph.node_name(id)), std::string(node.op->name), types_of(graph, node),
                   location_text(node.span, sources)};
    for (size_t c = 0; c < cells.size(); ++c) columns[c] = std::max(columns[c], runtime::columns_of(cells[c]));
    rows.push_back(std::move(cells));
  }
  std::string text;
  for (const Cells& cells : rows) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      line += cells[c] + std::string(columns[c] - runtime::columns_of(cells[c]) + 2, ' ');
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace collage::request
