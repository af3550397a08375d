// SPDX-License-Identifier: Apache-2.0
// A partition that somebody wrote, taken apart into matches: exact cover by backtracking on the first uncovered node.
#include "compiler/place/candidates/exact_cover.h"

#include <algorithm>
#include <map>
#include <set>

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;

/// Choices tried for one partition. Beyond, the best so far counts.
constexpr size_t kMaxSteps = 50'000;

class CoverSearch {
 public:
  CoverSearch(const Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
              const std::vector<NodeId>& nodes, const std::vector<std::string>& rules,
              const std::vector<ValueLayout>& wanted)
      : graph_(graph), found_(found), nodes_(nodes), wanted_(wanted), names_rules_(!rules.empty()) {
    for (const std::string& rule : rules) ++rules_left_[rule];
    for (size_t u = 0; u < found.units.size(); ++u) {
      const Unit& unit = found.units[u];
      if (!std::includes(nodes.begin(), nodes.end(), unit.nodes.begin(), unit.nodes.end())) continue;
      const auto& match = found.matches[unit.match];
      rule_of_[u] = match::name_of(backend.rules[static_cast<size_t>(match.rule)], match);
      starting_at_[unit.nodes.front()].push_back(u);
    }
    // Large units first: the written partition most likely has few.
    for (auto& [node, units] : starting_at_) {
      std::stable_sort(units.begin(), units.end(),
                       [&](size_t a, size_t b) { return found.units[a].nodes.size() > found.units[b].nodes.size(); });
    }
  }

  std::optional<Cover> run() {
    cover_from(0);
    return std::move(best_);
  }

 private:
  /// The first uncovered node is the first node of the unit that covers it: all before it are covered.
  void cover_from(size_t next) {
    while (next < nodes_.size() && covered_.count(nodes_[next]) > 0) ++next;
    if (next == nodes_.size()) return judge();
    auto units = starting_at_.find(nodes_[next]);
    if (units == starting_at_.end()) return;
    for (size_t u : units->second) {
      if (++steps_ > kMaxSteps) return;
      const Unit& unit = found_.units[u];
      bool is_free =
          std::none_of(unit.nodes.begin(), unit.nodes.end(), [&](NodeId node) { return covered_.count(node) > 0; });
      int* left = names_rules_ ? &rules_left_[rule_of_[u]] : nullptr;
      if (!is_free || (left != nullptr && *left == 0)) continue;
      if (left != nullptr) --*left;
      covered_.insert(unit.nodes.begin(), unit.nodes.end());
      chosen_.push_back(u);
      cover_from(next + 1);
      chosen_.pop_back();
      for (NodeId node : unit.nodes) covered_.erase(node);
      if (left != nullptr) ++*left;
    }
  }

  void judge() {
    bool uses_all =
        std::all_of(rules_left_.begin(), rules_left_.end(), [](const auto& rule) { return rule.second == 0; });
    Cover cover;
    if (!uses_all || !merge_formats(&cover.members) || !can_run()) return;
    cover.members.nodes = nodes_;
    cover.members.units = chosen_;
    for (size_t u : chosen_) cover.members.cost += found_.units[u].cost;
    auto fits = [&](const std::vector<ValueLayout>& list) {
      return std::all_of(list.begin(), list.end(), [&](const ValueLayout& item) {
        return std::none_of(wanted_.begin(), wanted_.end(), [&](const ValueLayout& want) {
          return want.value == item.value && want.layout != item.layout;
        });
      });
    };
    cover.fits_formats = fits(cover.members.reads) && fits(cover.members.writes);
    bool is_better = !best_ || (cover.fits_formats && !best_->fits_formats) ||
                     (cover.fits_formats == best_->fits_formats && cover.members.cost < best_->members.cost);
    if (is_better) best_ = std::move(cover);
  }

  bool merge_formats(UnitUnion* members) const {
    std::map<ir::ValueId, int> layouts;
    auto agree = [&](const ValueLayout& item) {
      return layouts.emplace(item.value, item.layout).first->second == item.layout;
    };
    for (size_t u : chosen_) {
      const Unit& unit = found_.units[u];
      if (!std::all_of(unit.reads.begin(), unit.reads.end(), agree)) return false;
      if (!std::all_of(unit.writes.begin(), unit.writes.end(), agree)) return false;
    }
    std::vector<ir::ValueId> reads = ir::boundary_inputs(graph_, nodes_);
    std::sort(reads.begin(), reads.end());
    for (ir::ValueId value : reads) members->reads.push_back({value, layouts.at(value)});
    for (ir::ValueId value : ir::boundary_outputs(graph_, nodes_))
      members->writes.push_back({value, layouts.at(value)});
    return true;
  }

  /// Some order of the chosen units has every producer before its readers.
  bool can_run() const {
    std::map<NodeId, size_t> unit_of;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      for (NodeId node : found_.units[chosen_[i]].nodes) unit_of[node] = i;
    }
    std::vector<bool> done(chosen_.size());
    for (size_t ran = 0; ran < chosen_.size();) {
      size_t before = ran;
      for (size_t i = 0; i < chosen_.size(); ++i) {
        const auto& reads = found_.units[chosen_[i]].reads;
        bool is_ready = !done[i] && std::all_of(reads.begin(), reads.end(), [&](const ValueLayout& read) {
          auto producer = unit_of.find(graph_.value(read.value).producer);
          return producer == unit_of.end() || done[producer->second];
        });
        if (!is_ready) continue;
        done[i] = true;
        ++ran;
      }
      if (ran == before) return false;
    }
    return true;
  }

  const Graph& graph_;
  const BackendCandidates& found_;
  const std::vector<NodeId>& nodes_;
  const std::vector<ValueLayout>& wanted_;
  bool names_rules_;
  std::map<std::string, int> rules_left_;
  std::map<size_t, std::string> rule_of_;
  std::map<NodeId, std::vector<size_t>> starting_at_;
  std::set<NodeId> covered_;
  std::vector<size_t> chosen_;
  size_t steps_ = 0;
  std::optional<Cover> best_;
};

}  // namespace

std::optional<Cover> find_cover(const Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
                                const std::vector<NodeId>& nodes, const std::vector<std::string>& rules,
                                const std::vector<ValueLayout>& wanted) {
  return CoverSearch(graph, backend, found, nodes, rules, wanted).run();
}

}  // namespace collage::place
