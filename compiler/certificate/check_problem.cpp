// SPDX-License-Identifier: Apache-2.0
// check_problem of check_certificate.h: what problem.h says of every list, so that the other parts may rely on it.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/certificate/check_certificate.h"

namespace collage::check_plan {
namespace {

using runtime::Status;

bool ascends(const std::vector<int>& list) {
  return std::adjacent_find(list.begin(), list.end(), [](int a, int b) { return a >= b; }) == list.end();
}

class Checker {
 public:
  explicit Checker(const CertificateFile& file)
      : file_(file),
        problem_(file.problem),
        reads_(static_cast<size_t>(problem_.node_count)),
        writes_(static_cast<size_t>(problem_.node_count)),
        in_candidate_(static_cast<size_t>(problem_.node_count), -1),
        listed_(problem_.values.size(), -1),
        crosses_(problem_.values.size(), -1) {}

  Status run() {
    for (size_t v = 0; v < problem_.values.size(); ++v) {
      if (Status status = check_value(static_cast<int>(v)); !status) return status;
    }
    for (size_t c = 0; c < problem_.candidates.size(); ++c) {
      if (Status status = check_candidate(static_cast<int>(c)); !status) return status;
    }
    return Status::ok();
  }

 private:
  Status check_value(int v) {
    const place::ProblemValue& value = problem_.values[static_cast<size_t>(v)];
    if (!ascends(value.readers)) {
      return Status::error(fmt::format("the readers of {} are not in ascending order", value_text(file_, v)));
    }
    if (!value.readers.empty() && value.readers.front() <= value.writer) {
      return Status::error(fmt::format("{} reads {} before {} writes it", node_text(file_, value.readers.front()),
                                       value_text(file_, v), node_text(file_, value.writer)));
    }
    for (int reader : value.readers) reads_[static_cast<size_t>(reader)].push_back(v);
    if (value.writer >= 0) writes_[static_cast<size_t>(value.writer)].push_back(v);
    return Status::ok();
  }

  Status check_candidate(int c) {
    const place::Candidate& candidate = problem_.candidates[static_cast<size_t>(c)];
    if (candidate.nodes.empty()) return Status::error(candidate_text(file_, c) + " has no nodes");
    if (!ascends(candidate.nodes) || !ascends(candidate.constants)) {
      return Status::error(
          fmt::format("the nodes or constants of {} are not in ascending order", candidate_text(file_, c)));
    }
    for (int node : candidate.nodes) in_candidate_[static_cast<size_t>(node)] = c;
    const auto inside = [&](int node) { return node >= 0 && in_candidate_[static_cast<size_t>(node)] == c; };

    for (int node : candidate.nodes) {
      for (int v : reads_[static_cast<size_t>(node)]) {
        if (!inside(problem_.values[static_cast<size_t>(v)].writer)) crosses_[static_cast<size_t>(v)] = c;
      }
    }
    for (const place::ValueFormat& read : candidate.reads) {
      if (crosses_[static_cast<size_t>(read.value)] != c) {
        return Status::error(fmt::format("{} reads {} although nothing in it does so from outside",
                                         candidate_text(file_, c), value_text(file_, read.value)));
      }
      listed_[static_cast<size_t>(read.value)] = c;
    }
    for (const place::ValueFormat& write : candidate.writes) {
      const int writer = problem_.values[static_cast<size_t>(write.value)].writer;
      if (!inside(writer) || listed_[static_cast<size_t>(write.value)] == c) {
        return Status::error(fmt::format("{} writes {} twice or without its node", candidate_text(file_, c),
                                         value_text(file_, write.value)));
      }
      listed_[static_cast<size_t>(write.value)] = c;
    }
    for (int node : candidate.nodes) {
      for (int v : reads_[static_cast<size_t>(node)]) {
        if (crosses_[static_cast<size_t>(v)] != c || listed_[static_cast<size_t>(v)] == c) continue;
        return Status::error(
            fmt::format("{} does not say in which format it reads {}", candidate_text(file_, c), value_text(file_, v)));
      }
      for (int v : writes_[static_cast<size_t>(node)]) {
        const place::ProblemValue& value = problem_.values[static_cast<size_t>(v)];
        const bool leaves = value.is_output || !std::all_of(value.readers.begin(), value.readers.end(), inside);
        if (!leaves || listed_[static_cast<size_t>(v)] == c) continue;
        return Status::error(fmt::format("{} does not say in which format it writes {}", candidate_text(file_, c),
                                         value_text(file_, v)));
      }
    }
    return Status::ok();
  }

  const CertificateFile& file_;
  const place::Problem& problem_;
  std::vector<std::vector<int>> reads_;   // values, by node
  std::vector<std::vector<int>> writes_;  // values, by node
  std::vector<int> in_candidate_;         // by node: the last candidate that was seen to hold it
  std::vector<int> listed_;               // by value: the last candidate that was seen to list it
  std::vector<int> crosses_;              // by value: the last candidate that was seen to read it from outside
};

}  // namespace

Status check_problem(const CertificateFile& file) {
  return Checker(file).run();
}

}  // namespace collage::check_plan
