// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/candidate_stats.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "compiler/ir/ops/op_def.h"

namespace collage::report {
namespace {

/// Text that two candidates share if and only if one measurement serves both. Values are numbered by first use.
class Signature {
 public:
  explicit Signature(const ir::Graph& graph) : graph_(graph) {}

  std::string of(const place::BuiltProblem& built, const place::Candidate& candidate) {
    std::string text = built.problem.owners[candidate.owner].backend;
    std::map<ir::ValueId, size_t> numbers;
    auto number = [&](ir::ValueId value) { return numbers.emplace(value, numbers.size()).first->second; };
    for (ir::NodeId id : candidate.nodes) {
      text += "|" + node_text(id);
      for (ir::ValueId input : graph_.node(id).inputs) {
        text += input.is_valid() ? fmt::format(" {}{}", number(input), is_constant(input) ? "c" : "") : " _";
      }
      for (ir::ValueId output : graph_.node(id).outputs) {
        if (output.is_valid()) number(output);
      }
    }
    auto boundary = [&](const std::vector<place::ValueFormat>& values) {
      for (const place::ValueFormat& value : values) {
        const ir::Format& format = built.problem.formats[value.format];
        text += fmt::format(" {}:{}", number(built.values[value.value]), format.layout);
        if (format.storage) text += " " + runtime::to_string(*format.storage);
      }
    };
    text += "|r";
    boundary(candidate.reads);
    text += "|w";
    boundary(candidate.writes);
    if (candidate.split) text += fmt::format("|s {} {}", name_of(candidate.split->axis), candidate.shares.size());
    return text;
  }

 private:
  bool is_constant(ir::ValueId value) const { return graph_.value(value).is_constant(); }

  /// Operator, attributes and types: what does not depend on the candidate.
  const std::string& node_text(ir::NodeId id) {
    auto [it, is_new] = node_texts_.try_emplace(id);
    if (!is_new) return it->second;
    const ir::Node& node = graph_.node(id);
    std::string text(node.op->name);
    for (const auto& [name, value] : node.attrs) text += fmt::format(" {}={}", name, runtime::to_string(value));
    for (ir::ValueId input : node.inputs) {
      if (input.is_valid()) text += " " + to_string(graph_.value(input).type);
    }
    return it->second = text;
  }

  const ir::Graph& graph_;
  std::map<ir::NodeId, std::string> node_texts_;
};

}  // namespace

size_t count_distinct(const ir::Graph& graph, const place::BuiltProblem& built) {
  Signature signature(graph);
  std::set<std::string> seen;
  for (const place::Candidate& candidate : built.problem.candidates) seen.insert(signature.of(built, candidate));
  return seen.size();
}

size_t count_truncated(const place::BuiltProblem& built) {
  size_t count = 0;
  for (const place::BackendCandidates& found : built.backends) {
    count += found.growth.truncated_groups + found.growth.truncated_matches + found.growth.truncated_formats;
  }
  return count;
}

}  // namespace collage::report
