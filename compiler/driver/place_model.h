// SPDX-License-Identifier: Apache-2.0
// From candidates to a placement and what the summary says of it.
#pragma once

#include <optional>

#include "compiler/driver/command.h"
#include "compiler/report/report.h"

namespace collage::driver {

struct PlacedModel {
  search::FoundPlacement found;  ///< of a model that came placed the placement alone
  report::Report report;
};

/// The placement of the strategy, or the model's own where that leaves nothing to search. Writes the certificate where
/// one is asked for. Returns nullopt after errors.
std::optional<PlacedModel> place_model(Command& command, const compilation::Candidates& candidates);

}  // namespace collage::driver
