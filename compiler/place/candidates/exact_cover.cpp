// SPDX-License-Identifier: Apache-2.0
// Exact cover by backtracking on the first uncovered node, with the cost of the best cover so far as bound. Units that
// disagree with those chosen before about how a value lies are not tried.
//
// Rules that are named are first taken in the order in which they are written, as saved placements have them: rule k
// for the k-th unit by first node, in the wanted formats. A cover of that kind is the answer; only without one are all
// others tried.
#include "compiler/place/candidates/exact_cover.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace collage::place {
namespace {

using ir::Graph;
using ir::NodeId;

/// Sums of the same costs in another order differ by less.
constexpr double kNoGain = 1 - 1e-12;

class CoverSearch {
 public:
  CoverSearch(const Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
              const CoverQuestion& question)
      : graph_(graph), found_(found), question_(question), nodes_(question.nodes) {
    for (const std::string& rule : question.rules) ++rules_left_[rule];
    for (UnitId u : found.units.ids()) {
      const Unit& unit = found.units[u];
      if (!std::includes(nodes_.begin(), nodes_.end(), unit.nodes.begin(), unit.nodes.end())) continue;
      const auto& match = found.matches[unit.match];
      rule_of_[u] = match::name_of(backend.rules[static_cast<size_t>(match.rule)], match);
      starting_at_[unit.nodes.front()].push_back(u);
      auto [at, is_new] = least_cost_.try_emplace(rule_of_[u], unit.cost);
      if (!is_new) at->second = std::min(at->second, unit.cost);
    }
    for (const std::string& rule : question.rules) rest_ += least_cost_[rule];
    // Large units first: the written partition most likely has few.
    for (auto& [node, units] : starting_at_) {
      std::stable_sort(units.begin(), units.end(),
                       [&](UnitId a, UnitId b) { return found.units[a].nodes.size() > found.units[b].nodes.size(); });
    }
  }

  CoverAnswer run() {
    if (!question_.rules.empty()) {
      keeps_order_ = true;
      cover_from(0);
      if (best_) return {std::move(best_), false};
      keeps_order_ = false;
      steps_ = 0;
    }
    cover_from(0);
    return {std::move(best_), steps_ > kMaxCoverSteps};
  }

 private:
  /// The first uncovered node is the first node of the unit that covers it: all before it are covered.
  void cover_from(size_t next) {
    while (next < nodes_.size() && covered_.count(nodes_[next]) > 0) ++next;
    if (next == nodes_.size()) return judge();
    for (UnitId u : choices(nodes_[next])) {
      if (++steps_ > kMaxCoverSteps || (keeps_order_ && best_)) return;
      if (can_take(u)) {
        take(u);
        cover_from(next + 1);
        give_back(u);
      }
    }
  }

  /// Units that start at the node: those of the rule that the question names at this place first.
  std::vector<UnitId> choices(NodeId node) {
    auto starting = starting_at_.find(node);
    if (starting == starting_at_.end()) return {};
    std::vector<UnitId> units = starting->second;
    if (chosen_.size() >= question_.rules.size()) return keeps_order_ ? std::vector<UnitId>() : units;
    const std::string& named = question_.rules[chosen_.size()];
    const auto others =
        std::stable_partition(units.begin(), units.end(), [&](UnitId u) { return rule_of_[u] == named; });
    if (!keeps_order_) return units;
    units.erase(others, units.end());
    std::erase_if(units,
                  [&](UnitId u) { return !is_wanted(found_.units[u].reads) || !is_wanted(found_.units[u].writes); });
    std::stable_sort(units.begin(), units.end(),
                     [&](UnitId x, UnitId y) { return found_.units[x].cost < found_.units[y].cost; });
    return units;
  }

  /// No value in the list is wanted in another layout.
  bool is_wanted(const std::vector<ValueLayout>& list) const {
    return std::all_of(list.begin(), list.end(), [&](const ValueLayout& item) {
      return std::none_of(question_.wanted.begin(), question_.wanted.end(), [&](const ValueLayout& want) {
        return want.value == item.value && want.layout != item.layout;
      });
    });
  }

  /// Every value in the list lies as the units so far have it.
  bool agrees(const std::vector<ValueLayout>& list) const {
    return std::all_of(list.begin(), list.end(), [&](const ValueLayout& item) {
      const auto known = layouts_.find(item.value);
      return known == layouts_.end() || known->second.layout == item.layout;
    });
  }

