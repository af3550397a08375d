// SPDX-License-Identifier: Apache-2.0
// A table of costs: a full grid of points with a number at each, interpolated linearly.
//
//     macs,  width, time [us]
//     1e3,   8,     2            =>   at (3e3, 12): weighted mean of the four corners; none at (1, 8)
//     1e3,   16,    3
//     1e6,   8,     40
//     1e6,   16,    70
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/rules/expr.h"
#include "runtime/core/status.h"

namespace collage::ir {

struct CostTable {
  struct Axis {
    std::string name;
    Unit unit = Unit::None;
    std::vector<double> points;  ///< ascending, in SI; at least one
  };
  std::string file;
  std::vector<Axis> axes;  ///< at least one
  Unit unit = Unit::None;
  std::vector<double> values;  ///< in SI; one per grid point, the last axis fastest

  /// Returns the number at a point with one coordinate per axis. Fails outside the grid; the message names the column.
  runtime::Result<double> at(std::span<const double> place) const;
};

}  // namespace collage::ir
