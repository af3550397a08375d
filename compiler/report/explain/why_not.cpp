// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/explain/why_not.h"

#include <algorithm>
#include <tuple>

#include "compiler/ir/ops/op_def.h"
#include "compiler/report/explain/backend_reasons.h"
#include "compiler/report/explain/explain_text.h"
#include "compiler/report/explain/growth_stops.h"
#include "compiler/report/explain/refusal_text.h"
#include "runtime/core/joined.h"

namespace collage::report {
namespace {

using ir::NodeId;
using match::NearMiss;

constexpr size_t kRuleColumns = 32;  ///< at most, for names of rules

class Answerer {
 public:
  Answerer(const ExplainedPlacement& explained, const std::string& backend)
      : explained_(explained),
        graph_(explained.input.graph),
        name_(backend),
        backend_(backend_id(explained, backend)),
        reasons_(explained, backend) {}

  std::vector<Answer> answer(const std::vector<NodeId>& nodes) {
    std::vector<NodeId> there, lost, taken, refused;
    for (NodeId node : nodes) {
      if (home_of(node).backend == name_) {
        there.push_back(node);
      } else if (has_candidate(explained_.input.built.problem, node, name_)) {
        lost.push_back(node);
      } else {
        (reasons_.had_candidate(node) ? taken : refused).push_back(node);
      }
    }
    if (!there.empty()) explain_there(there);
    if (!refused.empty()) explain_refused(refused);
    for (NodeId node : taken) explain_taken(node);
    if (lost.size() == 1) explain_alternative(lost[0]);
    if (lost.size() > 1) explain_alternatives(lost);
    return std::move(answers_);
  }

 private:
  std::vector<NearMiss> misses_of(NodeId node) { return reasons_.misses_of(node); }

  const ir::Backend& backend() const { return *explained_.active[backend_].backend; }

  /// Begins an answer, to which rows and notes are added until the next one.
  template <typename... Args>
  void head(fmt::format_string<Args...> format, Args&&... args) {
    answers_.emplace_back().head = fmt::format(format, std::forward<Args>(args)...);
  }
  void row(std::string_view label, std::string text) { answers_.back().add(label, std::move(text)); }
  void note(std::string text) { answers_.back().add_note(std::move(text)); }

  /// `12 Softmax`, `20 nodes`
  std::string count_text(const std::vector<NodeId>& nodes) const {
    const ir::OpDef* op = graph_.node(nodes[0]).op;
    bool same = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return graph_.node(node).op == op; });
    return fmt::format("{} {}", nodes.size(), same ? op->name : "nodes");
  }

  const place::BackendCandidates& found() const { return explained_.input.built.backends[backend_]; }
  const ir::Partition& home_of(NodeId node) const { return partition_of(graph_, explained_.found.placement, node); }
  std::string home_text(NodeId node) const {
    const ir::Partition& home = home_of(node);
    return fmt::format("{} in {}", place_text(home), home.name);
  }

  void explain_there(const std::vector<NodeId>& nodes) {
    // The host runs also what its rules do not cover.
    std::vector<NodeId> uncovered;
    for (NodeId node : nodes) {
      if (backend_.is_valid() && home_of(node).matches.empty()) uncovered.push_back(node);
    }
    if (nodes.size() > 1) {
      head("{} run on {}: {}", count_text(nodes), name_, node_list(graph_, nodes));
      if (!uncovered.empty()) note(fmt::format("no rule of {} takes {}", name_, node_list(graph_, uncovered)));
    } else if (uncovered.empty()) {
      head("{} runs on {}; `why` tells more", node_text(graph_, nodes[0]), home_text(nodes[0]));
    } else {
      head("{} runs on {} as a single operator; no rule takes it", node_text(graph_, nodes[0]), home_text(nodes[0]));
      refusals(nodes[0]);
    }
  }

