// SPDX-License-Identifier: Apache-2.0
// check_problem of check_certificate.h: what problem.h says of every list, so that the other parts may rely on it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/certificate/check_certificate.h"

namespace collage::certificate {
namespace {

using runtime::Status;
using support::Table;

template <typename I>
bool ascends(const std::vector<I>& list) {
  return std::adjacent_find(list.begin(), list.end(), [](I a, I b) { return a >= b; }) == list.end();
}

class Checker {
 public:
  explicit Checker(const CertificateFile& file)
      : file_(file),
        problem_(file.problem),
        reads_(problem_.node_count),
        writes_(problem_.node_count),
        in_candidate_(problem_.node_count),
        listed_(problem_.values.size()),
        crosses_(problem_.values.size()) {}

  Status run() {
    for (const place::Owner& owner : problem_.owners) {
      if (!owner.joins || !owner.max_partitions) continue;
      return Status::error(fmt::format("`{}` joins regions and limits partitions", owner.backend));
    }
    if (Status status = check_counters(); !status) return status;
    for (place::ProblemValueId v : problem_.values.ids()) {
      if (Status status = check_value(v); !status) return status;
    }
    for (place::CandidateId c : problem_.candidates.ids()) {
      if (Status status = check_candidate(c); !status) return status;
    }
    return Status::ok();
  }

 private:
  /// The limit is one of the backend.
  Status check_counters() const {
    std::map<std::string, int> limits;
    for (const place::Owner& owner : problem_.owners) {
      if (!owner.max_partitions) continue;
      const auto [it, is_new] = limits.emplace(owner.backend, *owner.max_partitions);
      if (is_new || it->second == *owner.max_partitions) continue;
      return Status::error(fmt::format("`{}` has two limits of partitions: {} and {}", owner.backend, it->second,
                                       *owner.max_partitions));
    }
    return Status::ok();
  }

  Status check_value(place::ProblemValueId v) {
    const place::ProblemValue& value = problem_.values[v];
    if (!ascends(value.readers)) {
      return Status::error(fmt::format("the readers of {} are not in ascending order", value_text(file_, v)));
    }
    if (!value.readers.empty() && value.readers.front() <= value.writer) {
      return Status::error(fmt::format("{} reads {} before {} writes it", node_text(file_, value.readers.front()),
                                       value_text(file_, v), node_text(file_, value.writer)));
    }
    for (place::NodeId reader : value.readers) reads_[reader].push_back(v);
    if (value.writer.is_valid()) writes_[value.writer].push_back(v);
    return Status::ok();
  }

  Status check_candidate(place::CandidateId c) {
    const place::Candidate& candidate = problem_.candidates[c];
    if (candidate.nodes.empty()) return Status::error(candidate_text(file_, c) + " has no nodes");
    if (!ascends(candidate.nodes) || !ascends(candidate.constants) || !ascends(candidate.kept)) {
      return Status::error(fmt::format("the nodes, constants or kept values of {} are not in ascending order",
                                       candidate_text(file_, c)));
    }
    const std::optional<place::Cost>& joins = problem_.owners[candidate.owner].joins;
    if (candidate.may_join && joins && candidate.cost < *joins) {
      return Status::error(candidate_text(file_, c) + " costs less than a join of it saves");
    }
    for (place::NodeId node : candidate.nodes) in_candidate_[node] = c;
    const auto inside = [&](place::NodeId node) { return node.is_valid() && in_candidate_[node] == c; };

    for (place::NodeId node : candidate.nodes) {
      for (place::ProblemValueId v : reads_[node]) {
        if (!inside(problem_.values[v].writer)) crosses_[v] = c;
      }
    }
    for (const place::ValueFormat& read : candidate.reads) {
      if (crosses_[read.value] != c) {
        return Status::error(fmt::format("{} reads {} although nothing in it does so from outside",
                                         candidate_text(file_, c), value_text(file_, read.value)));
      }
      listed_[read.value] = c;
    }
    for (const place::ValueFormat& write : candidate.writes) {
      const place::NodeId writer = problem_.values[write.value].writer;
      if (!inside(writer) || listed_[write.value] == c) {
        return Status::error(fmt::format("{} writes {} twice or without its node", candidate_text(file_, c),
                                         value_text(file_, write.value)));
      }
      listed_[write.value] = c;
    }
    for (place::ProblemValueId v : candidate.kept) {
      if (inside(problem_.values[v].writer) && listed_[v] != c) continue;
      return Status::error(fmt::format("{} keeps {} inside, which it does not write or which leaves it",
                                       candidate_text(file_, c), value_text(file_, v)));
    }
    for (place::NodeId node : candidate.nodes) {
      for (place::ProblemValueId v : reads_[node]) {
        if (crosses_[v] != c || listed_[v] == c) continue;
        return Status::error(
            fmt::format("{} does not say in which format it reads {}", candidate_text(file_, c), value_text(file_, v)));
      }
      for (place::ProblemValueId v : writes_[node]) {
        const place::ProblemValue& value = problem_.values[v];
        const bool leaves = value.is_output || !std::all_of(value.readers.begin(), value.readers.end(), inside);
        if (!leaves || listed_[v] == c) continue;
        return Status::error(fmt::format("{} does not say in which format it writes {}", candidate_text(file_, c),
                                         value_text(file_, v)));
      }
    }
    return Status::ok();
  }

  const CertificateFile& file_;
  const place::Problem& problem_;
  Table<place::NodeId, std::vector<place::ProblemValueId>> reads_;
  Table<place::NodeId, std::vector<place::ProblemValueId>> writes_;
  Table<place::NodeId, place::CandidateId> in_candidate_;     // the last that was seen to hold the node
  Table<place::ProblemValueId, place::CandidateId> listed_;   // the last that was seen to list the value
  Table<place::ProblemValueId, place::CandidateId> crosses_;  // the last that was seen to read it from outside
};

}  // namespace

Status check_problem(const CertificateFile& file) {
  return Checker(file).run();
}

}  // namespace collage::certificate
