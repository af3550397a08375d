// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/learned_constants.h"

#include <algorithm>
#include <set>

#include "runtime/core/host_space.h"
#include "runtime/core/room.h"

namespace collage::search {
namespace {

using place::Candidate;
using place::CandidateId;

std::vector<runtime::BufferId> buffers_of(const runtime::HostCall& call) {
  if (const auto* kernel = std::get_if<runtime::KernelCall>(&call)) return kernel->buffers;
  if (const auto* op = std::get_if<runtime::OpCall>(&call)) return op->inputs;
  return std::get<runtime::LibraryCall>(call).inputs;
}

/// By partition: the bytes of resident constants that its code reads, generated or of a library.
std::vector<int64_t> kept_by_code(const runtime::Plan& plan) {
  std::vector<std::set<runtime::BufferId>> read(plan.partitions.size());
  for (const runtime::Step& step : plan.steps) {
    const auto* host = std::get_if<runtime::HostStep>(&step);
    if (host == nullptr || host->partition < 0) continue;
    for (const runtime::HostCall& call : host->calls) {
      for (runtime::BufferId id : buffers_of(call)) {
        const bool is_constant = id >= 0 && plan.buffers[static_cast<size_t>(id)].is_constant;
        if (is_constant) read[static_cast<size_t>(host->partition)].insert(id);
      }
    }
  }
  std::vector<int64_t> kept;
  for (const std::set<runtime::BufferId>& constants : read) {
    size_t bytes = 0;
    for (runtime::BufferId id : constants) {
      bytes += runtime::room_for(plan.buffers[static_cast<size_t>(id)].tensor.bytes());
    }
    kept.push_back(static_cast<int64_t>(bytes));
  }
  return kept;
}

/// Bytes of a candidate's constants, as the problem counts them.
int64_t counted(const place::Problem& problem, CandidateId candidate) {
  int64_t bytes = 0;
  for (place::ConstantId k : problem.candidates[candidate].constants) bytes += problem.constant_bytes[k];
  return bytes;
}

/// Whether two candidates compile to the same code, each for its host.
bool has_equal_code(const place::Problem& problem, const Candidate& a, const Candidate& b) {
  const place::Owner& one = problem.owners[a.owner];
  const place::Owner& other = problem.owners[b.owner];
  const bool are_on_hosts = runtime::is_host_space(one.instance) && runtime::is_host_space(other.instance);
  if (!are_on_hosts || one.backend != other.backend || a.nodes != b.nodes || a.rule != b.rule) return false;
  const auto lie_equally = [&](const place::ValueFormat& x, const place::ValueFormat& y) {
    return x.value == y.value && problem.formats[x.format].form() == problem.formats[y.format].form();
  };
  return std::equal(a.reads.begin(), a.reads.end(), b.reads.begin(), b.reads.end(), lie_equally) &&
         std::equal(a.writes.begin(), a.writes.end(), b.writes.begin(), b.writes.end(), lie_equally);
}

}  // namespace

bool LearnedConstants::learn(const runtime::Plan& plan, const std::vector<CandidateId>& chosen) {
  const std::vector<int64_t> kept = kept_by_code(plan);
  bool is_new = false;
  for (size_t p = 0; p < kept.size(); ++p) {
    const CandidateId candidate = candidate_of(plan.partitions[p], chosen);
    if (!candidate.is_valid()) continue;
    const int64_t more = kept[p] - counted(built().problem, candidate);
    if (more <= 0) continue;
    raise(candidate, more);
    is_new = true;
  }
  return is_new;
}

std::map<std::string, int64_t> LearnedConstants::more(const std::vector<CandidateId>& chosen) const {
  std::map<std::string, int64_t> bytes;
  if (learned_ == nullptr) return bytes;
  const place::Problem& problem = learned_->problem;
  const place::ConstantId first_learned = asked_.problem.constant_bytes.next_id();
  for (CandidateId c : chosen) {
    const Candidate& candidate = problem.candidates[c];
    for (place::ConstantId k : candidate.constants) {
      if (k >= first_learned) bytes[problem.owners[candidate.owner].instance] += problem.constant_bytes[k];
    }
  }
  return bytes;
}

/// None where the partition is no single candidate.
CandidateId LearnedConstants::candidate_of(const runtime::PlanPartition& partition,
                                           const std::vector<CandidateId>& chosen) const {
  if (!runtime::is_host_space(partition.instance)) return {};
  std::vector<ir::NodeId> nodes;
  for (const std::string& name : partition.nodes) nodes.push_back(graph_.find_node(name));
  std::sort(nodes.begin(), nodes.end());
  const place::Problem& problem = asked_.problem;
  const auto at = std::find_if(chosen.begin(), chosen.end(), [&](CandidateId c) {
    const Candidate& candidate = problem.candidates[c];
    return candidate.nodes == nodes && problem.owners[candidate.owner].instance == partition.instance;
  });
  return at == chosen.end() ? CandidateId() : *at;
}

void LearnedConstants::raise(CandidateId candidate, int64_t bytes) {
  if (learned_ == nullptr) learned_ = std::make_unique<place::BuiltProblem>(asked_);
  place::Problem& problem = learned_->problem;
  const place::ConstantId own = problem.constant_bytes.add(bytes);
  for (CandidateId c : problem.candidates.ids()) {
    const bool is_equal = has_equal_code(problem, problem.candidates[c], problem.candidates[candidate]);
    if (is_equal) problem.candidates[c].constants.push_back(own);
  }
}

}  // namespace collage::search
