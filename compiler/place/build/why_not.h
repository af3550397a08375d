// SPDX-License-Identifier: Apache-2.0
// Why a backend has no candidate for a node: what the errors of pins, constraints and written partitions note.
#pragma once

#include <string>

#include "compiler/match/refusals.h"
#include "compiler/place/candidates/candidates.h"

namespace collage::place {

struct WhyNot {
  std::string message;  ///< empty if the backend has a candidate
  support::Span span;   ///< of the reason in the rule file
};

/// The nearest refusal (match/refusals.h), or that no rule is about the operator.
WhyNot why_not(const ir::Graph& graph, const ActiveBackend& active, const BackendCandidates& found, ir::NodeId node);

/// The refusals of a backend, ranked.
match::Refusals refusals_of(const ir::Graph& graph, const ActiveBackend& active, const BackendCandidates& found);

}  // namespace collage::place
