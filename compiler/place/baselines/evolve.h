// SPDX-License-Identifier: Apache-2.0
// The paper's second level: a genetic search around an exact placement, by a measured fitness instead of costs that add
// up.
//
// A gene is a partition of the placement. Its choices: stay as it is (0), be taken apart, or move to another owner that
// can run its nodes:
//
//     {conv, relu}@onednn {softmax}@host   genome (0, 0), the placement
//     {conv} {relu} {softmax}@host         genome (1, 0)
//     {conv, relu}@npu {softmax}@host      genome (2, 0)
//
// A genome says only where nodes run; partitions, formats and conversions are the cheapest that this leaves, so that
// neighbours that moved to one owner may become one partition.
//
// Selection by tournaments of five, two-point crossover (0.5), mutation (0.2, each gene 0.05), a fixed seed: equal
// measurements give equal results. No genome is measured twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/search_options.h"

namespace collage::place {

/// A partition of the placement, by its place in `chosen`.
using GeneId = Id<struct GeneTag>;
using ChoiceId = Id<struct ChoiceTag>;
using Genome = std::vector<ChoiceId>;  ///< by gene

/// Turns genomes into solutions. Keeps the problem by reference.
class PlanGenes {
 public:
  PlanGenes(const Problem& problem, Solution plan);

  /// By gene: how many choices it has, one at least.
  const std::vector<size_t>& choices() const { return counts_; }
  /// The genome nearest to another solution: partitions that lie elsewhere as a whole move there.
  Genome like(const Solution& other) const;
  /// The placement itself where all genes are 0; nothing if a genome leaves no placement.
  std::optional<Solution> plan_of(const Genome& genome, const SearchOptions& options) const;

 private:
  struct Choice {
    OwnerId owner = 0;
    bool taken_apart = false;
  };
  const std::vector<NodeId>& nodes_of(GeneId gene) const {
    return problem_.candidates[plan_.chosen[gene.slot()]].nodes;
  }

  const Problem& problem_;
  Solution plan_;
  Table<GeneId, Table<ChoiceId, Choice>> choices_;  ///< the placement's own first
  std::vector<size_t> counts_;                      ///< by gene
  Table<NodeId, GeneId> gene_of_;
};

struct EvolveOptions {
  int evaluations = 24;  ///< genomes that are measured, at most
  int population = 50;   ///< at most; half of the evaluations, if that is less
  uint64_t seed = 64;
};

struct Evolved {
  Genome best;  ///< least fitness; of equal ones the first that was measured; the first of all where none runs
  double fitness = 0;
  int evaluations = 0;
  int generations = 0;  ///< with a genome that was new, after the first
};

/// `fitness`: seconds, infinite for what does not run. `first`: genomes to begin with, at least one.
Evolved evolve(const std::vector<size_t>& choices, const std::vector<Genome>& first,
               const std::function<double(const Genome&)>& fitness, const EvolveOptions& options);

}  // namespace collage::place
