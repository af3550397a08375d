// SPDX-License-Identifier: Apache-2.0
// Measured or estimated: what `--costs` and `--cost-db` mean for one compilation.
#pragma once

#include <memory>
#include <string>

#include "compiler/driver/input/activate.h"
#include "compiler/driver/input/listener.h"
#include "compiler/driver/input/options.h"
#include "compiler/measure/measured_costs.h"
#include "compiler/place/build/build_problem.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// Empty where costs are estimated.
struct Costs {
  std::unique_ptr<measure::CostDatabase> database;
  std::unique_ptr<measure::MeasuredCosts> source;
};

/// `--costs=measured`: measured. Without `--costs` they are where an active rule file says `cost measured`. Where there
/// is no database (`--cost-db ''`, or no home to keep one in) they are forgotten after this run. A database that cannot
/// be used, or a measuring process that does not exist, is a warning. The listener lives as long as the costs.
Costs open_costs(const Options& options, const std::vector<place::ActiveBackend>& active, const Listener& listener,
                 support::Diagnostics& diags);

/// `31 measured, 57 from cache, 224 not needed   2.1 s`, and what failed. Empty if there was nothing to measure.
std::string costs_line(const measure::MeasuringStats& stats, const place::LazyStats& lazy);

}  // namespace collage::driver
