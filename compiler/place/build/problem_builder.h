// SPDX-License-Identifier: Apache-2.0
// What the steps of building a problem work on. Each step is a function `bool step(ProblemBuilder&)` or `void` in a
// file of its own; problem_builder.cpp says in which order they run.
#pragma once

#include <optional>
#include <vector>

#include "compiler/place/build/build_problem.h"
#include "compiler/place/build/representatives.h"
#include "compiler/place/formats/format_graph.h"

namespace collage::place {

class ProblemBuilder {
 public:
  const ir::Graph& graph;
  const ir::RuleSet& registered;  ///< of inactive backends, too
  const ActiveBackends& backends;
  const BuildOptions& options;
  support::Diagnostics& diags;
  const LayoutTable layouts;  ///< of all active backends
  BuiltProblem built;         ///< under construction

  ProblemBuilder(const ir::Graph& graph, const ir::RuleSet& registered, const ActiveBackends& backends,
                 const BuildOptions& options, support::Diagnostics& diags);

  /// Returns nullopt after an error.
  std::optional<BuiltProblem> run();

  bool measures() const { return options.costs != nullptr; }
  const Owner& owner_of(const Candidate& candidate) const { return built.problem.owners[candidate.owner]; }
  /// Whether the problem lists candidates of these nodes for an owner: of many equal instances it does for one.
  bool is_offered(const std::vector<NodeId>& nodes, OwnerId owner) const {
    return !representatives_ || representatives_->are_offered(nodes, owner);
  }
  /// Puts values with layouts into a space.
  std::vector<ValueFormat> with_space(const std::vector<ValueLayout>& list, const std::string& space);

  /// After candidates went: the implicit host steps in, and pins and constraints are applied again. False after an
  /// error: what went was the last candidate of a pinned or constrained node.
  bool complete();
  /// Works out conversions and memory of the candidates that there are.
  void convert();

 private:
  bool add_all_candidates();
  bool measure();

  std::optional<Representatives> representatives_;  ///< nothing: all instances have candidates
};

}  // namespace collage::place
