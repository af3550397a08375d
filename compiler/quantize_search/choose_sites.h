// SPDX-License-Identifier: Apache-2.0
// Which sites are quantised: the cheapest choice that the search finds, and then the cheapest within a limit.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "compiler/quantize_search/measure_errors.h"
#include "compiler/quantize_search/try_sites.h"

namespace collage::quantize_search {

struct ErrorLimits {
  std::optional<double> most_error;
  std::optional<double> least_accuracy;

  bool are_set() const { return most_error || least_accuracy; }
  bool hold(const ErrorMeter::EndToEnd& result) const;
};

/// A partition that was tried in f32.
struct TriedGroup {
  std::vector<size_t> sites;
  place::Cost saved;  ///< by having it in integers
};

struct ChosenSites {
  TriedSites in_f32;
  TriedSites best;
  std::vector<TriedGroup> tried;  ///< of the partitions of `best` those whose saving is known
  /// What a limit took away, with the error of each part.
  std::vector<std::pair<TriedGroup, report::QuantizationError>> given_up;
  std::optional<ErrorMeter::EndToEnd> end_to_end;  ///< of `best`

  std::optional<place::Cost> saved_by(const std::vector<size_t>& sites) const;
};

/// Without limits. Returns nullopt after an error.
std::optional<ChosenSites> cheapest_sites(SiteTrials& trials, size_t site_count);

/// Takes sites away until the limits hold. In f32 they may not, which is an error if it is the accuracy. False after
/// one.
bool keep_within(const ErrorLimits& limits, const QuantizableModel& model, const ErrorMeter& meter, SiteTrials& trials,
                 ChosenSites* chosen, support::Diagnostics& diags);

}  // namespace collage::quantize_search
