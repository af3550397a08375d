// SPDX-License-Identifier: Apache-2.0
// See check_certificate.h.
#include "compiler/certificate/check_certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace collage::certificate {

using runtime::Result;
using runtime::Status;

Result<Wide> cost_of_candidates(const CertificateFile& file, const std::vector<place::CandidateId>& chosen) {
  const place::Problem& problem = file.problem;
  support::Table<place::ProblemValueId, place::FormatId> written(problem.values.size(), problem.host_plain);
  support::Table<place::ProblemValueId, std::vector<place::FormatId>> wanted(problem.values.size());
  Wide total = 0;
  for (place::CandidateId c : chosen) {
    const place::Candidate& candidate = problem.candidates[c];
    total += candidate.cost.count();
    for (const place::ValueFormat& write : candidate.writes) written[write.value] = write.format;
    for (const place::ValueFormat& read : candidate.reads) wanted[read.value].push_back(read.format);
  }
  for (place::ProblemValueId v : problem.values.ids()) {
    std::vector<place::FormatId>& formats = wanted[v];
    if (problem.values[v].is_output) formats.push_back(problem.host_plain);
    std::sort(formats.begin(), formats.end());
    formats.erase(std::unique(formats.begin(), formats.end()), formats.end());
    std::erase(formats, written[v]);
    if (formats.empty()) continue;
    if (formats.size() > FormatTrees::kMaxWantedFormats) {
      return Status::error(fmt::format("{} is read in {} formats at once, more than can be priced", value_text(file, v),
                                       formats.size()));
    }
    const FormatTrees trees(problem.values[v].conversions, formats);
    const Wide cost = trees.cost(written[v], (uint32_t{1} << formats.size()) - 1);
    if (cost >= kUnreachable) return kUnreachable;
    total += cost;
  }
  return total;
}

namespace {

Result<Wide> cost_of_plan(const CertificateFile& file) {
  const Result<Wide> cost = cost_of_candidates(file, file.solution.chosen);
  if (!cost) return cost.status();
  if (*cost >= kUnreachable) return Status::error("no conversions lead to all formats in which the plan reads a value");
  const Result<Wide> saved = saved_by_regions(file);
  if (!saved) return saved.status();
  return *cost - *saved;
}

}  // namespace

Result<Judgement> check_certificate(const CertificateFile& file) {
  const place::Solution& solution = file.solution;
  if (file.about.exists() && file.about.problem != problem_hash(file)) {
    return Status::error("the problem was changed after the certificate was written: it has another hash");
  }
  if (Status status = check_problem(file); !status) return status;
  if (Status status = check_execution(file, solution.chosen); !status) return status;
  Judgement judgement;
  const Result<Wide> cost = cost_of_plan(file);
  if (!cost) return cost.status();
  judgement.cost = *cost;
  if (*cost != solution.cost.count()) {
    return Status::error(
        fmt::format("the plan costs {}, the file says {}", cost_text(*cost), cost_text(solution.cost.count())));
  }
  if (solution.bound > solution.cost) {
    return Status::error(fmt::format("the bound {} is above the cost {}", cost_text(solution.bound.count()),
                                     cost_text(solution.cost.count())));
  }
  if (solution.optimal != (solution.bound == solution.cost)) {
    return Status::error(solution.optimal ? "the plan is called optimal, and its bound is below its cost"
                                          : "the bound meets the cost, and the plan is not called optimal");
  }
  if (!file.proof.exists()) return judgement;
  const Result<Wide> bound = bound_of_proof(file);
  if (!bound) return bound.status();
  judgement.bound = *bound;
  if (*bound < file.proof.bound.count()) {
    return Status::error(fmt::format("the proof shows {}, the file says {}", *bound > 0 ? cost_text(*bound) : "nothing",
                                     cost_text(file.proof.bound.count())));
  }
  if (*bound > *cost) {
    return Status::error(
        fmt::format("the proof shows {}, above the cost of the plan: this judge is at fault", cost_text(*bound)));
  }
  return judgement;
}

std::string node_text(const CertificateFile& file, place::NodeId node) {
  const bool has_name = file.names.nodes.holds(node) && !file.names.nodes[node].empty();
  return has_name ? fmt::format("`%{}`", file.names.nodes[node]) : fmt::format("node {}", node.index);
}

std::string value_text(const CertificateFile& file, place::ProblemValueId value) {
  const bool has_name = file.names.values.holds(value) && !file.names.values[value].empty();
  return has_name ? fmt::format("value `%{}`", file.names.values[value]) : fmt::format("value {}", value.index);
}

std::string candidate_text(const CertificateFile& file, place::CandidateId candidate) {
  const place::Candidate& described = file.problem.candidates[candidate];
  return fmt::format("candidate {} ({} on {})", candidate.index, described.rule,
                     file.problem.owners[described.owner].instance);
}

std::string cost_text(Wide cost) {
  if (cost > INT64_MAX || cost < INT64_MIN) return "a cost beyond measure";
  return to_string(place::Cost::of(static_cast<int64_t>(cost), place::Cost::Unit::Seconds));
}

}  // namespace collage::certificate
