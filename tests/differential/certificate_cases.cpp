// SPDX-License-Identifier: Apache-2.0
#include "tests/differential/certificate_cases.h"

#include "compiler/place/exact/bound/prove.h"
#include "compiler/place/exact/optimal_search.h"

namespace collage::certificate {

using place::Problem;
using place::RandomSource;
using place::Solution;

Names names_of(const Problem& problem) {
  Names names{"random", {}, {}};
  for (place::NodeId node : problem.nodes()) names.nodes.push_back("n" + std::to_string(node.index));
  for (place::ProblemValueId v : problem.values.ids()) names.values.push_back("v" + std::to_string(v.index));
  return names;
}

std::string text_of(const Case& one) {
  return to_json({names_of(one.problem), one.problem, one.solution, one.proof});
}

runtime::Result<Judgement> judge(const std::string& text) {
  const runtime::Result<CertificateFile> file = read_certificate(text);
  if (!file) return file.status();
  return check_certificate(*file);
}

Problem any_problem(RandomSource& random, uint64_t seed, size_t nodes) {
  switch (seed % 5) {
    case 0: return device_problem(random, nodes);
    case 1: {
      Problem problem = problem_with_memory(random, seed, nodes);
      return problem;
    }
    case 2: return joining_problem(random, nodes);
    default: return random_problem(random, nodes);
  }
}

std::optional<Case> random_case(RandomSource& random, uint64_t seed, size_t most_nodes) {
  const size_t nodes = 1 + random.below(most_nodes);
  Case made{any_problem(random, seed, nodes), {}, {}};
  place::SearchOptions options;
  options.keeps_multipliers = seed % 4 < 2;
  std::optional<Solution> solution = search_optimal(made.problem, options);
  if (!solution) return std::nullopt;
  made.solution = std::move(*solution);
  CertificateFile file{{}, made.problem, made.solution, {}};
  place::ProofOptions proving;
  proving.multipliers = made.solution.multipliers.get();
  const place::ProofJudge judge = [&](const place::Proof& proof) {
    file.proof = proof;
    return shown_by_proof(file);
  };
  if (seed % 2 == 0) proving.judge = judge;
  made.proof = prove_bound(made.problem, made.solution.cost, proving);
  if (!made.proof.exists()) return std::nullopt;
  return made;
}

}  // namespace collage::certificate
