// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/build/measure_lazily.h"

#include <map>

#include "compiler/place/build/measure_candidates.h"
#include "compiler/place/build/measure_conversions.h"
#include "compiler/place/costs/lazy_costs.h"

namespace collage::place {
namespace {

using ir::Graph;

class LazyMeasurer {
 public:
  explicit LazyMeasurer(ProblemBuilder& builder)
      : builder_(builder),
        graph_(builder.graph),
        costs_(*builder.options.costs),
        lazy_(*builder.options.lazy),
        built_(builder.built) {
    for (const ActiveBackend& active : builder.backends) backends_[active.backend->name] = active.backend;
  }

  bool run() {
    TransientFailures failures;
    for (bool is_finished = false; !is_finished;) {
      if (!ask_programs(&failures)) return false;
      if (!settle_known(&failures)) return false;
      builder_.convert();
      collect();
      const LazyOutcome outcome = measure_best_plans(
          &built_.problem, &open_, [&](const Problem&, bool is_probe) { return lazy_.solve(built_, is_probe); },
          [&](const std::vector<OpenCostId>& items) { return ask(items); });
      if (costs_.is_stopped()) return false;
      built_.lazy.rounds += outcome.rounds;
      built_.lazy.below += outcome.below;
      built_.lazy.could_save = outcome.could_save;
      is_finished = outcome.finished;
      if (!outcome.finished && outcome.asked == 0) is_finished = measure_all();
    }
    for (CandidateId c : built_.candidate_ids()) {
      const OpenCostId item = open_.of_candidate[c];
      CandidateOrigin& origin = built_.origin(c);
      if (!origin.unmeasured || !item.is_valid() || !open_.items[item].cost) continue;
      origin.unmeasured = false;
      origin.spread = spreads_[origin.measurement];
    }
    for (const OpenCost& item : open_.items) built_.lazy.not_needed += item.cost ? 0 : 1;
    report(failures, builder_.diags);
    return true;
  }

 private:
  std::vector<KnownCost> look_up(const std::vector<CandidateId>& candidates) {
    std::vector<ir::Partition> partitions;
    for (CandidateId c : candidates) partitions.push_back(candidate_partition(graph_, built_, c));
    return costs_.look_up(graph_, partitions);
  }

  /// Programs of backends are asked for all costs: nothing bounds what they may answer.
  bool ask_programs(TransientFailures* failures) {
    for (;;) {
      std::vector<CandidateId> asked = unmeasured_candidates(built_);
      std::erase_if(asked, [&](CandidateId c) {
        const BackendId backend = built_.origin(c).backend;
        return !backend.is_valid() || builder_.backends[backend].backend->cost_program.empty();
      });
      if (asked.empty()) return true;
      if (!measure_candidates(builder_, asked, failures) || !builder_.complete()) return false;
    }
  }

  /// Uses what is known and removes what is known to fail, until no new candidate has stepped in.
  bool settle_known(TransientFailures* failures) {
    for (;;) {
      const std::vector<CandidateId> unmeasured = unmeasured_candidates(built_);
      const std::vector<KnownCost> found = look_up(unmeasured);
      std::vector<CandidateId> known;
      for (size_t u = 0; u < unmeasured.size(); ++u) {
        built_.origin(unmeasured[u]).measurement = found[u].id;
        if (found[u].cost) known.push_back(unmeasured[u]);
      }
      if (known.empty()) return true;
      if (!measure_candidates(builder_, known, failures) || !builder_.complete()) return false;
    }
  }