  void refusals(NodeId node) {
    Answer& answer = answers_.back();
    answer.rows = refusal_rows(backend(), misses_of(node), explained_.sources);
    answer.label_width = widest_label(answer.rows, kRuleColumns);
  }

  /// Nodes that failed at the same places of the same rules are one answer, that of the first.
  void explain_refused(const std::vector<NodeId>& nodes) {
    struct Group {
      const ir::OpDef* op;
      std::vector<std::tuple<int, match::Refusal::Kind, int>> misses;  ///< rule, kind, clause
      std::vector<NodeId> nodes;
    };
    std::vector<Group> groups;
    for (NodeId node : nodes) {
      Group group{graph_.node(node).op, {}, {}};
      for (const NearMiss& miss : misses_of(node)) group.misses.emplace_back(miss.rule, miss.kind, miss.clause);
      auto it = std::find_if(groups.begin(), groups.end(),
                             [&](const Group& other) { return other.op == group.op && other.misses == group.misses; });
      if (it == groups.end()) it = groups.insert(groups.end(), std::move(group));
      it->nodes.push_back(node);
    }
    std::string unknown;
    for (const Group& group : groups) {
      const std::vector<NodeId>& same = group.nodes;
      if (group.misses.empty()) {
        runtime::add_to_list(unknown, nodes.size() > 1 ? count_text(same) : std::string(group.op->name));
        continue;
      }
      if (same.size() == 1) {
        head("{} cannot run on {}; it runs on {}", node_text(graph_, same[0]), name_, home_text(same[0]));
      } else {
        head("{} cannot run on {}: {}; of the first:", count_text(same), name_, node_list(graph_, same));
      }
      refusals(same[0]);
    }
    if (unknown.empty()) return;
    std::string where = location_text(backend().span, explained_.sources);
    if (nodes.size() == 1) {
      head("{} cannot run on {}; it runs on {}", node_text(graph_, nodes[0]), name_, home_text(nodes[0]));
      note(fmt::format("no rule has a place for {} ({})", unknown, where));
    } else {
      head("{} cannot run on {}: no rule has a place for them ({})", unknown, name_, where);
    }
  }

  void explain_taken(NodeId node) {
    head("{} may not run on {}: {}", node_text(graph_, node), name_, reasons_.taken_by(node));
  }

  void explain_alternative(NodeId node) {
    Alternative alternative = plan_with(explained_, {node}, name_);
    if (!is_plan(alternative)) {
      head("{} could run on {}, but no placement was found with it there", node_text(graph_, node), name_);
      return note("because " + blame({node}, alternative));
    }
    head("{} could run on {}: the placement would cost {}{}, {}", node_text(graph_, node), name_,
         about_text(alternative), human(alternative.found->predicted), change_text(explained_, alternative));
    row("now", candidate_text(explained_, explained_.input.built, explained_.found.chosen, node));
    row("there", candidate_text(explained_, *alternative.built, alternative.found->chosen, node));
    new_conversions(*alternative.found, node);
    blame_limits_of_choice(node);
    stops(alternative, node);
    near_rules(node);
    if (alternative.found->predicted < explained_.found.predicted) note(why_not_best(explained_));
  }

