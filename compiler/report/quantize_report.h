// SPDX-License-Identifier: Apache-2.0
// What was quantised, what it saves and what it costs in accuracy. Plain data, its lines in the summary and its JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compiler/place/problem/cost.h"

namespace collage::report {

/// Differences of results from those in f32.
struct QuantizationError {
  double largest = 0;  ///< max |difference| / max |result in f32|, of the worst tensor
  double signal = 0;   ///< sum of squares of the results in f32
  double noise = 0;    ///< sum of squares of the differences
  void add(const QuantizationError& other);
  /// 10 log10(signal / noise): a decibel. Infinite where there is no noise.
  double decibels() const;
};

/// Sites that one partition runs as integers, or would have run.
struct QuantizedPart {
  std::string partition;                   ///< `p1 on npu[0]`; empty: given up
  std::vector<std::string> nodes;          ///< by their names in f32
  std::optional<place::Cost> saved;        ///< by the search without it; absent: not searched
  std::optional<QuantizationError> error;  ///< of this part alone, on exact operands; absent: no inputs to measure on
};

struct ClassAccuracy {
  int64_t right = 0;
  int64_t right_in_f32 = 0;
  int64_t of = 0;
};

struct QuantizeReport {
  std::string calibration;  ///< `minmax over 359 inputs`
  size_t sites = 0;         ///< that could be quantised
  size_t quantized = 0;
  size_t unusable = 0;     ///< values without a range: NaN or infinite in some run
  size_t to_integers = 0;  ///< conversions at the boundary
  size_t to_floats = 0;
  std::optional<place::Cost> in_f32;  ///< the objective of the placement; absent: constraints leave none
  place::Cost now;
  std::vector<QuantizedPart> parts;
  std::string limit;  ///< `--min-accuracy 0.99`, where sites were given up for it
  std::vector<QuantizedPart> given_up;
  std::optional<QuantizationError> error;  ///< end to end
  std::optional<ClassAccuracy> accuracy;
};

/// The lines of the summary.
std::string to_string(const QuantizeReport& report);
nlohmann::ordered_json to_json(const QuantizeReport& report);

}  // namespace collage::report
