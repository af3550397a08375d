// SPDX-License-Identifier: Apache-2.0
// A certificate of a small problem: a chain of three nodes on the host, 10 each, and on a device, 3 each; copies to the
// device take 4 and back 5. The best plan is the device for all of it: 4 + 9 + 5.
#pragma once

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/exact/bound/prove.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::certificate {

inline Names names_of(const place::Problem& problem) {
  Names names{"sketch", {}, {}};
  for (place::NodeId node : problem.nodes()) names.nodes.push_back("n" + std::to_string(node.index));
  for (place::ProblemValueId v : problem.values.ids()) names.values.push_back("v" + std::to_string(v.index));
  return names;
}

inline place::Problem chain_problem() {
  place::Sketch sketch(3, {{0, 1}, {1, 2}});
  const place::OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const place::FormatId device = sketch.add_format("npu[0]");
  sketch.convert(0, device, 4);
  sketch.convert(device, 0, 5);
  sketch.add_singletons(10);
  sketch.add_singletons(3, npu, device);
  return sketch.problem;
}

/// With a proof that the plan is the best.
inline CertificateFile chain_certificate() {
  CertificateFile file;
  file.problem = chain_problem();
  file.names = names_of(file.problem);
  file.solution.chosen = {3, 4, 5};
  file.solution.cost = file.solution.bound = place::ps(18);
  file.solution.optimal = true;
  file.proof = place::prove_bound(file.problem, file.solution.cost);
  return file;
}

/// What is wrong; empty: nothing.
inline std::string fault(const runtime::Status& status) {
  return status ? "" : status.message();
}
template <typename T>
std::string fault(const runtime::Result<T>& result) {
  return fault(result.status());
}

}  // namespace collage::certificate
