// SPDX-License-Identifier: Apache-2.0
// Formats at the boundary of a match: what its rule's `format` clauses say of the captures there, the backend's default
// elsewhere. `any` tries every layout in play that the value can have; `as x` follows.
//
//     format x: any, y: as x        =>   {x plain, y plain}  {x NHWC, y NHWC}   if some backend names NHWC
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/place/candidates.h"
#include "runtime/core/layout.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::ValueId;
using match::Match;
using match::Refusal;

/// More choices than this for one match are not tried; growth reports it.
constexpr size_t kMaxChoices = 16;
/// A layout that the rank at hand does not have.
constexpr int kNoLayout = -1;

class FormatChooser {
 public:
  FormatChooser(const Graph& graph, const ir::Backend& backend, const LayoutTable& layouts, size_t match_index,
                const Match& match)
      : graph_(graph),
        backend_(backend),
        layouts_(layouts),
        rule_(backend.rules[static_cast<size_t>(match.rule)]),
        match_index_(match_index),
        match_(match),
        reads_(ir::boundary_inputs(graph, match.nodes)),
        writes_(match.results) {}

  /// Appends a unit per choice. False, and why, if there is none.
  bool run(std::vector<Unit>* units, bool* truncated, std::string* why) {
    std::vector<std::pair<size_t, std::vector<int>>>
        open;  // clauses that say `any`, and layouts that their values can have
    for (size_t i = 0; i < rule_.formats.size(); ++i) {
      const ir::FormatClause& clause = rule_.formats[i];
      if (!clause.any || clause.same_as >= 0 || !at_boundary(clause.capture)) continue;
      std::vector<int> possible;
      for (int layout = 0; layout < static_cast<int>(layouts_.size()); ++layout) {
        if (exists(layout, value_of(clause.capture))) possible.push_back(layout);
      }
      open.emplace_back(i, std::move(possible));
    }
    size_t before = units->size();
    size_t choices = 1;
    for (size_t i = 0; i < open.size() && choices <= kMaxChoices; ++i) choices *= open[i].second.size();
    *truncated = choices > kMaxChoices;
    for (size_t choice = 0; choice < std::min(choices, kMaxChoices); ++choice) {
      chosen_.clear();
      size_t rest = choice;
      for (const auto& [clause, possible] : open) {
        chosen_[clause] = possible[rest % possible.size()];
        rest /= possible.size();
      }
      std::string problem;
      if (std::optional<Unit> unit = make_unit(&problem)) {
        units->push_back(std::move(*unit));
      } else if (why->empty()) {
        *why = problem;
      }
    }
    return units->size() > before;
  }

 private:
  ValueId value_of(int capture) const {
    return capture < 0 ? ValueId() : match_.bindings[static_cast<size_t>(capture)].value;
  }

  bool at_boundary(int capture) const {
    ValueId value = value_of(capture);
    return value.is_valid() && (std::find(reads_.begin(), reads_.end(), value) != reads_.end() ||
                                std::find(writes_.begin(), writes_.end(), value) != writes_.end());
  }

  bool exists(int layout, ValueId value) const {
    return layout != kNoLayout &&
           runtime::layout_permutation(layouts_.name(layout), graph_.value(value).type.shape.size()).has_value();
  }

  int default_layout(ValueId value) const {
    int layout = index_of(backend_.default_layout, value);
    return exists(layout, value) ? layout : 0;
  }

  int index_of(const std::string& layout, ValueId value) const {
    std::string canonical = runtime::layout_of_rank(layout, graph_.value(value).type.shape.size());
    for (size_t i = 0; i < layouts_.size(); ++i) {
      if (layouts_.name(static_cast<int>(i)) == canonical) return static_cast<int>(i);
    }
    return kNoLayout;
  }

