// SPDX-License-Identifier: Apache-2.0
// What candidates of one class take, by what like ones were measured to take:
//
//     launch + operations / rate + bytes / bandwidth
//
// with the three constants, none of them negative, that fit the known ones best relative to their cost. What the known
// ones lie below the fit says how far others may.
#pragma once

#include <array>
#include <vector>

#include "runtime/core/duration.h"

namespace collage::place {

/// What the time of a candidate depends on.
struct CostFeatures {
  double operations = 0;
  double bytes = 0;
};

/// A candidate whose cost is known.
struct Observation {
  CostFeatures features;
  runtime::Duration cost;
};

class Roofline {
 public:
  /// Fits as many of the constants as the observations determine: a half of them at most.
  explicit Roofline(const std::vector<Observation>& known);

  bool is_known() const { return !known_.empty(); }
  double seconds(const CostFeatures& features) const;
  /// What a candidate takes most likely: the prediction, corrected by what is known of very similar ones.
  runtime::Duration expected(const CostFeatures& features) const;
  /// What a candidate takes at least: the prediction, lowered as far as the worst of the known ones lies below its own,
  /// and divided by 1 + `caution` / n^1.5 for n observations. 0 where nothing is known.
  runtime::Duration bound(const CostFeatures& features, double caution) const;

 private:
  /// Where all that is known is larger, a constant part is a guess: what the known ones take, in proportion. Infinite
  /// elsewhere.
  double cap(const CostFeatures& features) const;

  using Terms = std::array<double, 3>;
  static Terms terms_of(const CostFeatures& features) { return {1, features.operations, features.bytes}; }

  std::vector<Observation> known_;
  Terms constants_{};
  double least_ = 1;  ///< of cost / prediction
};

}  // namespace collage::place