  /// Each alone, then all at once.
  void explain_alternatives(const std::vector<NodeId>& nodes) {
    constexpr size_t kSearches = 16;
    head("{} could run on {}; the placement of {} would change by", count_text(nodes), name_,
         human(explained_.found.predicted));
    struct Change {
      std::string text;
      std::vector<NodeId> nodes;
    };
    std::vector<Change> changes;
    bool has_less = false;
    auto change_by = [&](const std::vector<NodeId>& moved) {
      Alternative alternative = plan_with(explained_, moved, name_);
      if (!is_plan(alternative)) return "no placement was found: " + blame(moved, alternative);
      has_less |= alternative.found->predicted < explained_.found.predicted;
      return change_text(explained_, alternative);
    };
    size_t searched = std::min(nodes.size(), kSearches);
    for (size_t i = 0; i < searched; ++i) {
      std::string text = change_by({nodes[i]});
      auto it = std::find_if(changes.begin(), changes.end(), [&](const Change& other) { return other.text == text; });
      if (it == changes.end()) it = changes.insert(changes.end(), {text, {}});
      it->nodes.push_back(nodes[i]);
    }
    for (const Change& change : changes) row(node_list(graph_, change.nodes, 2), change.text);
    if (searched < nodes.size()) note(fmt::format("and {} more, not tried alone", nodes.size() - searched));
    row("all together", change_by(nodes));
    if (has_less) note(why_not_best(explained_));
    answers_.back().label_width = widest_label(answers_.back().rows, std::string::npos);
  }

  bool is_plan(const Alternative& alternative) const { return alternative.found && over_memory(alternative).empty(); }

