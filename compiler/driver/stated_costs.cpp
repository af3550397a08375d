// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stated_costs.h"

namespace collage::driver {

StatedCosts::StatedCosts(const certificate::CertificateFile& file, const ir::Graph& graph) : graph_(graph) {
  const place::Problem& problem = file.problem;
  const auto boundary = [&](const std::vector<place::ValueFormat>& items) {
    Boundary result;
    for (const place::ValueFormat& item : items) {
      result.emplace(file.names.values[item.value], problem.formats[item.format].space);
    }
    return result;
  };
  for (const place::Candidate& candidate : problem.candidates) {
    costs_.emplace(Key{problem.owners[candidate.owner].instance, candidate.nodes, boundary(candidate.reads),
                       boundary(candidate.writes)},
                   candidate.cost);
  }
}

StatedCosts::Key StatedCosts::key_of(const ir::Graph& graph, const ir::Partition& candidate) {
  const auto boundary = [&](const std::vector<ir::BoundaryValue>& values) {
    Boundary result;
    for (const ir::BoundaryValue& item : values) {
      result.emplace(graph.value(item.value).name, ir::to_string(item.format));
    }
    return result;
  };
  return {candidate.instance, candidate.nodes, boundary(candidate.inputs), boundary(candidate.outputs)};
}

std::vector<place::MeasuredCost> StatedCosts::measure(const ir::Graph& graph,
                                                      const std::vector<ir::Partition>& candidates) {
  std::vector<place::MeasuredCost> answers;
  for (const ir::Partition& candidate : candidates) {
    place::MeasuredCost& answer = answers.emplace_back();
    if (&graph != &graph_) continue;
    const auto found = costs_.find(key_of(graph, candidate));
    if (found != costs_.end() && found->second < place::Cost::max()) {
      answer.cost = found->second.time();
    } else {
      answer.failure = "the certificate has no cost of it";
      ++not_found_;
    }
  }
  return answers;
}

std::vector<place::KnownCost> StatedCosts::look_up(const ir::Graph& graph,
                                                   const std::vector<ir::Partition>& candidates) {
  std::vector<place::KnownCost> answers;
  for (place::MeasuredCost& answer : measure(graph, candidates)) answers.push_back({0, std::move(answer)});
  return answers;
}

}  // namespace collage::driver
