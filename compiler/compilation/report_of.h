// SPDX-License-Identifier: Apache-2.0
// What the summary and `--json=FILE` say of a placement (report/report.h).
#pragma once

#include "compiler/compilation/compilation.h"
#include "compiler/report/report.h"

namespace collage::compilation {

/// `found`: the outcome of the search that `placement` comes from; null where the model came placed.
report::Report report_of(const Compilation& compilation, const Candidates& candidates, const ir::Placement& placement,
                         const search::FoundPlacement* found, const support::SourceManager& sources);

/// The same of another placement of these candidates, found by a strategy of this name.
report::Report report_of_other(const Compilation& compilation, const report::Report& report,
                               const std::string& strategy, const search::FoundPlacement& found);

/// Searches with simpler strategies for what they would have cost, where the placement has a bound to compare with.
void add_baselines(const Compilation& compilation, const Candidates& candidates, report::Report& report);

/// Limits that keep the plan from being cheaper. A short search for each, where the search met any.
void add_limits(const Compilation& compilation, const Candidates& candidates, const search::FoundPlacement& plan,
                const support::SourceManager& sources, report::Report& report);

}  // namespace collage::compilation