  /// Conversions at the new partition that the plan does not need now; the three most expensive.
  void new_conversions(const search::FoundPlacement& other, NodeId node) {
    const ir::Partition& partition = partition_of(graph_, other.placement, node);
    std::vector<const ir::Conversion*> added;
    for (const ir::Conversion& conversion : other.placement.conversions) {
      auto is_it = [&](const ir::BoundaryValue& value) { return value.value == conversion.value; };
      bool is_here = std::any_of(partition.inputs.begin(), partition.inputs.end(), is_it) ||
                     std::any_of(partition.outputs.begin(), partition.outputs.end(), is_it);
      const auto& before = explained_.found.placement.conversions;
      bool is_old = std::any_of(before.begin(), before.end(), [&](const ir::Conversion& old) {
        return old.value == conversion.value && old.from == conversion.from && old.to == conversion.to;
      });
      if (is_here && !is_old) added.push_back(&conversion);
    }
    std::stable_sort(added.begin(), added.end(), [](const auto* a, const auto* b) { return a->cost > b->cost; });
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < std::min(added.size(), kShown); ++i) {
      const ir::Conversion& conversion = *added[i];
      row(i == 0 ? "needs" : "",
          fmt::format("%{} from {} to {}: {}", graph_.value(conversion.value).name, to_string(conversion.from),
                      to_string(conversion.to), human(conversion.cost)));
    }
  }

  bool fits_without(const std::vector<search::Limit>& limits, const std::vector<NodeId>& nodes) const {
    return plan_without(explained_, limits, nodes, name_).has_value();
  }

  /// Which limit leaves no plan with the nodes there: the one without which there is one.
  std::string blame(const std::vector<NodeId>& nodes, const Alternative& alternative) const {
    if (alternative.found) return "memory, " + over_memory(alternative);
    if (fits_without({{search::LimitKind::MaxPartitions}}, nodes)) return max_partitions_text();
    if (fits_without({{search::LimitKind::Conflicts}}, nodes)) return conflicts_text();
    if (fits_without({{search::LimitKind::MaxPartitions}, {search::LimitKind::Conflicts}}, nodes)) {
      return max_partitions_text() + ", and " + conflicts_text();
    }
    return alternative.why_none;
  }

  std::string max_partitions_text() const {
    if (!backend_.is_valid() || !backend().max_partitions) return "`max partitions` of another backend";
    return fmt::format("`max partitions {}` of {} ({})", *backend().max_partitions, name_,
                       location_text(backend().span, explained_.sources));
  }

  std::string conflicts_text() const {
    std::string enemies;
    const place::Problem& problem = explained_.input.built.problem;
    for (const place::Owner& owner : problem.owners) {
      if (owner.backend != name_) continue;
      for (place::OwnerId enemy : owner.conflicts) {
        const std::string& other = problem.owners[enemy].backend;
        if (enemies.find("`" + other + "`") == std::string::npos) runtime::add_to_list(enemies, "`" + other + "`");
      }
      break;
    }
    return "`conflicts with`: not in one placement with " + enemies;
  }

  /// A node that is elsewhere only because of a limit: without it the search puts it there.
  void blame_limits_of_choice(NodeId node) {
    if (explained_.input.built.spread) return;  // it is not searched again
    const place::Problem& problem = explained_.input.built.problem;
    auto any_owner = [&](auto has) {
      return std::any_of(problem.owners.begin(), problem.owners.end(),
                         [&](const place::Owner& owner) { return owner.backend == name_ && has(owner); });
    };
    auto blame_if = [&](const search::Limit& limit, const std::string& what) {
      std::optional<search::FoundPlacement> free = plan_without(explained_, {limit}, {}, name_);
      if (!free || free->predicted >= explained_.found.predicted) return;
      if (partition_of(graph_, free->placement, node).backend != name_) return;
      row("limit",
          fmt::format("{}: without it this node would be there, the placement {}", what, human(free->predicted)));
    };
    if (any_owner([](const place::Owner& owner) { return owner.max_partitions.has_value(); })) {
      blame_if({search::LimitKind::MaxPartitions}, max_partitions_text());
    }
    if (any_owner([](const place::Owner& owner) { return !owner.conflicts.empty(); })) {
      blame_if({search::LimitKind::Conflicts}, conflicts_text());
    }
    for (const place::MemoryLimit& limit : explained_.input.limits) {
      if (!any_owner([&](const place::Owner& owner) { return owner.instance == limit.instance; })) continue;
      blame_if({search::LimitKind::Memory, limit.instance}, "memory of " + limit.instance);
    }
  }

  /// What keeps the candidate there from being larger.
  void stops(const Alternative& alternative, NodeId node) {
    // Matches that are joined after the search need not grow before it.
    if (!backend_.is_valid() || (backend().policy.join == ir::JoinKind::None && backend().policy.coalesce)) return;
    const place::Problem& problem = alternative.built->problem;
    const std::vector<NodeId>& nodes = problem.candidates[candidate_of(problem, alternative.found->chosen, node)].nodes;
    constexpr size_t kShown = 3;
    std::vector<GrowthStop> all = growth_stops(graph_, backend(), found(), nodes);
    for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
      row(i == 0 ? "grows" : "", fmt::format("not with {}: {} ({})", node_list(graph_, all[i].added, 2), all[i].why,
                                             location_text(backend().policy.span, explained_.sources)));
    }
    if (size_t capped = found().growth.truncated_groups; capped > 0) {
      row(all.empty() ? "grows" : "",
          fmt::format("growth was capped at {} seeds: larger partitions may be missing", capped));
    }
  }

  /// Rules that could have taken more than those that matched.
  void near_rules(NodeId node) {
    if (!backend_.is_valid()) return;
    std::vector<NearMiss> misses = misses_of(node);
    std::erase_if(misses, [](const NearMiss& miss) { return !miss.is_close(); });
    std::string_view label = "almost";
    const std::vector<AnswerRow> rules = refusal_rows(backend(), misses, explained_.sources);
    const size_t width = widest_label(rules, kRuleColumns);
    for (const AnswerRow& rule : rules) {
      row(label, fmt::format("{:<{}}  {}", rule.label, width, rule.text));
      label = "";
    }
  }

  const ExplainedPlacement& explained_;
  const ir::Graph& graph_;
  std::string name_;
  place::BackendId backend_;  ///< none: not active
  BackendReasons reasons_;
  std::vector<Answer> answers_;
};

}  // namespace

std::vector<Answer> why_not(const ExplainedPlacement& explained, const std::vector<NodeId>& nodes,
                            const std::string& backend) {
  return Answerer(explained, backend).answer(nodes);
}

std::string short_reason(const ExplainedPlacement& explained, NodeId node, const std::string& backend) {
  return BackendReasons(explained, backend).short_reason(node);
}

}  // namespace collage::report
