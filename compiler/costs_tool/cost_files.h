// SPDX-License-Identifier: Apache-2.0
// Measured costs as CSV and as JSON. Both hold all that the database does, so that what was exported can be imported on
// another machine; what was read is as good as what was measured, so every number and every text is checked.
//
//     environment,candidate,cost_ps,spread_ps,runs,failure,timeout_ps,date,disturbance
//     {"collage_costs": 1, "costs": [{"environment": "…", "candidate": "…", "cost_ps": 41000000, …}]}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/measure/cost_database.h"
#include "runtime/support/diagnostic.h"

namespace collage::costs_tool {

std::string to_csv(const std::vector<measure::CostRow>& rows);
std::string to_json(const std::vector<measure::CostRow>& rows);

/// Reads either, by what it starts with. Returns nullopt after errors, of each row that is wrong.
std::optional<std::vector<measure::CostRow>> read_costs(const support::SourceManager& sources, support::FileId file,
                                                        support::Diagnostics& diags);

}  // namespace collage::costs_tool
