// SPDX-License-Identifier: Apache-2.0
// Formats at the boundary of a match: what its rule's `format` clauses say of the captures there; elsewhere the rule's
// `_`, or else the backend's default. `any` tries every layout in play that the value can have; `as x` follows.
//
//     format x: any, y: as x        =>   {x plain, y plain}  {x NHWC, y NHWC}   if some backend names NHWC
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/place/candidates/candidates.h"
#include "runtime/core/layout.h"

namespace collage::place {
namespace {

using ir::Graph;
using ir::ValueId;
using match::Match;
using match::Refusal;
using runtime::Result;
using runtime::Status;
using runtime::Storage;

/// More choices than this for one match are not tried; growth reports it.
constexpr size_t kMaxChoices = 16;

class FormatChooser {
 public:
  FormatChooser(const Graph& graph, const ActiveBackend& active, const LayoutTable& layouts, MatchId match_id,
                const Match& match)
      : graph_(graph),
        backend_(*active.backend),
        allowed_(active.allowed),
        layouts_(layouts),
        rule_(backend_.rules[static_cast<size_t>(match.rule)]),
        formats_(rule_.kernels[static_cast<size_t>(match.kernel)].formats),
        match_id_(match_id),
        match_(match),
        reads_(ir::boundary_inputs(graph, match.nodes)),
        writes_(match.results) {}

  /// Appends a unit per choice. Fails if there is none.
  Status run(Table<UnitId, Unit>* units, bool* truncated) {
    // Clauses that say `any`, and layouts that their values can have.
    std::vector<std::pair<const ir::FormatClause*, std::vector<LayoutId>>> open;
    for (const ir::FormatClause& clause : formats_) {
      if (!clause.any || clause.same_as >= 0 || !at_boundary(clause.capture)) continue;
      std::vector<LayoutId> possible;
      const std::optional<Storage> storage = storage_of(clause, value_of(clause.capture));
      for (LayoutId layout : layouts_.ids()) {
        const ValueId value = value_of(clause.capture);
        if (layouts_.at(layout).storage != storage || !exists(layout, value)) continue;
        if (canonical(layout, value) == layout) possible.push_back(layout);
      }
      open.emplace_back(&clause, std::move(possible));
    }
    size_t before = units->size();
    std::string why;
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
      if (Result<Unit> unit = make_unit()) {
        units->push_back(std::move(*unit));
      } else if (why.empty()) {
        why = unit.message();
      }
    }
    return units->size() > before ? Status::ok() : Status::error(std::move(why));
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

  bool exists(LayoutId layout, ValueId value) const {
    return layout.is_valid() &&
           runtime::layout_permutation(layouts_.at(layout).layout, graph_.value(value).type.shape.size()).has_value();
  }

  /// A default that the rank does not have is the plain layout; one of a dtype is for floats. With `_: as x` it is that
  /// of x, unless x itself asks for its default (`follows` is false): a constant has no boundary, and so no choice.
  LayoutId default_layout(ValueId value, bool follows = true) const {
    const ir::FormatClause* others = of_others();
    if (follows && others != nullptr && others->same_as >= 0) {
      const LayoutId followed = canonical(layout_of_clause(others, false), value);
      return exists(followed, value) ? followed : find_layout("plain", default_storage(value), value);
    }
    const bool has_layout = others != nullptr && others->layout;
    const LayoutId layout =
        find_layout(has_layout ? *others->layout : backend_.default_layout, default_storage(value), value);
    return exists(layout, value) ? layout : find_layout("plain", default_storage(value), value);
  }

  std::optional<Storage> default_storage(ValueId value) const {
    const ir::FormatClause* others = of_others();
    const runtime::DType dtype = graph_.value(value).type.dtype;
    const std::optional<Storage>& storage =
        others != nullptr && others->storage ? others->storage : backend_.default_storage;
    return runtime::is_float(dtype) ? runtime::canonical_storage(dtype, storage) : std::nullopt;
  }

  /// The clause `_`, or null.
  const ir::FormatClause* of_others() const {
    const auto found = std::find_if(formats_.begin(), formats_.end(),
                                    [](const ir::FormatClause& clause) { return clause.capture < 0; });
    return found == formats_.end() ? nullptr : &*found;
  }

  std::optional<Storage> storage_of(const ir::FormatClause& clause, ValueId value) const {
    if (!clause.storage) return default_storage(value);
    return runtime::canonical_storage(graph_.value(value).type.dtype, clause.storage);
  }

  LayoutId find_layout(const std::string& layout, const std::optional<Storage>& storage, ValueId value) const {
    return canonical(layouts_.find({runtime::layout_of_rank(layout, graph_.value(value).type.shape.size()), storage}),
                     value);
  }

  /// The layout that a clause asks for. `as x` follows x's clauses; a cycle of them ends after as many steps as there
  /// are clauses.
  LayoutId layout_of_clause(const ir::FormatClause* clause, bool follows = true) const {
    ValueId value = value_of(clause->capture);
    for (size_t step = 0; step <= formats_.size(); ++step) {
      if (clause->same_as < 0) {
        auto chosen = chosen_.find(clause);
        if (chosen != chosen_.end()) return chosen->second;
        if (!clause->layout && !clause->storage) return default_layout(value, follows);
        if (clause->layout) return find_layout(*clause->layout, storage_of(*clause, value), value);
        const LayoutId layout = find_layout(backend_.default_layout, storage_of(*clause, value), value);
        return exists(layout, value) ? layout : find_layout("plain", storage_of(*clause, value), value);
      }
      value = value_of(clause->same_as);
      if (!value.is_valid()) return 0;
      auto next = std::find_if(formats_.begin(), formats_.end(),
                               [&](const ir::FormatClause& other) { return other.capture == clause->same_as; });
      if (next == formats_.end()) return default_layout(value, follows);
      clause = &*next;
    }
    return 0;
  }

