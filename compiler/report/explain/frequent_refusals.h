// SPDX-License-Identifier: Apache-2.0
// Why a backend does not take more of a model, over all its nodes: the line `refused` of the summary.
//
// Nodes of one operator that failed at the same clause are one reason, whatever the values; nodes that the backend can
// run in some way do not count.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/match/refusals.h"
#include "compiler/place/candidates/candidates.h"
#include "runtime/support/source_manager.h"

namespace collage::report {

struct FrequentRefusal {
  const ir::OpDef* op = nullptr;
  size_t nodes = 0;
  std::string message;   ///< the most frequent one, with the values of its nodes
  std::string boundary;  ///< what holds where the backend can run it, if that is a simple bound
  support::Span span;    ///< of the clause or rule
};

/// The reasons that are counted: of nodes that the backend cannot run and at which an attempt of a rule ended, the
/// nearest refusal (match/refusals.h).
std::map<ir::NodeId, match::NearMiss> counted_refusals(const ir::Graph& graph, const place::ActiveBackend& active,
                                                       const place::BackendCandidates& found);

/// The most frequent first.
std::vector<FrequentRefusal> frequent_refusals(const ir::Graph& graph, const place::ActiveBackend& active,
                                               const place::BackendCandidates& found,
                                               const support::SourceManager& sources);

/// `12x Conv "3 channels, need a multiple of 8" (supported while dim(x, 1) % 8 == 0)`
std::string to_string(const FrequentRefusal& refusal);

}  // namespace collage::report
