// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/pattern_climb.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/joined.h"

namespace collage::match {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Pattern;
using ir::ValueId;

bool contains(const std::vector<const ir::OpDef*>& ops, const ir::OpDef* op) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool repeats(const Pattern& pattern) {
  return pattern.kind == Pattern::Kind::Repeat || pattern.kind == Pattern::Kind::Via;
}

void add_paths(const Pattern& pattern, const ir::OpDef* op, PatternPath* above, std::vector<PatternPath>* paths) {
  for (const Pattern& choice : pattern.choices) add_paths(choice, op, above, paths);
  if (contains(pattern.ops, op)) {
    // Among operators that repeat, others of them may follow.
    if (repeats(pattern)) above->push_back({&pattern, true});
    paths->push_back(*above);
    if (repeats(pattern)) above->pop_back();
  }
  above->push_back({&pattern, repeats(pattern) && pattern.at_least == 0});
  for (const Pattern& operand : pattern.operands) add_paths(operand, op, above, paths);
  above->pop_back();
}

/// Nodes of one of the operators that read one of `nodes`.
std::set<NodeId> readers_of(const Graph& graph, const std::set<NodeId>& nodes,
                            const std::vector<const ir::OpDef*>& ops) {
  std::set<NodeId> readers;
  for (NodeId node : nodes) {
    for (ValueId output : graph.node(node).outputs) {
      if (!output.is_valid()) continue;
      for (const ir::Use& use : graph.value(output).uses) {
        if (contains(ops, graph.node(use.node).op)) readers.insert(use.node);
      }
    }
  }
  return readers;
}

}  // namespace

std::vector<PatternPath> paths_to(const ir::Rule& rule, const ir::OpDef* op) {
  std::vector<PatternPath> paths;
  PatternPath above;
  add_paths(rule.root, op, &above, &paths);
  for (const Pattern& other : rule.others) add_paths(other, op, &above, &paths);
  return paths;
}

Climb climb(const Graph& graph, NodeId node, const PatternPath& path) {
  Climb result{{node}, 0};
  for (size_t i = path.size(); i-- > 0;) {
    const Pattern& over = *path[i].pattern;
    std::set<NodeId> next;
    if (path[i].may_be_none) next = result.reached;
    std::set<NodeId> last = result.reached;
    for (int step = 0; step < (repeats(over) ? over.at_most : 1) && !last.empty(); ++step) {
      last = readers_of(graph, last, over.ops);
      next.insert(last.begin(), last.end());
    }
    if (next.empty()) break;
    result.reached = std::move(next);
    ++result.levels;
  }
  return result;
}

std::string stop_text(const Graph& graph, const Climb& climbed, const PatternPath& path) {
  // Where operators repeat, the last is the one that is read by something else.
  bool is_run = std::any_of(path.begin(), path.end(), [](const PathStep& step) { return repeats(*step.pattern); });
  const ir::Value& value =
      graph.value(graph.first_output(is_run ? *climbed.reached.rbegin() : *climbed.reached.begin()));
  std::string text;
  std::set<std::string_view> named;
  for (const ir::Use& use : value.uses) {
    std::string_view op = graph.node(use.node).op->name;
    if (named.insert(op).second) runtime::add_to_list(text, op, " and ");
  }
  if (text.empty()) return fmt::format("`%{}` is a model output", value.name);
  return fmt::format("`%{}` is read by {}", value.name, text);
}

}  // namespace collage::match
