// SPDX-License-Identifier: Apache-2.0
// Measured or estimated: what `--costs` and `--cost-db` mean for one compilation.
#pragma once

#include <memory>
#include <string>

#include "compiler/measure/measured_costs.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/request/activate.h"
#include "compiler/request/requests.h"
#include "runtime/runner/work_listener.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_cache.h"

namespace collage::search {

/// Empty where costs are estimated.
struct Costs {
  std::unique_ptr<measure::CostDatabase> database;
  std::unique_ptr<measure::fleet::Fleet> fleet;  ///< on the same server; null: none
  std::unique_ptr<measure::MeasuredCosts> source;
};

/// Costs are measured where the settings say so, or leave the choice and an active rule file says `cost measured`.
/// Without a database (none is wanted, or there is no home to keep one in) they are forgotten after this compilation. A
/// database that cannot be used, or a measuring process that does not exist, is a warning. With a server, its workers
/// are asked (measure/fleet/). Costs of another machine, `--measure-on`, are an error without such a worker. `rules`:
/// the paths that `active` were read from; `cache`: of compiled code, for the measuring process; null: none. The
/// listener lives as long as the costs.
Costs open_costs(const request::Settings& settings, const std::vector<std::string>& rules,
                 const place::ActiveBackends& active, const support::FileCache* cache,
                 const runner::WorkListener& listener, support::Diagnostics& diags);

/// Warns where costs could not be kept, and once of a server that was lost.
void warn_of_unkept(const request::Settings& settings, measure::CostDatabase* database, support::Diagnostics& diags);

/// Warns of what the fleet says.
void warn_of_fleet(const request::Settings& settings, measure::fleet::Fleet* fleet, support::Diagnostics& diags);

/// Warns of rows of the database that do not count: `ID: why`.
void warn_of_refused(const request::Settings& settings, const std::vector<std::string>& rows,
                     support::Diagnostics& diags);

/// `31 measured, 57 from cache, 224 not needed (could save 0.4 %, by bounds)   2.1 s   410 runs, 26 kernels compiled`,
/// and what failed. Empty if there was nothing to measure.
std::string costs_line(const measure::MeasuringStats& stats, const place::LazyStats& lazy);

}  // namespace collage::search
