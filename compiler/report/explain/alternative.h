// SPDX-License-Identifier: Apache-2.0
// What a compilation would have cost with some nodes elsewhere: the search again, with the candidates that `--place`
// would leave. So the figure is the one that `--place NODES=BACKEND` gives, copies and all that moves along included.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/place/strategies.h"
#include "compiler/search/found_placement.h"
#include "compiler/search/lift_limits.h"

namespace collage::report {

/// A finished search, to be explained.
struct ExplainedPlacement {
  const search::SearchInput& input;
  const place::Strategy& strategy;
  const place::ActiveBackends& active;  ///< as `input.built` was made from
  const search::FoundPlacement& found;
  const support::SourceManager& sources;
  bool measures = false;         ///< costs that rules call `measured` were
  bool has_newer_costs = false;  ///< some were measured after the placement was found
};

struct Alternative {
  std::shared_ptr<const place::BuiltProblem> built;  ///< `found->chosen` are candidates of it
  std::optional<search::FoundPlacement> found;
  std::string why_none;
};

/// The strategy's plan in which all of these nodes run on the backend.
Alternative plan_with(const ExplainedPlacement& explained, const std::vector<ir::NodeId>& nodes,
                      const std::string& backend);

/// The plan without these limits, and with `nodes` on `backend` if there are any.
std::optional<search::FoundPlacement> plan_without(const ExplainedPlacement& explained,
                                                   const std::vector<search::Limit>& limits,
                                                   const std::vector<ir::NodeId>& nodes, const std::string& backend);

/// Which device's memory a plan does not fit, by `npu[0] has 64 MiB, needs 70.5 MiB`; empty if it fits all.
std::string over_memory(const Alternative& alternative);

/// `1.3 ms more: +0.9 ms copies, +0.4 ms npu`, of the other plan against the one that was found. The greatest changes
/// first, without those that are below a hundredth of it.
std::string cost_change(const search::FoundPlacement& found, const search::FoundPlacement& other);

/// `about `, where costs of the plan were not measured: they are what similar ones let expect. Empty elsewhere.
std::string_view about_text(const Alternative& alternative);

/// The same of an alternative that has a plan: `about 1.3 ms more: +1.3 ms openblas; 2 costs not measured`.
std::string change_text(const ExplainedPlacement& explained, const Alternative& alternative);

/// Why an alternative can be cheaper than the plan that was found.
std::string why_not_best(const ExplainedPlacement& explained);

/// Some candidate of the backend holds the node.
bool has_candidate(const place::Problem& problem, ir::NodeId node, const std::string& backend);

/// The chosen candidate that holds the node.
place::CandidateId candidate_of(const place::Problem& problem, const std::vector<place::CandidateId>& chosen,
                                ir::NodeId node);

}  // namespace collage::report