  /// `layout` as `value` can have it: one spelling of equal ones, and another value's storage, by `as x`, may be its
  /// own dtype.
  LayoutId canonical(LayoutId layout, ValueId value) const {
    if (!layout.is_valid()) return layout;
    TensorForm own = layouts_.at(layout);
    if (exists(layout, value) && runtime::lies_plainly(own.layout, graph_.value(value).type.shape)) {
      own.layout = runtime::kPlainLayout;
    }
    own.storage = runtime::canonical_storage(graph_.value(value).type.dtype, own.storage);
    return layouts_.find(own);
  }

  /// Why the value cannot lie so; empty if it can.
  std::string obstacle(LayoutId layout, ValueId value) const {
    const ir::Value& described = graph_.value(value);
    const std::optional<Storage>& storage = layouts_.at(layout).storage;
    if (!storage) return "";
    if (std::string why = runtime::storage_mismatch(described.type.dtype, *storage); !why.empty()) {
      return fmt::format("`%{}` {}", described.name, why);
    }
    if (!runtime::is_lossy(described.type.dtype, *storage) || allowed_.contains(storage->type)) return "";
    return fmt::format("needs `%{}` as {}, which `--allow {}` permits", described.name, runtime::to_string(*storage),
                       runtime::name_of(storage->type));
  }

  /// Why the rule may not round what it computes; empty if it may.
  std::string obstacle_to_precision() const {
    if (!rule_.precision || allowed_.contains(*rule_.precision)) return "";
    for (ir::NodeId node : match_.nodes) {
      for (ValueId result : graph_.node(node).outputs) {
        if (!result.is_valid()) continue;
        const ir::Value& value = graph_.value(result);
        if (!runtime::is_float(value.type.dtype) || !runtime::is_lossy(value.type.dtype, {*rule_.precision})) continue;
        return fmt::format("computes `%{}` in {}, which `--allow {}` permits", value.name,
                           runtime::name_of(*rule_.precision), runtime::name_of(*rule_.precision));
      }
    }
    return "";
  }

  /// The rule's number, where it names a generator of host code: which of several for the same nodes is the fastest,
  /// only a measurement tells.
  int generator() const {
    const ir::Kernel& kernel = rule_.kernels[static_cast<size_t>(match_.kernel)];
    const bool names_one = kernel.lowering.kind == ir::LoweringKind::HostJit && kernel.lowering.span.is_valid();
    return names_one && (backend_.policy.measured || kernel.measured) ? match_.rule + 1 : 0;
  }

  Result<Unit> make_unit() const {
    if (std::string why = obstacle_to_precision(); !why.empty()) return Status::error(std::move(why));
    std::map<ValueId, LayoutId> layouts;
    for (const ir::FormatClause& clause : formats_) {
      if (!at_boundary(clause.capture)) continue;
      ValueId value = value_of(clause.capture);
      const LayoutId layout = canonical(layout_of_clause(&clause), value);
      if (!exists(layout, value)) {
        return Status::error(fmt::format(
            "`%{}` has {} dimensions, layout {} does not exist for it", graph_.value(value).name,
            graph_.value(value).type.shape.size(),
            layout.is_valid() ? layouts_.at(layout).layout : clause.layout.value_or(backend_.default_layout)));
      }
      auto [at, is_new] = layouts.emplace(value, layout);
      if (!is_new && at->second != layout) {
        return Status::error(fmt::format("`%{}` is wanted in layout {} and in layout {}", graph_.value(value).name,
                                         layouts_.name(at->second), layouts_.name(layout)));
      }
    }
    Unit unit;
    unit.nodes = match_.nodes;
    unit.root = match_.root;
    unit.cost = match_.cost;
    unit.match = match_id_;
    unit.generator = generator();
    auto layout_of = [&](ValueId value) {
      auto at = layouts.find(value);
      return ValueLayout{value, at == layouts.end() ? default_layout(value) : at->second};
    };
    for (ValueId value : reads_) unit.reads.push_back(layout_of(value));
    for (ValueId value : writes_) unit.writes.push_back(layout_of(value));
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const ValueLayout& item : *list) {
        if (std::string why = obstacle(item.layout, item.value); !why.empty()) return Status::error(std::move(why));
      }
    }
    std::sort(unit.reads.begin(), unit.reads.end());
    std::sort(unit.writes.begin(), unit.writes.end());
    return unit;
  }

  const Graph& graph_;
  const ir::Backend& backend_;
  const std::set<runtime::StorageType>& allowed_;
  const LayoutTable& layouts_;
  const ir::Rule& rule_;
  const std::vector<ir::FormatClause>& formats_;
  MatchId match_id_;
  const Match& match_;
  std::vector<ValueId> reads_;
  std::vector<ValueId> writes_;
  std::map<const ir::FormatClause*, LayoutId> chosen_;  ///< clause that says `any` -> layout tried
};

}  // namespace

void make_units(const Graph& graph, const ActiveBackend& active, const LayoutTable& layouts, BackendCandidates* found) {
  for (MatchId m : found->matches.ids()) {
    const Match& match = found->matches[m];
    bool truncated = false;
    const Status made = FormatChooser(graph, active, layouts, m, match).run(&found->units, &truncated);
    if (!made)
      found->refusals.push_back({Refusal::Kind::Format, match.rule, match.root, match.nodes, -1, made.message()});
    if (truncated) ++found->growth.truncated_formats;
  }
}

}  // namespace collage::place
