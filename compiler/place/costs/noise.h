// SPDX-License-Identifier: Apache-2.0
// By how much two placements may seem to differ while they do not: measured costs are uncertain by their spread.
#pragma once

#include <vector>

#include "runtime/core/duration.h"

namespace collage::place {

/// A partition whose cost was measured.
struct MeasuredPart {
  int measurement = -1;  ///< the same for parts that one measurement serves; -1: for itself
  runtime::Duration spread;
};

/// The spreads of what the placements do not share, summed in quadrature. A measurement that serves one placement n
/// times more than the other counts n-fold: its error does, too.
///
///     {a, a, b} against {a, c}   =>   sqrt(spread(a)^2 + spread(b)^2 + spread(c)^2)
runtime::Duration noise_between(const std::vector<MeasuredPart>& a, const std::vector<MeasuredPart>& b);

}  // namespace collage::place
