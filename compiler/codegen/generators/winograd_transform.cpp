// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/generators/winograd_transform.h"

#include <cmath>

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

class Multiplier {
 public:
  Multiplier(Nest& nest, const Matrix& matrix, const std::vector<Expr>& vector)
      : nest_(nest), matrix_(matrix), vector_(vector), rows_(matrix.size()) {}

  std::vector<Expr> run() {
    for (size_t i = 0; i < matrix_.size(); ++i) {
      if (rows_[i]) continue;
      if (!share(i)) rows_[i] = sum(i, [](size_t) { return true; });
    }
    return rows_;
  }

 private:
  /// Finds a later row that is this one but for the signs of some columns, and makes both.
  bool share(size_t i) {
    for (size_t j = i + 1; j < matrix_.size(); ++j) {
      if (rows_[j] || !are_alike(i, j)) continue;
      const auto is_equal = [&](size_t k) { return matrix_[i][k] == matrix_[j][k]; };
      const Expr equal = sum(i, is_equal);
      const Expr opposite = sum(i, [&](size_t k) { return !is_equal(k); });
      rows_[i] = nest_.let("t", binary(Op::FAdd, equal, opposite));
      rows_[j] = nest_.let("t", binary(Op::FSub, equal, opposite));
      return true;
    }
    return false;
  }

  bool are_alike(size_t i, size_t j) const {
    bool has_equal = false;
    bool has_opposite = false;
    for (size_t k = 0; k < vector_.size(); ++k) {
      if (std::abs(matrix_[i][k]) != std::abs(matrix_[j][k])) return false;
      if (matrix_[i][k] == 0) continue;
      (matrix_[i][k] == matrix_[j][k] ? has_equal : has_opposite) = true;
    }
    return has_equal && has_opposite;
  }

  /// The row's terms of some columns; those without a multiplication first.
  template <typename Predicate>
  Expr sum(size_t row, Predicate has) {
    Expr total;
    for (const double unit : {1.0, -1.0, 0.0}) {
      for (size_t k = 0; k < vector_.size(); ++k) {
        const double factor = matrix_[row][k];
        if (factor == 0 || !has(k) || (unit != 0 ? factor != unit : std::abs(factor) == 1)) continue;
        total = plus(total, factor, vector_[k]);
      }
    }
    return nest_.let("t", total ? total : nest_.zero(nest_.lanes()));
  }

  Expr plus(const Expr& total, double factor, const Expr& value) {
    if (factor == 1) return total ? binary(Op::FAdd, total, value) : value;
    if (factor == -1 && total) return binary(Op::FSub, total, value);
    const Expr constant = nest_.constant(static_cast<float>(factor), nest_.lanes());
    return total ? fma(constant, value, total) : binary(Op::FMul, constant, value);
  }

  Nest& nest_;
  const Matrix& matrix_;
  const std::vector<Expr>& vector_;
  std::vector<Expr> rows_;
};

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

std::vector<Expr> transformed(Nest& nest, const Matrix& matrix, const std::vector<Expr>& vector) {
  return Multiplier(nest, matrix, vector).run();
}

}  // namespace collage::codegen
