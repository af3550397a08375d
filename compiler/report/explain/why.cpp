// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/why.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/explain/explain_text.h"
#include "compiler/report/explain/why_not.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

using ir::NodeId;

class Reporter {
 public:
  explicit Reporter(const ExplainedPlacement& explained) : explained_(explained), graph_(explained.input.graph) {}

  std::vector<Answer> report(const std::vector<NodeId>& nodes) {
    if (nodes.size() != 1) return table(nodes);
    one(nodes[0]);
    return {std::move(answer_)};
  }

 private:
  const place::BuiltProblem& built() const { return explained_.input.built; }

  std::vector<Answer> table(const std::vector<NodeId>& nodes) {
    std::vector<Answer> answers;
    size_t width = 0;
    for (NodeId node : nodes) width = std::max(width, node_text(graph_, node).size());
    for (NodeId node : nodes) {
      const ir::Partition& home = partition_of(graph_, explained_.found.placement, node);
      Answer& answer = answers.emplace_back();
      answer.head = fmt::format("{:<{}}  {} in {}, {}, {}: {}", node_text(graph_, node), width, place_text(home),
                                home.name, runtime::counted(home.nodes.size(), "op"), human(home.cost),
                                rule_text(explained_, built(), explained_.found.chosen, node));
    }
    return answers;
  }

  void one(NodeId node) {
    const search::FoundPlacement& found = explained_.found;
    const ir::Partition& home = partition_of(graph_, found.placement, node);
    for (const std::string& name : other_backends(home.backend)) {
      answer_.label_width = std::max(answer_.label_width, name.size());
    }
    answer_.head = fmt::format("{} runs on {} in {}, {} of {}", node_text(graph_, node), place_text(home), home.name,
                               human(home.cost), human(found.predicted));
    std::vector<NodeId> others = home.nodes;
    others.erase(std::find(others.begin(), others.end(), node));
    if (!others.empty()) answer_.add("with", node_list(graph_, others));
    answer_.add("rules", rules_text(home, explained_));
    boundary("reads", home.inputs, true);
    boundary("writes", home.outputs, false);
    cost(node, home);
    splits(node, home);
    bool has_less = false;
    for (const std::string& name : other_backends(home.backend)) answer_.add(name, instead(node, name, &has_less));
    if (has_less) answer_.add_note(why_not_best(explained_));
  }

  std::vector<std::string> other_backends(const std::string& home) const {
    std::vector<std::string> names = backend_names(built().problem);
    std::erase(names, home);
    return names;
  }

