// SPDX-License-Identifier: Apache-2.0
// See evolve.h.
#include "compiler/place/baselines/evolve.h"

#include <algorithm>
#include <limits>
#include <random>

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

size_t slot(int index) {
  return static_cast<size_t>(index);
}

class Evolution {
 public:
  Evolution(const std::vector<int>& choices, const std::function<double(const Genome&)>& fitness,
            const EvolveOptions& options)
      : choices_(choices), fitness_(fitness), options_(options), random_(options.seed) {}

  Evolved run(const std::vector<Genome>& first) {
    const int size = std::clamp(options_.evaluations / 2, 2, options_.population);
    std::vector<Genome> population = first;
    while (static_cast<int>(population.size()) < size) {
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
  size_t below(size_t count) { return static_cast<size_t>(random_() % count); }

  Genome mutated(Genome genome, double each) {
    for (size_t gene = 0; gene < genome.size(); ++gene) {
      if (choices_[gene] < 2 || chance() >= each) continue;
      const auto others = static_cast<size_t>(choices_[gene] - 1);
      const int other = static_cast<int>(below(others));
      genome[gene] = other < genome[gene] ? other : other + 1;
    }
    return genome;
  }

  void cross(Genome& a, Genome& b) {
    if (a.empty()) return;
    size_t begin = below(a.size() + 1);
    size_t end = below(a.size() + 1);
    if (begin > end) std::swap(begin, end);
    std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(begin), a.begin() + static_cast<std::ptrdiff_t>(end),
                     b.begin() + static_cast<std::ptrdiff_t>(begin));
  }

  /// What was not measured any more counts as not running.
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

  const std::vector<int>& choices_;
  const std::function<double(const Genome&)>& fitness_;
  const EvolveOptions& options_;
  std::mt19937_64 random_;
  std::map<Genome, double> measured_;
  Evolved result_;
};

}  // namespace

PlanGenes::PlanGenes(const Problem& problem, Solution plan)
    : problem_(problem), plan_(std::move(plan)), gene_of_(slot(problem.node_count)) {
  for (size_t gene = 0; gene < plan_.chosen.size(); ++gene) {
    const Candidate& chosen = problem.candidates[slot(plan_.chosen[gene])];
    for (int node : chosen.nodes) gene_of_[slot(node)] = static_cast<int>(gene);
    // Nodes that each owner has in candidates that lie within this one.
    std::vector<std::vector<int>> has(problem.owners.size());
    for (const Candidate& candidate : problem.candidates) {
      const bool is_inside =
          std::includes(chosen.nodes.begin(), chosen.nodes.end(), candidate.nodes.begin(), candidate.nodes.end());
      if (!is_inside || candidate.cost >= Duration::max()) continue;
      if (candidate.owner == chosen.owner && candidate.nodes.size() == chosen.nodes.size()) continue;
      std::vector<int>& nodes = has[slot(candidate.owner)];
      nodes.insert(nodes.end(), candidate.nodes.begin(), candidate.nodes.end());
    }
    choices_.push_back({{chosen.owner, false}});
    for (int owner = 0; owner < static_cast<int>(has.size()); ++owner) {
      std::vector<int>& nodes = has[slot(owner)];
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      if (nodes == chosen.nodes) choices_.back().push_back({owner, owner == chosen.owner});
    }
    counts_.push_back(static_cast<int>(choices_.back().size()));
  }
}

Genome PlanGenes::like(const Solution& other) const {
  std::vector<int> owner_of(gene_of_.size());
  for (int c : other.chosen) {
    const Candidate& candidate = problem_.candidates[slot(c)];
    for (int node : candidate.nodes) owner_of[slot(node)] = candidate.owner;
  }
  Genome genome;
  for (size_t gene = 0; gene < choices_.size(); ++gene) {
    const std::vector<int>& nodes = problem_.candidates[slot(plan_.chosen[gene])].nodes;
    const int owner = owner_of[slot(nodes.front())];
    const bool is_whole = std::all_of(nodes.begin(), nodes.end(), [&](int n) { return owner_of[slot(n)] == owner; });
    const auto at = std::find_if(choices_[gene].begin(), choices_[gene].end(),
                                 [&](const Choice& choice) { return is_whole && choice.owner == owner; });
    genome.push_back(at == choices_[gene].end() ? 0 : static_cast<int>(at - choices_[gene].begin()));
  }
  return genome;
}

std::optional<Solution> PlanGenes::plan_of(const Genome& genome, const SearchOptions& options) const {
  if (std::all_of(genome.begin(), genome.end(), [](int choice) { return choice == 0; })) return plan_;
  const std::vector<int> kept = candidates_where(problem_, [&](int c) {
    const Candidate& candidate = problem_.candidates[slot(c)];
    return std::all_of(candidate.nodes.begin(), candidate.nodes.end(), [&](int node) {
      const auto gene = slot(gene_of_[slot(node)]);
      const Choice& choice = choices_[gene][slot(genome[gene])];
      const std::vector<int>& nodes = problem_.candidates[slot(plan_.chosen[gene])].nodes;
      return choice.owner == candidate.owner &&
             !(choice.taken_apart &&
               std::includes(candidate.nodes.begin(), candidate.nodes.end(), nodes.begin(), nodes.end()));
    });
  });
  return search_among(problem_, kept, options);
}

Evolved evolve(const std::vector<int>& choices, const std::vector<Genome>& first,
               const std::function<double(const Genome&)>& fitness, const EvolveOptions& options) {
  return Evolution(choices, fitness, options).run(first);
}

}  // namespace collage::place
