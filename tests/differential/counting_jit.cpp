// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/counting_jit.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include "compiler/ir/ops/op_def.h"

namespace collage::testing {
namespace {

/// `%y Conv+Relu`: the name of the first result, and the operators.
struct KernelName {
  std::string result;
  std::vector<std::string> operators;
};

KernelName parse_name(const std::string& name) {
  KernelName parsed;
  const size_t blank = name.rfind(' ');
  parsed.result = name.substr(1, blank - 1);
  std::istringstream operators(name.substr(blank + 1));
  for (std::string op; std::getline(operators, op, '+');) parsed.operators.push_back(op);
  return parsed;
}

bool is_pointwise(const std::string& op) {
  const ir::OpDef* def = ir::find_op(op);
  return def == nullptr || def->kind <= ir::FusionKind::Broadcast || op == "BatchNormalization";
}

/// The kernel's node with this operator: the nearest one before its result.
std::optional<ir::NodeId> find_node(const ir::Graph& graph, const KernelName& name, const std::string& op) {
  std::vector<ir::ValueId> open;
  for (ir::ValueId id : graph.value_ids()) {
    if (graph.value(id).name == name.result) open.push_back(id);
  }
  std::set<ir::ValueId> seen;
  for (size_t i = 0; i < open.size(); ++i) {
    const ir::NodeId producer = graph.value(open[i]).producer;
    if (!producer.is_valid()) continue;
    if (graph.node(producer).op->name == op) return producer;
    for (ir::ValueId input : graph.node(producer).inputs) {
      if (input.is_valid() && seen.insert(input).second) open.push_back(input);
    }
  }
  return std::nullopt;
}

std::string conv_kind(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape &x = graph.value(node.inputs[0]).type.shape, &w = graph.value(node.inputs[1]).type.shape;
  const int64_t groups = node.attrs.get_int("group", 1), inputs = x[1] / std::max<int64_t>(1, groups);
  if (groups > 1 && inputs == 1 && w[0] == groups) return " depthwise";
  if (groups > 1 && inputs == w[0] / groups) return " grouped alike";
  if (groups > 1) return " grouped";
  return std::all_of(w.begin() + 2, w.end(), [](int64_t extent) { return extent == 1; }) ? " 1x1" : "";
}

std::string kind_of(const ir::Graph& graph, const codegen::LoweredKernel& kernel) {
  const KernelName name = parse_name(kernel.name);
  std::string kind = "pointwise";
  for (const std::string& op : name.operators) {
    if (is_pointwise(op)) continue;
    kind = op;
    if (op == "Resize" && name.operators.size() > 1 && name.operators[1] == "Conv") kind = "Conv enlarged";
    break;
  }
  if (kind == "Conv") {
    if (std::optional<ir::NodeId> node = find_node(graph, name, kind)) kind += conv_kind(graph, graph.node(*node));
  }
  const bool is_plain = std::all_of(kernel.operands.begin(), kernel.operands.end(),
                                    [](const auto& operand) { return operand.layout == runtime::kPlainLayout; });
  return kind + (is_plain ? "" : ", channels last");
}

}  // namespace

runtime::Result<codegen::LoweredPartition> CountingJit::lower(const ir::Graph& graph,
                                                              const std::vector<ir::NodeId>& nodes,
                                                              const codegen::LowerOptions& options) {
  auto lowered = jit_->lower(graph, nodes, options);
  if (!lowered) return lowered;
  for (const auto& call : lowered->calls) {
    const auto* kernel = std::get_if<codegen::LoweredKernel>(&call);
    if (kernel != nullptr) ++(*counts_)[kind_of(graph, *kernel)];
  }
  return lowered;
}

}  // namespace collage::testing
