// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/exact/bound/prove.h"
#include "runtime/core/host_space.h"

namespace collage::search {
namespace {

using place::Candidate;
using place::CandidateId;
using place::Problem;

certificate::Names names_of(const SearchInput& input) {
  certificate::Names names;
  names.model = input.graph.name;
  for (ir::NodeId node : input.graph.node_ids()) names.nodes.push_back(input.graph.node_name(node));
  for (ir::ValueId value : input.built.values) names.values.push_back(input.graph.value(value).name);
  return names;
}

/// States a candidate of one problem in terms of another of the same graph. The formats of both may be numbered
/// differently, their constants are numbered by the graph.
class Restatement {
 public:
  Restatement(const Problem& from, Problem& to) : from_(from), to_(to) {}

  /// The equal candidate of the other problem, which is added where there is none.
  CandidateId candidate(CandidateId c) {
    Candidate wanted = from_.candidates[c];
    wanted.owner = owner(wanted.owner);
    for (auto* list : {&wanted.reads, &wanted.writes}) {
      for (place::ValueFormat& item : *list) item.format = format(item.format);
    }
    for (CandidateId known : to_.candidates.ids()) {
      if (is_equal(to_.candidates[known], wanted)) return known;
    }
    return to_.candidates.add(std::move(wanted));
  }

 private:
  static bool is_equal(const Candidate& a, const Candidate& b) {
    const auto sorted = [](std::vector<place::ValueFormat> list) {
      std::sort(list.begin(), list.end());
      return list;
    };
    return a.owner == b.owner && a.nodes == b.nodes && a.cost == b.cost && sorted(a.reads) == sorted(b.reads) &&
           sorted(a.writes) == sorted(b.writes) && a.may_join == b.may_join;
  }

  place::OwnerId owner(place::OwnerId o) {
    const place::Owner& wanted = from_.owners[o];
    for (place::OwnerId known : to_.owners.ids()) {
      if (to_.owners[known].backend == wanted.backend && to_.owners[known].instance == wanted.instance) return known;
    }
    place::Owner added{wanted.backend, wanted.instance, wanted.max_partitions, {}, wanted.memory};
    return to_.owners.add(std::move(added));
  }

  place::FormatId format(place::FormatId f) {
    for (place::FormatId known : to_.formats.ids()) {
      if (to_.formats[known] == from_.formats[f]) return known;
    }
    return to_.formats.add(from_.formats[f]);
  }

  const Problem& from_;
  Problem& to_;
};

/// States what the judge sees in the proof, which may be more than the prover saw; no proof where it sees none.
void settle_bound(certificate::CertificateFile& file) {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const std::optional<Cost> bound = certificate::shown_by_proof(file);
    if (!bound) break;
    const bool is_shown = *bound >= file.proof.bound;
    file.proof.bound = *bound;
    if (is_shown) return;
  }
  file.proof = {};
}

}  // namespace

certificate::CertificateFile stated_problem(const SearchInput& input) {
  certificate::CertificateFile file;
  file.names = names_of(input);
  file.problem = input.built.problem;
  for (place::Owner& owner : file.problem.owners) {
    for (const place::MemoryLimit& limit : input.limits) {
      if (limit.instance == owner.instance) owner.memory = static_cast<int64_t>(limit.bytes);
    }
  }
  return file;
}

certificate::CertificateFile certificate_of(const SearchInput& input, const FoundPlacement& found) {
  certificate::CertificateFile file = stated_problem(input);
  file.solution = found.solution;
  for (const auto& [candidate, cost] : found.measured_later) file.problem.candidates[candidate].cost = cost;
  if (found.problem) {
    Restatement restatement(*found.problem, file.problem);
    for (CandidateId& c : file.solution.chosen) c = restatement.candidate(c);
  }
  place::ProofOptions options;
  options.max_seconds = input.options.max_seconds;
  options.stop = input.options.stop;
  // Multipliers of another problem do not fit these candidates.
  if (!found.problem) options.multipliers = file.solution.multipliers.get();
  options.judge = [&](const place::Proof& proof) {
    file.proof = proof;
    return certificate::shown_by_proof(file);
  };
  file.proof = place::prove_bound(file.problem, file.solution.cost, options);
  if (file.proof.exists()) settle_bound(file);
  file.solution.bound = std::min(file.solution.cost, std::max(found.bound, file.proof.bound));
  file.solution.optimal = file.solution.bound == file.solution.cost;
  return file;
}

std::string to_string(const certificate::CertificateFile& file) {
  const Cost cost = file.solution.cost, bound = file.proof.bound;
  if (!file.proof.exists()) return "no bound is proven";
  // Code that works in place takes less of a host's memory than is counted (place/README.md).
  const bool has_limited_host =
      std::any_of(file.problem.owners.begin(), file.problem.owners.end(),
                  [](const place::Owner& owner) { return owner.memory && runtime::is_host_space(owner.instance); });
  const std::string_view condition = has_limited_host ? ", where no code on a host works in place" : "";
  if (bound >= cost) return fmt::format("proven: {}, which is the cost{}", human(bound), condition);
  const std::optional<double> part = gap(cost, bound);
  std::string text = fmt::format("proven: {}", human(bound));
  if (part) text += ", gap " + place::percent_text(*part);
  text += condition;
  if (file.solution.bound > bound) text += fmt::format("; the search claims {}", human(file.solution.bound));
  return text;
}

}  // namespace collage::search
