// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/schedule/minimal_filter.h"

#include <cmath>
#include <cstddef>
#include <utility>

namespace collage::codegen {
namespace {

/// Points of a filter with `products` products; empty: none is used.
std::vector<double> points_of(int products) {
  switch (products) {
    case 1: return {};
    case 3: return {0, 1};
    case 4: return {0, 1, -1};
    case 6: return {0, 0.75, -0.75, 1.5, -1.5};
    default: return {};
  }
}

/// Coefficients, lowest first, of the product of (x - p) over all points but the one at `without` (-1: all points).
std::vector<double> monic(const std::vector<double>& points, int without) {
  std::vector<double> polynomial = {1};
  for (size_t j = 0; j < points.size(); ++j) {
    if (static_cast<int>(j) == without) continue;
    polynomial.push_back(0);
    for (size_t d = polynomial.size() - 1; d > 0; --d) polynomial[d] = polynomial[d - 1] - points[j] * polynomial[d];
    polynomial[0] *= -points[j];
  }
  return polynomial;
}

MinimalFilter make_filter(int outputs, int taps) {
  MinimalFilter filter{outputs, taps, {}, {}, {}};
  const std::vector<double> points = points_of(filter.products());
  const auto n = static_cast<size_t>(filter.products());
  filter.output.assign(static_cast<size_t>(outputs), std::vector<double>(n, 0));
  for (size_t i = 0; i + 1 < n; ++i) {
    double scale = 1;
    for (size_t j = 0; j + 1 < n; ++j) scale *= j == i ? 1 : points[i] - points[j];
    std::vector<double> weights;
    for (int j = 0; j < taps; ++j) weights.push_back(std::pow(points[i], j) / scale);
    filter.weights.push_back(std::move(weights));
    filter.input.push_back(monic(points, static_cast<int>(i)));
    filter.input.back().resize(n, 0);
    for (int k = 0; k < outputs; ++k) filter.output[static_cast<size_t>(k)][i] = std::pow(points[i], k);
  }
  filter.weights.emplace_back(static_cast<size_t>(taps), 0.0).back() = 1;
  filter.input.push_back(monic(points, -1));
  filter.output.back().back() = 1;
  return filter;
}

}  // namespace

std::vector<MinimalFilter> minimal_filters(int taps) {
  if (taps == 1) return {make_filter(1, 1)};
  std::vector<MinimalFilter> filters;
  for (int products : {3, 4, 6}) {
    const int outputs = products - taps + 1;
    if (outputs >= 2) filters.push_back(make_filter(outputs, taps));
  }
  return filters;
}

}  // namespace collage::codegen
