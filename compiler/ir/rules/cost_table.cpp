// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/rules/cost_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::ir {

runtime::Result<double> CostTable::at(std::span<const double> place) const {
  struct Side {
    size_t below = 0;
    double weight = 0;  ///< of the point above
  };
  std::vector<Side> sides;
  for (size_t i = 0; i < axes.size(); ++i) {
    const std::vector<double>& points = axes[i].points;
    double x = place[i];
    if (!(x >= points.front() && x <= points.back())) {
      return runtime::Status::error(
          fmt::format("{} {:g} lies outside the table ({:g} to {:g})", axes[i].name, x, points.front(), points.back()));
    }
    auto above = static_cast<size_t>(std::upper_bound(points.begin(), points.end(), x) - points.begin());
    size_t below = above - 1;
    bool is_last = above == points.size();
    sides.push_back({below, is_last ? 0 : (x - points[below]) / (points[above] - points[below])});
  }
  double sum = 0;
  for (size_t corner = 0; corner < size_t{1} << axes.size(); ++corner) {
    double weight = 1;
    size_t index = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      bool is_above = (corner >> i & 1) != 0;
      weight *= is_above ? sides[i].weight : 1 - sides[i].weight;
      index = index * axes[i].points.size() + std::min(sides[i].below + (is_above ? 1 : 0), axes[i].points.size() - 1);
    }
    if (weight != 0) sum += weight * values[index];
  }
  return sum;
}

}  // namespace collage::ir