  /// What clause `i` asks for. `as x` follows x's clauses; a circle of them ends after as many steps as there are
  /// clauses.
  int layout_of_clause(size_t i) const {
    const ir::FormatClause* clause = &rule_.formats[i];
    ValueId value = value_of(clause->capture);
    for (size_t step = 0; step <= rule_.formats.size(); ++step) {
      if (clause->same_as < 0) {
        auto chosen = chosen_.find(i);
        if (chosen != chosen_.end()) return chosen->second;
        return clause->any ? default_layout(value) : index_of(clause->layout, value);
      }
      value = value_of(clause->same_as);
      if (!value.is_valid()) return 0;
      auto next = std::find_if(rule_.formats.begin(), rule_.formats.end(),
                               [&](const ir::FormatClause& other) { return other.capture == clause->same_as; });
      if (next == rule_.formats.end()) return default_layout(value);
      i = static_cast<size_t>(next - rule_.formats.begin());
      clause = &*next;
    }
    return 0;
  }

  std::optional<Unit> make_unit(std::string* why) const {
    std::map<ValueId, int> layouts;
    for (size_t i = 0; i < rule_.formats.size(); ++i) {
      int capture = rule_.formats[i].capture;
      if (!at_boundary(capture)) continue;
      ValueId value = value_of(capture);
      int layout = layout_of_clause(i);
      if (!exists(layout, value)) {
        *why = fmt::format("`%{}` has {} dimensions, layout {} does not exist for it", graph_.value(value).name,
                           graph_.value(value).type.shape.size(),
                           layout == kNoLayout ? rule_.formats[i].layout : layouts_.name(layout));
        return std::nullopt;
      }
      auto [at, is_new] = layouts.emplace(value, layout);
      if (!is_new && at->second != layout) {
        *why = fmt::format("`%{}` is wanted in layout {} and in layout {}", graph_.value(value).name,
                           layouts_.name(at->second), layouts_.name(layout));
        return std::nullopt;
      }
    }
    Unit unit;
    unit.nodes = match_.nodes;
    unit.root = match_.root;
    unit.cost = match_.cost;
    unit.match = match_index_;
    auto layout_of = [&](ValueId value) {
      auto at = layouts.find(value);
      return ValueLayout{value, at == layouts.end() ? default_layout(value) : at->second};
    };
    for (ValueId value : reads_) unit.reads.push_back(layout_of(value));
    for (ValueId value : writes_) unit.writes.push_back(layout_of(value));
    std::sort(unit.reads.begin(), unit.reads.end());
    std::sort(unit.writes.begin(), unit.writes.end());
    return unit;
  }

  const Graph& graph_;
  const ir::Backend& backend_;
  const LayoutTable& layouts_;
  const ir::Rule& rule_;
  size_t match_index_;
  const Match& match_;
  std::vector<ValueId> reads_;
  std::vector<ValueId> writes_;
  std::map<size_t, int> chosen_;  ///< clause that says `any` -> layout tried
};

}  // namespace

int LayoutTable::intern(const std::string& layout) {
  if (layout == runtime::kChannelsLast) {
    for (size_t rank = 3; rank <= 5; ++rank) intern(runtime::layout_of_rank(layout, rank));
    return 0;
  }
  std::string canonical = runtime::canonical_layout(layout);
  auto at = std::find(names_.begin(), names_.end(), canonical);
  if (at == names_.end()) at = names_.insert(names_.end(), canonical);
  return static_cast<int>(at - names_.begin());
}

LayoutTable layouts_in_play(const std::vector<ActiveBackend>& backends) {
  LayoutTable table;
  for (const ActiveBackend& active : backends) {
    table.intern(active.backend->default_layout);
    for (const ir::Rule& rule : active.backend->rules) {
      for (const ir::FormatClause& clause : rule.formats) {
        if (!clause.any && clause.same_as < 0) table.intern(clause.layout);
      }
    }
  }
  return table;
}

void make_units(const Graph& graph, const ir::Backend& backend, const LayoutTable& layouts, BackendCandidates* found) {
  for (size_t m = 0; m < found->matches.size(); ++m) {
    const Match& match = found->matches[m];
    bool truncated = false;
    std::string why;
    if (!FormatChooser(graph, backend, layouts, m, match).run(&found->units, &truncated, &why)) {
      found->refusals.push_back({Refusal::Kind::Format, match.rule, match.root, match.nodes, -1, why});
    }
    if (truncated) ++found->growth.truncated_formats;
  }
}

}  // namespace collage::place