  bool can_take(UnitId u) {
    const Unit& unit = found_.units[u];
    if (!question_.rules.empty() && rules_left_[rule_of_[u]] == 0) return false;
    if (!agrees(unit.reads) || !agrees(unit.writes)) return false;
    if (best_ && best_->fits_formats && bound_with(u) >= best_->members.cost * kNoGain) return false;
    return std::none_of(unit.nodes.begin(), unit.nodes.end(), [&](NodeId node) { return covered_.count(node) > 0; });
  }

  /// Least cost of a cover that takes the unit next: that of the units so far, and of the rules that are left the
  /// cheapest anywhere.
  double bound_with(UnitId u) {
    const double rest = question_.rules.empty() ? 0 : rest_ - least_cost_[rule_of_[u]];
    return cost_ + found_.units[u].cost + rest;
  }

  void take(UnitId u) {
    const Unit& unit = found_.units[u];
    --rules_left_[rule_of_[u]];
    covered_.insert(unit.nodes.begin(), unit.nodes.end());
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const ValueLayout& item : *list) {
        auto [known, is_new] = layouts_.try_emplace(item.value, UsedLayout{item.layout, 0});
        ++known->second.uses;
      }
    }
    chosen_.push_back(u);
    costs_before_.emplace_back(cost_, rest_);
    cost_ += unit.cost;
    rest_ -= least_cost_[rule_of_[u]];
  }

  void give_back(UnitId u) {
    ++rules_left_[rule_of_[u]];
    const Unit& unit = found_.units[u];
    for (NodeId node : unit.nodes) covered_.erase(node);
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const ValueLayout& item : *list) {
        const auto known = layouts_.find(item.value);
        if (--known->second.uses == 0) layouts_.erase(known);
      }
    }
    chosen_.pop_back();
    std::tie(cost_, rest_) = costs_before_.back();
    costs_before_.pop_back();
  }

  void judge() {
    bool uses_all = question_.rules.empty() || std::all_of(rules_left_.begin(), rules_left_.end(),
                                                           [](const auto& rule) { return rule.second == 0; });
    Cover cover;
    if (!uses_all || !can_run()) return;
    add_boundary(&cover.members);
    cover.members.nodes = nodes_;
    cover.members.units = chosen_;
    cover.members.cost = cost_;
    cover.fits_formats = is_wanted(cover.members.reads) && is_wanted(cover.members.writes);
    bool is_better = !best_ || (cover.fits_formats && !best_->fits_formats) ||
                     (cover.fits_formats == best_->fits_formats && cover.members.cost < best_->members.cost);
    if (is_better) best_ = std::move(cover);
  }

  void add_boundary(UnitUnion* members) const {
    std::vector<ir::ValueId> reads = ir::boundary_inputs(graph_, nodes_);
    std::sort(reads.begin(), reads.end());
    for (ir::ValueId value : reads) members->reads.push_back({value, layouts_.at(value).layout});
    for (ir::ValueId value : ir::boundary_outputs(graph_, nodes_))
      members->writes.push_back({value, layouts_.at(value).layout});
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

  /// How a value lies for the units so far, and in how many places they name it.
  struct UsedLayout {
    LayoutId layout = 0;
    int uses = 0;
  };

  const Graph& graph_;
  const BackendCandidates& found_;
  const CoverQuestion& question_;
  const std::vector<NodeId>& nodes_;
  std::map<std::string, int> rules_left_;  ///< of those that the question names
  std::map<UnitId, std::string> rule_of_;
  std::map<std::string, double> least_cost_;  ///< of a rule's units
  std::map<NodeId, std::vector<UnitId>> starting_at_;
  std::set<NodeId> covered_;
  std::map<ir::ValueId, UsedLayout> layouts_;
  bool keeps_order_ = false;  ///< rule k of the question is the k-th unit's
  std::vector<UnitId> chosen_;
  double cost_ = 0;  ///< of the chosen units
  double rest_ = 0;  ///< of the rules that are left, each at its cheapest
  std::vector<std::pair<double, double>> costs_before_;
  size_t steps_ = 0;
  std::optional<Cover> best_;
};

}  // namespace

CoverAnswer find_cover(const Graph& graph, const ir::Backend& backend, const BackendCandidates& found,
                       const CoverQuestion& question) {
  return CoverSearch(graph, backend, found, question).run();
}

}  // namespace collage::place
