// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/costs/roofline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace collage::place {
namespace {

constexpr unsigned kTerms = 3;
using Matrix = std::array<std::array<double, kTerms + 1>, kTerms>;

/// Solves the normal equations of the chosen terms by elimination. Nothing: they do not determine the constants, or one
/// of them is negative.
std::optional<std::array<double, kTerms>> solve(Matrix equations, unsigned chosen) {
  std::array<double, kTerms> result{};
  std::array<double, kTerms> scale{};
  for (unsigned i = 0; i < kTerms; ++i) scale[i] = equations[i][i];
  for (unsigned pivot = 0; pivot < kTerms; ++pivot) {
    if ((chosen >> pivot & 1) == 0) continue;
    if (equations[pivot][pivot] <= 1e-9 * scale[pivot] || scale[pivot] == 0) return std::nullopt;
    for (unsigned row = 0; row < kTerms; ++row) {
      if (row == pivot || (chosen >> row & 1) == 0) continue;
      const double factor = equations[row][pivot] / equations[pivot][pivot];
      for (unsigned column = 0; column <= kTerms; ++column) equations[row][column] -= factor * equations[pivot][column];
    }
  }
  for (unsigned i = 0; i < kTerms; ++i) {
    if ((chosen >> i & 1) == 0) continue;
    result[i] = equations[i][kTerms] / equations[i][i];
    if (!(result[i] >= 0)) return std::nullopt;
  }
  return result;
}

}  // namespace

Roofline::Roofline(const std::vector<Observation>& known) {
  for (const Observation& one : known) {
    if (one.cost > runtime::Duration()) known_.push_back(one);
  }
  if (known_.empty()) return;
  Matrix equations{};
  for (const Observation& one : known_) {
    const Terms terms = terms_of(one.features);
    const double cost = one.cost.seconds();
    for (unsigned i = 0; i < kTerms; ++i) {
      for (unsigned j = 0; j < kTerms; ++j) equations[i][j] += terms[i] / cost * terms[j] / cost;
      equations[i][kTerms] += terms[i] / cost;
    }
  }
  const auto most = static_cast<int>(std::max<size_t>(1, known_.size() / 2));
  double least_error = INFINITY;
  for (unsigned chosen = 1; chosen < 1U << kTerms; ++chosen) {
    if (std::popcount(chosen) > most) continue;
    const auto constants = solve(equations, chosen);
    if (!constants) continue;
    double error = 0;
    for (const Observation& one : known_) {
      const Terms terms = terms_of(one.features);
      double ratio = 0;
      for (unsigned i = 0; i < kTerms; ++i) ratio += (*constants)[i] * terms[i] / one.cost.seconds();
      error += (ratio - 1) * (ratio - 1);
    }
    if (error < least_error) {
      least_error = error;
      constants_ = *constants;
    }
  }
  for (const Observation& one : known_) {
    const double predicted = seconds(one.features);
    if (predicted > 0) least_ = std::min(least_, one.cost.seconds() / predicted);
  }
}

double Roofline::seconds(const CostFeatures& features) const {
  const Terms terms = terms_of(features);
  double sum = 0;
  for (unsigned i = 0; i < kTerms; ++i) sum += constants_[i] * terms[i];
  return sum;
}

runtime::Duration Roofline::expected(const CostFeatures& features) const {
  // A candidate that differs by a tenth in operations or bytes says half as much as one that is equal.
  constexpr double kReach = 0.1;
  const auto distance = [](double a, double b) {
    return a == b ? 0 : std::abs(std::log(std::max(a, 1.0) / std::max(b, 1.0)));
  };
  const double predicted = seconds(features);
  double sum = 1, weights = 1;
  for (const Observation& one : known_) {
    const double of_one = seconds(one.features);
    if (of_one <= 0) continue;
    const double far =
        distance(one.features.operations, features.operations) + distance(one.features.bytes, features.bytes);
    const double weight = 4 * std::exp2(-far / kReach);
    sum += weight * one.cost.seconds() / of_one;
    weights += weight;
  }
  return runtime::Duration::seconds(std::min(predicted, cap(features)) * sum / weights);
}

double Roofline::cap(const CostFeatures& features) const {
  double most = 0;
  for (const Observation& one : known_) {
    if (one.features.operations <= features.operations && one.features.bytes <= features.bytes) return INFINITY;
    const auto share = [](double part, double whole) { return whole > 0 ? std::min(1.0, part / whole) : 0; };
    const double smaller =
        std::max(share(features.operations, one.features.operations), share(features.bytes, one.features.bytes));
    most = std::max(most, one.cost.seconds() * smaller);
  }
  return most;
}

runtime::Duration Roofline::bound(const CostFeatures& features, double caution) const {
  if (!is_known()) return {};
  const auto count = static_cast<double>(known_.size());
  const double few = 1 + caution / (count * std::sqrt(count));
  return runtime::Duration::seconds(std::min(seconds(features) * least_, cap(features)) / few);
}

}  // namespace collage::place
