// SPDX-License-Identifier: Apache-2.0
// `ilp_cases FOLDER [COUNT] [FIRST SEED]`: random placement problems of 30 to 60 nodes, each solved by the search and
// written to FOLDER/case_SEED.json as a certificate, for tests/differential/compare_with_ilp to solve again.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/certificate/certificate_file.h"
#include "compiler/place/exact/optimal_search.h"
#include "tests/differential/random_problem.h"

namespace {

using namespace collage;

/// Every third has little memory, for constants alone: the program knows no execution order.
place::Problem draw(uint64_t seed) {
  place::RandomSource random(20'000'000 + seed);
  const size_t nodes = 30 + random.below(31u);
  place::Problem problem = seed % 2 == 0 ? place::device_problem(random, nodes) : place::random_problem(random, nodes);
  if (seed % 3 != 0) return problem;
  add_memory(random, problem);
  for (place::ProblemValue& value : problem.values) value.bytes = 0;
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fmt::print(stderr, "usage: ilp_cases FOLDER [COUNT] [FIRST SEED]\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20;
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  std::filesystem::create_directories(folder);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const place::Problem problem = draw(seed);
    place::SearchOptions options;
    options.max_states *= 20;
    options.max_seconds = 60;
    const std::optional<place::Solution> solution = place::search_optimal(problem, options);
    certificate::Names names{fmt::format("case {}", seed), {}, {}};
    names.nodes.resize(problem.node_count);
    names.values.resize(problem.values.size());
    if (!solution) {
      fmt::print(stderr, "case {}: the search finds no plan\n", seed);
      return 1;
    }
    std::ofstream file(folder / fmt::format("case_{}.json", seed));
    file << certificate::to_json({names, problem, *solution, {}});
    fmt::print("case {}: {} nodes, {} candidates, cost {} ps{}\n", seed, problem.node_count, problem.candidates.size(),
               solution->cost.count(), solution->optimal ? "" : ", not proven");
  }
  return 0;
}
