// SPDX-License-Identifier: Apache-2.0
// See evolve.h.
#include "compiler/place/baselines/evolve.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "compiler/place/exact/optimal_search.h"
#include "compiler/place/problem/subproblem.h"

namespace collage::place {
namespace {

constexpr double kCrossover = 0.5;
constexpr double kMutation = 0.2;
constexpr double kGeneMutation = 0.05;
constexpr double kFirstMutation = 0.2;  ///< of each gene, where the first population is filled up
constexpr int kTournament = 5;
constexpr int kIdleGenerations = 50;  ///< without a genome that is new

class Evolution {
 public:
  Evolution(const std::vector<size_t>& choices, const std::function<double(const Genome&)>& fitness,
            const EvolveOptions& options)
      : choices_(choices), fitness_(fitness), options_(options), random_(options.seed) {}

  Evolved run(const std::vector<Genome>& first) {
    result_.best = first.front();  // where none is measured
    result_.fitness = std::numeric_limits<double>::infinity();
    const int size = std::clamp(options_.evaluations / 2, 2, options_.population);
    std::vector<Genome> population = first;
    while (std::cmp_less(population.size(), size)) {
      population.push_back(mutated(first.front(), kFirstMutation));
    }
    measure(population);
    for (int idle = 0; result_.evaluations < options_.evaluations && idle < kIdleGenerations;) {
      const int before = result_.evaluations;
      population = next_generation(population);
      measure(population);
      const bool is_new = result_.evaluations > before;
      result_.generations += is_new ? 1 : 0;
      idle = is_new ? 0 : idle + 1;
    }
    return std::move(result_);
  }

 private:
  double chance() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  size_t below(size_t count) { return random_() % count; }

  Genome mutated(Genome genome, double each) {
    for (size_t gene = 0; gene < genome.size(); ++gene) {
      if (choices_[gene] < 2 || chance() >= each) continue;
      const ChoiceId other(below(choices_[gene] - 1));
      genome[gene] = other < genome[gene] ? other : advance(other, 1);
    }
    return genome;
  }

  void cross(Genome& a, Genome& b) {
    if (a.empty()) return;
    size_t begin = below(a.size() + 1);
    size_t end = below(a.size() + 1);
    if (begin > end) std::swap(begin, end);
    for (size_t gene = begin; gene < end; ++gene) std::swap(a[gene], b[gene]);
  }

  /// The measured time of a genome; infinity if it was not measured.
  double known(const Genome& genome) const {
    const auto at = measured_.find(genome);
    return at == measured_.end() ? std::numeric_limits<double>::infinity() : at->second;
  }

  const Genome& select(const std::vector<Genome>& population) {
    const Genome* best = nullptr;
    for (int i = 0; i < kTournament; ++i) {
      const Genome& one = population[below(population.size())];
      if (best == nullptr || known(one) < known(*best)) best = &one;
    }
    return *best;
  }

  std::vector<Genome> next_generation(const std::vector<Genome>& population) {
    std::vector<Genome> next;
    for (size_t i = 0; i < population.size(); ++i) next.push_back(select(population));
    for (size_t i = 1; i < next.size(); i += 2) {
      if (chance() < kCrossover) cross(next[i - 1], next[i]);
    }
    for (Genome& genome : next) {
      if (chance() < kMutation) genome = mutated(std::move(genome), kGeneMutation);
    }
    return next;
  }

  void measure(const std::vector<Genome>& population) {
    for (const Genome& genome : population) {
      if (result_.evaluations >= options_.evaluations) return;
      if (measured_.contains(genome)) continue;
      const double fitness = fitness_(genome);
      measured_.emplace(genome, fitness);
      if (result_.evaluations++ > 0 && !(fitness < result_.fitness)) continue;
      result_.best = genome;
      result_.fitness = fitness;
    }
  }

  const std::vector<size_t>& choices_;
  const std::function<double(const Genome&)>& fitness_;
  const EvolveOptions& options_;
  std::mt19937_64 random_;
  std::map<Genome, double> measured_;
  Evolved result_;
};

}  // namespace

PlanGenes::PlanGenes(const Problem& problem, Solution plan)
    : problem_(problem), plan_(std::move(plan)), gene_of_(problem.node_count) {
  for (CandidateId c : plan_.chosen) {
    const Candidate& chosen = problem.candidates[c];
    for (NodeId node : chosen.nodes) gene_of_[node] = choices_.next_id();
    // Nodes that each owner has in candidates that lie within this one.
    Table<OwnerId, std::vector<NodeId>> has(problem.owners.size());
    for (const Candidate& candidate : problem.candidates) {
      const bool is_inside =
          std::includes(chosen.nodes.begin(), chosen.nodes.end(), candidate.nodes.begin(), candidate.nodes.end());
      if (!is_inside || candidate.cost >= Cost::max()) continue;
      if (candidate.owner == chosen.owner && candidate.nodes.size() == chosen.nodes.size()) continue;
      std::vector<NodeId>& nodes = has[candidate.owner];
      nodes.insert(nodes.end(), candidate.nodes.begin(), candidate.nodes.end());
    }
    choices_.push_back({{chosen.owner, false}});
    for (OwnerId owner : has.ids()) {
      std::vector<NodeId>& nodes = has[owner];
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      if (nodes == chosen.nodes) choices_.back().push_back({owner, owner == chosen.owner});
    }
    counts_.push_back(choices_.back().size());
  }
}

Genome PlanGenes::like(const Solution& other) const {
  Table<NodeId, OwnerId> owner_of(gene_of_.size(), 0);
  for (CandidateId c : other.chosen) {
    const Candidate& candidate = problem_.candidates[c];
    for (NodeId node : candidate.nodes) owner_of[node] = candidate.owner;
  }
  Genome genome;
  for (GeneId gene : choices_.ids()) {
    const std::vector<NodeId>& nodes = nodes_of(gene);
    const OwnerId owner = owner_of[nodes.front()];
    const bool is_whole = std::all_of(nodes.begin(), nodes.end(), [&](NodeId n) { return owner_of[n] == owner; });
    const auto at = std::find_if(choices_[gene].begin(), choices_[gene].end(),
                                 [&](const Choice& choice) { return is_whole && choice.owner == owner; });
    genome.push_back(at == choices_[gene].end() ? ChoiceId(0) : ChoiceId(at - choices_[gene].begin()));
  }
  return genome;
}

std::optional<Solution> PlanGenes::plan_of(const Genome& genome, const SearchOptions& options) const {
  const auto stays = [](ChoiceId choice) { return choice == ChoiceId(0); };
  if (std::all_of(genome.begin(), genome.end(), stays)) return plan_;
  const std::vector<CandidateId> kept = candidates_where(problem_, [&](CandidateId c) {
    const Candidate& candidate = problem_.candidates[c];
    return std::all_of(candidate.nodes.begin(), candidate.nodes.end(), [&](NodeId node) {
      const GeneId gene = gene_of_[node];
      const Choice& choice = choices_[gene][genome[gene.slot()]];
      const std::vector<NodeId>& nodes = nodes_of(gene);
      return choice.owner == candidate.owner &&
             !(choice.taken_apart &&
               std::includes(candidate.nodes.begin(), candidate.nodes.end(), nodes.begin(), nodes.end()));
    });
  });
  return search_among(problem_, kept, options);
}

Evolved evolve(const std::vector<size_t>& choices, const std::vector<Genome>& first,
               const std::function<double(const Genome&)>& fitness, const EvolveOptions& options) {
  return Evolution(choices, fitness, options).run(first);
}

}  // namespace collage::place
