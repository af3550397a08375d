// SPDX-License-Identifier: Apache-2.0
// report of check_certificate.h.
#include <fmt/format.h>

#include "compiler/certificate/check_certificate.h"
#include "runtime/core/text.h"

namespace collage::certificate {
namespace {

using place::Cost;

/// `12.83 ms, gap 0.04 %`
std::string bound_text(Cost bound, Cost cost) {
  const std::string text = human(bound);
  if (bound >= cost) return text + ", which is the cost";
  const std::optional<double> part = gap(cost, bound);
  return part ? fmt::format("{}, gap {}", text, place::percent_text(*part, 4)) : text;
}

}  // namespace

std::string report(const CertificateFile& file, const Judgement& judgement) {
  const place::Problem& problem = file.problem;
  const Cost cost = problem.cost_of(static_cast<int64_t>(judgement.cost));
  std::string text;
  for (const std::string& line : file.about.words) text += fmt::format("asked       {}\n", line);
  text += fmt::format("problem     {}: {} nodes, {} candidates\n", file.names.model, problem.node_count,
                      problem.candidates.size());
  text +=
      fmt::format("placement   {} partitions: every node once, no cycle, limits kept\n", file.solution.chosen.size());
  text += fmt::format("cost        {}\n", human(cost));
  if (judgement.bound) {
    text += fmt::format("bound       {}: proven here, in {}\n",
                        bound_text(problem.cost_of(static_cast<int64_t>(*judgement.bound)), cost),
                        runtime::counted(file.proof.cases.size(), "case"));
  } else {
    text += "bound       none: there is no proof\n";
  }
  if (!judgement.shows_claim(file)) {
    text += fmt::format("claimed     {}: by the search; not proven here\n", bound_text(file.solution.bound, cost));
  }
  return text;
}

}  // namespace collage::certificate
