// SPDX-License-Identifier: Apache-2.0
// The ranges of the values of a model: observed while it runs, written to a file, read again.
//
//     {"collage_calibration": 1, "model": "digits", "hash": "3f9c…", "method": "minmax", "samples": 359,
//      "ranges": {"relu1": [0.0, 2.31], …}}
//
// The hash is of the model after the passes: operators, names, types and constants.
#pragma once

#include <optional>
#include <string>

#include "compiler/compilation/compilation.h"
#include "compiler/quantize/sites.h"
#include "compiler/quantize_search/samples.h"

namespace collage::quantize_search {

struct Calibration {
  std::string method;   ///< as in the file: `minmax`, `percentile 99.99`
  int64_t samples = 0;  ///< runs
  quantize::Ranges ranges;
  std::vector<std::string> unusable{};  ///< values that were NaN or infinite in some run: they have no range
};

/// Runs the compilation's model in f32 on the samples. Values are those of its sites. Returns nullopt after an error.
std::optional<Calibration> calibrate(const compilation::Compilation& compilation, const Samples& samples,
                                     const quantize::RangeChoice& choice, support::Diagnostics& diags);

bool write_calibration(const std::string& path, const ir::Graph& graph, const Calibration& calibration,
                       support::Diagnostics& diags);

/// Returns nullopt after an error: a file that is none, that is of another model, or that says what no run can have
/// shown: a method that is none, no samples, ranges out of f32 or of values that need none.
std::optional<Calibration> read_calibration(const std::string& path, const ir::Graph& graph,
                                            support::Diagnostics& diags);

}  // namespace collage::quantize_search
