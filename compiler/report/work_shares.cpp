// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/work_shares.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::report {
namespace {

using ir::NodeId;

/// Multiply-adds in the time in which a processor reads a byte from memory: 100 G a second beside 12 GB a second.
constexpr double kMacsOfByte = 8;

/// Bytes of operands that the nodes before hand on in registers or caches, and of the results that take their place:
/// of a pointwise operator what it alone reads of the others.
double handed_on(const ir::Graph& graph, NodeId id, const std::set<NodeId>& nodes) {
  const ir::Node& node = graph.node(id);
  if (!node.op->is_pointwise) return 0;
  const ir::Value& result = graph.value(graph.first_output(id));
  for (ir::ValueId operand : node.inputs) {
    if (!operand.is_valid()) continue;
    const ir::Value& value = graph.value(operand);
    const bool is_made_here =
        value.producer.is_valid() && !codegen::whole_copy(graph, value.producer) && nodes.contains(value.producer);
    if (is_made_here && value.uses.size() == 1 && !value.is_output && value.type.shape == result.type.shape) {
      return static_cast<double>(value.type.bytes() + result.type.bytes());
    }
  }
  return 0;
}

double weight_of(const ir::Graph& graph, NodeId node, const std::set<NodeId>& nodes) {
  if (codegen::whole_copy(graph, node)) return 0;  // another view of its operand
  const double bytes = std::max(ir::bytes_of(graph, node) - handed_on(graph, node, nodes), 0.0);
  return std::max(ir::work_of(graph, node).macs / kMacsOfByte, bytes);
}

}  // namespace

std::vector<double> work_shares(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
  const std::set<NodeId> all(nodes.begin(), nodes.end());
  std::vector<double> shares;
  for (NodeId node : nodes) shares.push_back(weight_of(graph, node, all));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = sum > 0 ? share / sum : 1 / static_cast<double>(nodes.size());
  return shares;
}

}  // namespace collage::report