  /// Items of all candidates and conversions, including known ones: these bound what others may take.
  void collect() {
    open_ = {};
    sources_.clear();
    std::map<int, OpenCostId> item_of;  // by measurement
    open_.of_candidate.assign(built_.problem.candidates.size(), OpenCostId());
    for (CandidateId c : built_.candidate_ids()) {
      const CandidateOrigin& origin = built_.origin(c);
      if (origin.measurement < 0) continue;
      // A failure of the moment left an estimate, which says nothing of others.
      if (!origin.unmeasured && built_.problem.candidates[c].cost.time() == origin.estimate) continue;
      const auto [at, is_new] = item_of.emplace(origin.measurement, open_.items.next_id());
      open_.of_candidate[c] = at->second;
      if (!is_new) continue;
      ir::Partition partition = candidate_partition(graph_, built_, c);
      const OpenCostId item = add_item(graph_, partition);
      if (!origin.unmeasured) open_.items[item].cost = built_.problem.candidates[c].cost.time();
      sources_.push_back({&graph_, std::move(partition), origin.measurement});
    }
    changes_ = host_changes(graph_, built_);
    open_.of_conversion.clear();
    for (const ProblemValue& value : built_.problem.values) {
      open_.of_conversion.push_back(std::vector<OpenCostId>(value.conversions.size()));
    }
    const std::vector<KnownCost> found = costs_.look_up(changes_.kernels, changes_.partitions);
    for (size_t change = 0; change < found.size(); ++change) {
      // One that failed keeps its estimate.
      if (found[change].cost && !found[change].cost->cost) continue;
      const OpenCostId item = add_item(changes_.kernels, changes_.partitions[change]);
      if (found[change].cost) open_.items[item].cost = *found[change].cost->cost;
      sources_.push_back({&changes_.kernels, changes_.partitions[change], found[change].id});
      for (const auto& [value, edge] : changes_.edges[change]) {
        open_.of_conversion[value][edge] = item;
      }
    }
  }

  OpenCostId add_item(const Graph& graph, const ir::Partition& partition) {
    const auto backend = backends_.find(partition.backend);
    const CostFloor floor =
        cost_floor(graph, partition, backend == backends_.end() ? nullptr : backend->second, lazy_.machine);
    OpenCost item;
    item.floor = floor.floor;
    item.features = floor.features;
    item.kind = kinds_.emplace(floor.kind, CostKindId(kinds_.size())).first->second;
    return open_.items.add(std::move(item));
  }

  /// In batches of one graph each.
  std::vector<std::optional<Duration>> ask(const std::vector<OpenCostId>& items) {
    std::vector<std::optional<Duration>> answers(items.size());
    for (const Graph* graph : {&graph_, static_cast<const Graph*>(&changes_.kernels)}) {
      std::vector<ir::Partition> partitions;
      std::vector<size_t> slots;
      for (size_t a = 0; a < items.size(); ++a) {
        const Source& source = sources_[items[a]];
        if (source.graph != graph) continue;
        partitions.push_back(source.partition);
        slots.push_back(a);
      }
      if (partitions.empty()) continue;
      const std::vector<MeasuredCost> measured = costs_.measure(*graph, partitions);
      for (size_t m = 0; m < measured.size(); ++m) {
        answers[slots[m]] = measured[m].cost;
        spreads_[sources_[items[slots[m]]].measurement] = measured[m].spread;
      }
    }
    return answers;
  }

  /// Without a placement nothing says what is needed. True if there was nothing left.
  bool measure_all() {
    std::vector<OpenCostId> items;
    for (OpenCostId item : open_.items.ids()) {
      if (!open_.items[item].cost) items.push_back(item);
    }
    ask(items);
    return items.empty();
  }

  struct Source {
    const Graph* graph;
    ir::Partition partition;
    int measurement;
  };

  ProblemBuilder& builder_;
  const Graph& graph_;
  CostSource& costs_;
  const LazyMeasuring& lazy_;
  BuiltProblem& built_;
  std::map<std::string, const ir::Backend*> backends_;
  std::map<std::string, CostKindId> kinds_;
  std::map<int, Duration> spreads_;  ///< by measurement
  HostChanges changes_;
  OpenCosts open_;
  Table<OpenCostId, Source> sources_;
};

}  // namespace

bool measure_lazily(ProblemBuilder& builder) {
  return LazyMeasurer(builder).run();
}

}  // namespace collage::place
