// SPDX-License-Identifier: Apache-2.0
// Quantises a model where it pays and stays accurate.
//
//   1. The ranges of its values are observed on the calibration inputs, or read.
//   2. The sites are placed as integers: all; those that a device runs; none. The cheapest counts. Then each partition
//      of integers is tried in f32, and stays so if that is not more expensive.
//   3. While a limit of error or accuracy does not hold, the partition with the most noise for the time that it saves
//      goes back to f32, and the rest is placed again. In the last one, as many sites as the limit permits stay, those
//      with the least noise first.
//
// Each step is a search of the whole model, so that costs of conversions, launches and copies count. The order of steps
// does not depend on times, so that equal costs give equal results.
#pragma once

#include <optional>

#include "compiler/compilation/compilation.h"
#include "compiler/report/quantize_report.h"

namespace collage::quantize_search {

/// After the passes; the compilation then has the quantised graph. `run`: scale and formats of input files, the inputs
/// on which errors are measured if there are any, and labels. Returns nullopt after an error.
std::optional<report::QuantizeReport> quantize_model(compilation::Compilation& compilation,
                                                     const request::QuantizeRequest& request,
                                                     const runner::RunRequest& run, support::Diagnostics& diags);

}  // namespace collage::quantize_search
