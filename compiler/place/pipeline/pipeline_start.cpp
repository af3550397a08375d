// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/pipeline/pipeline_start.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "compiler/place/evaluate/evaluate.h"
#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/pipeline/chain_of_solution.h"
#include "compiler/place/pipeline/cut_chain.h"

namespace collage::place {
namespace {

class PipelineStarter {
 public:
  explicit PipelineStarter(const Problem& problem) : problem_(problem) {}

  std::optional<Solution> run(const SearchOptions& options, PipelineGoal goal) {
    for (const Owner& owner : problem_.owners) {
      const bool is_free = owner.members.empty() && !owner.memory;
      if (owner.joins || (is_free && goal == PipelineGoal::Latency)) return std::nullopt;
    }
    Problem free = problem_;
    for (Owner& owner : free.owners) owner.memory.reset();
    SearchOptions own = options;
    own.on_progress = nullptr;
    own.excess = nullptr;
    own.cutoff.reset();
    own.max_states = std::min(own.max_states, kProbeStates);
    const std::optional<Solution> base = search_optimal(free, own, {});
    if (!base) return std::nullopt;
    find_twins();
    const std::string main = busiest(*base);
    const Table<StageId, std::string> stages = stages_like(main);
    const Table<StepId, ChosenId> order = steps_of(problem_, base->chosen);
    const std::string& second = stages[StageId(std::min<size_t>(1, stages.size() - 1))];
    Chain chain = chain_of_solution(
        problem_, base->chosen, order, [&](CandidateId c) { return instance_of(c) == main; },
        {[&](ProblemValueId v) { return copy(v, stages.front(), second); },
         [&](ProblemValueId v) { return copy(v, second, problem_.formats[problem_.host_plain].space); }});
    for (const std::string& stage : stages) chain.stages.push_back({memory_of(stage)});
    const std::optional<Cuts> cuts = goal == PipelineGoal::Stream ? stream_cuts(chain) : least_sum_cuts(chain);
    if (!cuts) return std::nullopt;
    Solution solution = *base;
    for (StepId step : order.ids()) {
      CandidateId& chosen = solution.chosen[order[step].slot()];
      if (instance_of(chosen) == main) chosen = twin(chosen, stages[cuts->stage_of[step]]);
      if (!chosen.is_valid()) return std::nullopt;
    }
    const Verdict verdict = evaluate(problem_, solution);
    if (!std::holds_alternative<Cost>(verdict)) return std::nullopt;
    solution.cost = std::get<Cost>(verdict);
    solution.bound = problem_.cost_of(0);
    solution.optimal = false;
    solution.multipliers = nullptr;
    return solution;
  }

 private:
  const std::string& instance_of(CandidateId c) const { return problem_.owners[problem_.candidates[c].owner].instance; }

  std::optional<int64_t> memory_of(const std::string& instance) const {
    std::optional<int64_t> least;
    for (const Owner& owner : problem_.owners) {
      if (owner.instance == instance && owner.memory) least = std::min(least.value_or(*owner.memory), *owner.memory);
    }
    return least;
  }

  /// What a candidate is, wherever it runs. Formats follow from the instance.
  auto kind_of(const Candidate& candidate) const {
    const auto forms = [&](const std::vector<ValueFormat>& list) {
      std::vector<std::pair<ProblemValueId, std::string>> result;
      for (const ValueFormat& item : list) {
        ir::Format format = problem_.formats[item.format];
        format.space.clear();
        result.emplace_back(item.value, ir::to_string(format));
      }
      return result;
    };
    return std::tuple(candidate.nodes, problem_.owners[candidate.owner].backend, candidate.rule, candidate.cost.count(),
                      forms(candidate.reads), forms(candidate.writes));
  }

  void find_twins() {
    std::map<decltype(kind_of(std::declval<const Candidate&>())), std::map<std::string, CandidateId>> known;
    for (CandidateId c : problem_.candidates.ids()) known[kind_of(problem_.candidates[c])].emplace(instance_of(c), c);
    twins_.resize(problem_.candidates.size());
    for (auto& [kind, twins] : known) {
      for (const auto& [instance, c] : twins) twins_[c] = twins;
    }
  }

  CandidateId twin(CandidateId c, const std::string& instance) const {
    const auto at = twins_[c].find(instance);
    return at == twins_[c].end() ? CandidateId() : at->second;
  }

  /// Where most of the work is.
  std::string busiest(const Solution& base) const {
    std::map<std::string, Cost> work;
    for (CandidateId c : base.chosen) {
      if (problem_.candidates[c].shares.empty()) work[instance_of(c)] += problem_.candidates[c].cost;
    }
    const auto most =
        std::max_element(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == work.end() ? instance_of(base.chosen.front()) : most->first;
  }

  /// Instances of the backends that work there, in their order.
  Table<StageId, std::string> stages_like(const std::string& main) const {
    const auto works = [&](const std::string& backend, const std::string& instance) {
      return std::any_of(problem_.owners.begin(), problem_.owners.end(),
                         [&](const Owner& owner) { return owner.backend == backend && owner.instance == instance; });
    };
    Table<StageId, std::string> stages;
    for (const Owner& owner : problem_.owners) {
      const bool is_known = std::find(stages.begin(), stages.end(), owner.instance) != stages.end();
      if (owner.members.empty() && !is_known && works(owner.backend, main)) stages.push_back(owner.instance);
    }
    return stages;
  }

  /// The cheapest copy between two memories, or what one to some other memory takes.
  int64_t copy(ProblemValueId value, const std::string& from, const std::string& to) const {
    if (from == to) return 0;
    int64_t direct = std::numeric_limits<int64_t>::max(), any = direct;
    for (const ConversionEdge& edge : problem_.values[value].conversions) {
      const std::string& start = problem_.formats[edge.from].space;
      const std::string& end = problem_.formats[edge.to].space;
      if (start == end) continue;
      any = std::min(any, edge.cost.count());
      if (start == from && end == to) direct = std::min(direct, edge.cost.count());
    }
    constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
    return direct < kNone ? direct : any < kNone ? any : 0;
  }

  const Problem& problem_;
  Table<CandidateId, std::map<std::string, CandidateId>> twins_;
};

}  // namespace

std::optional<Solution> pipeline_start(const Problem& problem, const SearchOptions& options, PipelineGoal goal) {
  return PipelineStarter(problem).run(options, goal);
}

}  // namespace collage::place