  /// Each value, its format, and what the way there or away costs.
  void boundary(std::string_view label, const std::vector<ir::BoundaryValue>& values, bool reads) {
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < std::min(values.size(), kShown); ++i) {
      answer_.add(i == 0 ? label : "",
                  fmt::format("%{} in {}{}", graph_.value(values[i].value).name, to_string(values[i].format),
                              reads ? way_there(values[i]) : ways_away(values[i])));
    }
    if (values.size() > kShown) answer_.add("", fmt::format("and {} more", values.size() - kShown));
  }

  /// `, from host for 8.2 us`: conversions back to the format that the value was made in.
  std::string way_there(const ir::BoundaryValue& value) const {
    const std::vector<ir::Conversion>& all = explained_.found.placement.conversions;
    ir::Format format = value.format;
    runtime::Duration cost;
    // A value's conversions form a tree, so this ends.
    for (bool moved = true; moved;) {
      auto it =
          std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.value == value.value && c.to == format; });
      moved = it != all.end();
      if (!moved) break;
      format = it->from;
      cost += it->cost;
    }
    return format == value.format ? "" : fmt::format(", from {} for {}", to_string(format), human(cost));
  }

  /// `, to host for 8.2 us`: the formats in which others read it, and all conversions that make them.
  std::string ways_away(const ir::BoundaryValue& value) const {
    const std::vector<ir::Conversion>& all = explained_.found.placement.conversions;
    std::string formats;
    runtime::Duration cost;
    for (const ir::Conversion& conversion : all) {
      if (conversion.value != value.value) continue;
      cost += conversion.cost;
      bool goes_on = std::any_of(all.begin(), all.end(), [&](const ir::Conversion& next) {
        return next.value == value.value && next.from == conversion.to;
      });
      if (!goes_on) runtime::add_to_list(formats, to_string(conversion.to), " and ");
    }
    return formats.empty() ? "" : fmt::format(", to {} for {}", formats, human(cost));
  }

  void cost(NodeId node, const ir::Partition& home) {
    const place::CandidateId id = candidate_of(built().problem, explained_.found.chosen, node);
    const place::Candidate& candidate = built().problem.candidates[id];
    std::string parts = cost_parts_text(explained_, id);
    if (candidate.nodes.size() < home.nodes.size()) {
      // Joined after the search: the partition's cost is the sum.
      std::string who = candidate.nodes.size() == 1 ? "" : fmt::format(" and {} more", candidate.nodes.size() - 1);
      parts = fmt::format("{} of that for %{}{}: {}", human(candidate.cost), graph_.node_name(node), who, parts);
    }
    answer_.add("cost", parts);
  }

  /// How it is split, or would be: each way that the backend's rules offer, at its cost, and what stops the others.
  void splits(NodeId node, const ir::Partition& home) {
    std::string_view label = "split";
    const auto add_line = [&](const std::string& text) {
      answer_.add(label, text);
      label = "";
    };
    if (home.split) {
      add_line(fmt::format("%{} along {} into {} parts at once", graph_.node_name(home.split->node),
                           name_of(home.split->axis), ir::instances_of(home.instance).size()));
    }
    const place::BackendId backend = backend_id(explained_, home.backend);
    if (!backend.is_valid()) return;
    const place::BackendCandidates& found = built().backends[backend];
    for (place::BackendCandidateId id : found.candidates.ids()) {
      const place::BackendCandidate& candidate = found.candidates[id];
      if (!candidate.split || candidate.split->split == home.split || candidate.members.nodes != home.nodes) continue;
      if (is_left_out(backend, id, home.nodes)) continue;
      add_line(fmt::format("into {} parts along {}: {}, copies included", candidate.split->parts.size(),
                           name_of(candidate.split->split.axis), human(candidate.cost)));
    }
    for (const match::Refusal& refusal : found.split_refusals) {
      if (std::binary_search(refusal.nodes.begin(), refusal.nodes.end(), node) && refusal.nodes == home.nodes)
        add_line("not into " + refusal.message);
    }
  }

  /// Whether a split was priced, and then not offered for a reason that is shown.
  bool is_left_out(place::BackendId backend, place::BackendCandidateId id, const std::vector<NodeId>& nodes) const {
    const place::BackendCandidates& found = built().backends[backend];
    const place::SplitCandidate& split = *found.candidates[id].split;
    const std::string start = fmt::format("{} parts along {}: ", split.parts.size(), name_of(split.split.axis));
    const bool has_reason = std::any_of(
        found.split_refusals.begin(), found.split_refusals.end(),
        [&](const match::Refusal& refusal) { return refusal.nodes == nodes && refusal.message.starts_with(start); });
    if (!has_reason) return false;
    for (place::CandidateId c : built().candidate_ids()) {
      const place::CandidateOrigin& origin = built().origin(c);
      if (origin.backend == backend && origin.candidate == id) return false;
    }
    return true;
  }

  /// `1.2 ms more: +2 ms onednn, -0.8 ms npu`
  std::string instead(NodeId node, const std::string& backend, bool* has_less) const {
    if (!has_candidate(built().problem, node, backend)) return short_reason(explained_, node, backend);
    const Instead other = with_node_on(explained_, node, backend);
    *has_less |= other.is_less;
    return other.text;
  }

  const ExplainedPlacement& explained_;
  const ir::Graph& graph_;
  Answer answer_;  ///< about one node
};

}  // namespace

Instead with_node_on(const ExplainedPlacement& explained, NodeId node, const std::string& backend) {
  const Alternative alternative = plan_with(explained, {node}, backend);
  if (!alternative.found) return {"no placement was found with it there; `why-not` tells more"};
  if (const std::string over = over_memory(alternative); !over.empty()) return {"does not fit: " + over};
  return {change_text(explained, alternative), alternative.found->predicted < explained.found.predicted};
}

std::vector<Answer> why(const ExplainedPlacement& explained, const std::vector<NodeId>& nodes) {
  return Reporter(explained).report(nodes);
}

}  // namespace collage::report
