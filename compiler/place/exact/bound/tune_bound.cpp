// SPDX-License-Identifier: Apache-2.0
// See tune_bound.h. With slope d of the smoothed bound at temperature T:
//
//     speed <- momentum * speed + kStride * T * d
//     x     <- x + speed
//
// The slope is a probability: where T is the natural unit of costs, so is the step.
#include "compiler/place/exact/bound/tune_bound.h"

#include <algorithm>
#include <cmath>

namespace collage::place {
namespace {

constexpr double kMomentum = 0.95;
constexpr double kStride = 3;
constexpr int kStepsPerLevel = 25;
constexpr double kCoolingFactor = 0.6;
/// The first temperature, as a part of the gap for each node.
constexpr double kStartingHeat = 0.4;
/// A level goes on while it gains more than this part of what smoothing hides.
constexpr double kMinGainOfLevel = 0.25;
/// Of the upper bound for each node: colder than this nothing changes.
constexpr double kMinTemperature = 1e-5;

}  // namespace

BoundTuner::BoundTuner(const IndexedProblem& problem, ChainBound& bound, double temperature)
    : problem_(problem),
      bound_(bound),
      smooth_(bound.layout(), problem.node_count),
      best_(bound.multipliers()),
      temperature_(temperature) {
  for (size_t m = 0; m < problem.moves.size(); ++m) {
    if (bound.first_run(static_cast<int>(m) + 1) - bound.first_run(static_cast<int>(m)) > 1) {
      free_moves_.push_back(static_cast<int>(m));
    }
  }
  for (Duration share : bound.multipliers().shares) point_.push_back(static_cast<double>(share.ps()));
  for (Duration price : bound.multipliers().prices) point_.push_back(static_cast<double>(price.ps()));
  speed_.resize(point_.size());
  slope_.resize(point_.size());
}

BoundTuner::BoundTuner(const IndexedProblem& problem, ChainBound& bound, const BoundTuner& other,
                       const Correspondence& same)
    : BoundTuner(problem, bound) {
  const size_t runs = same.run.size(), other_runs = other.bound_.runs().size();
  const auto take = [&](size_t at, size_t from) {
    point_[at] = other.point_[from];
    speed_[at] = other.speed_[from];
  };
  for (size_t r = 0; r < runs; ++r) {
    if (same.run[r] >= 0) take(r, static_cast<size_t>(same.run[r]));
  }
  for (size_t p = 0; p < same.price.size(); ++p) {
    if (same.price[p] >= 0) take(runs + p, other_runs + static_cast<size_t>(same.price[p]));
  }
  temperature_ = other.temperature_;
  value_ = other.value_;
  Multipliers best = best_;
  for (size_t r = 0; r < runs; ++r) {
    if (same.run[r] >= 0) best.shares[r] = other.best_.shares[static_cast<size_t>(same.run[r])];
  }
  for (size_t p = 0; p < same.price.size(); ++p) {
    if (same.price[p] >= 0) best.prices[p] = other.best_.prices[static_cast<size_t>(same.price[p])];
  }
  best_ = best;
  bound_.set(std::move(best));
}

bool BoundTuner::ascend(Duration upper, int steps) {
  const double nodes = std::max(1, problem_.node_count);
  const double most = static_cast<double>(upper.ps());
  if (temperature_ <= 0) {
    temperature_ = std::max(1.0, kStartingHeat * static_cast<double>((upper - bound_.lower()).ps()) / nodes);
  }
  const double coldest = std::max(1.0, kMinTemperature * most / nodes);
  Duration best = bound_.lower();
  best_ = bound_.multipliers();
  for (int done = 0; done < steps && best < upper && temperature_ > coldest; done += kStepsPerLevel) {
    const double before = value_;
    for (int i = 0; i < kStepsPerLevel; ++i) step(temperature_);
    bound_.set(rounded());
    // A picosecond at least: rounding must not keep a level alive that gains nothing.
    const double hidden = std::max(1.0, static_cast<double>(bound_.lower().ps()) - value_);
    const double gap = most - static_cast<double>(bound_.lower().ps());
    if (hidden > gap || value_ - before < kMinGainOfLevel * hidden) temperature_ *= kCoolingFactor;
    if (bound_.lower() > best && bound_.lower() < Duration::max()) {
      best = bound_.lower();
      best_ = bound_.multipliers();
    }
  }
  bound_.set(best_);
  return temperature_ > coldest;
}

void BoundTuner::step(double temperature) {
  value_ = smooth_.evaluate(point_, temperature, slope_);
  const double stride = kStride * temperature;
  // Shares of one move keep their sum: the slope within that plane.
  for (int move : free_moves_) {
    const int first = bound_.first_run(move), last = bound_.first_run(move + 1);
    double mean = 0;
    for (int r = first; r < last; ++r) mean += slope_[static_cast<size_t>(r)];
    mean /= last - first;
    for (int r = first; r < last; ++r) {
      const size_t at = static_cast<size_t>(r);
      speed_[at] = kMomentum * speed_[at] + stride * (slope_[at] - mean);
      point_[at] += speed_[at];
    }
  }
  for (size_t at = bound_.runs().size(); at < point_.size(); ++at) {
    speed_[at] = kMomentum * speed_[at] + stride * slope_[at];
    point_[at] += speed_[at];
  }
}

/// Whole picoseconds, shares with their exact sums.
Multipliers BoundTuner::rounded() const {
  Multipliers result = bound_.multipliers();
  for (int move : free_moves_) {
    Duration rest = problem_.moves[static_cast<size_t>(move)].least;
    const int last = bound_.first_run(move + 1) - 1;
    for (int r = bound_.first_run(move); r < last; ++r) {
      result.shares[static_cast<size_t>(r)] = Duration::picoseconds(std::llround(point_[static_cast<size_t>(r)]));
      rest -= result.shares[static_cast<size_t>(r)];
    }
    result.shares[static_cast<size_t>(last)] = rest;
  }
  const size_t runs = bound_.runs().size();
  for (size_t p = 0; p < result.prices.size(); ++p) {
    result.prices[p] = Duration::picoseconds(std::llround(point_[runs + p]));
  }
  return result;
}

}  // namespace collage::place
