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
/// Of the bound for each node: what `chances` looks at before anything was tuned.
constexpr double kChanceTemperature = 0.01;

}  // namespace

BoundTuner::BoundTuner(const IndexedProblem& problem, ChainBound& bound, double temperature)
    : problem_(problem), bound_(bound), smooth_(bound.layout()), best_(bound.multipliers()), temperature_(temperature) {
  for (MoveId m : problem.moves.ids()) {
    if (bound.runs_of(m).size() > 1) free_moves_.push_back(m);
  }
  for (int64_t share : bound.multipliers().shares) point_.shares.push_back(static_cast<double>(share));
  for (int64_t price : bound.multipliers().prices) point_.prices.push_back(static_cast<double>(price));
  for (SmoothPoint* zero : {&speed_, &slope_}) {
    zero->shares.resize(point_.shares.size());
    zero->prices.resize(point_.prices.size());
  }
}

BoundTuner::BoundTuner(const IndexedProblem& problem, ChainBound& bound, const BoundTuner& other,
                       const Correspondence& same)
    : BoundTuner(problem, bound) {
  temperature_ = other.temperature_;
  value_ = other.value_;
  coldest_part_ = other.coldest_part_;
  Multipliers best = best_;
  for (RunId r : same.run.ids()) {
    const RunId from = same.run[r];
    if (!from.is_valid()) continue;
    point_.shares[r] = other.point_.shares[from];
    speed_.shares[r] = other.speed_.shares[from];
    best.shares[r] = other.best_.shares[from];
  }
  for (PriceId p : same.price.ids()) {
    const PriceId from = same.price[p];
    if (!from.is_valid()) continue;
    point_.prices[p] = other.point_.prices[from];
    speed_.prices[p] = other.speed_.prices[from];
    best.prices[p] = other.best_.prices[from];
  }
  best_ = best;
  bound_.set(std::move(best));
}

bool BoundTuner::ascend(Cost upper, int steps) {
  const double nodes = static_cast<double>(std::max<size_t>(1, problem_.node_count));
  const double most = static_cast<double>(upper.count());
  if (temperature_ <= 0) {
    temperature_ = std::max(1.0, kStartingHeat * static_cast<double>((upper - bound_.lower()).count()) / nodes);
  }
  const double coldest = std::max(1.0, coldest_part_ * most / nodes);
  Cost best = bound_.lower();
  best_ = bound_.multipliers();
  for (int done = 0; done < steps && best < upper && temperature_ > coldest; done += kStepsPerLevel) {
    const double before = value_;
    for (int i = 0; i < kStepsPerLevel; ++i) step(temperature_);
    bound_.set(rounded());
    // One picosecond or picojoule at least: rounding must not keep a level alive that gains nothing.
    const double hidden = std::max(1.0, static_cast<double>(bound_.lower().count()) - value_);
    const double gap = most - static_cast<double>(bound_.lower().count());
    if (hidden > gap || value_ - before < kMinGainOfLevel * hidden) temperature_ *= kCoolingFactor;
    if (bound_.lower() > best && bound_.lower() < Cost::max()) {
      best = bound_.lower();
      best_ = bound_.multipliers();
    }
  }
  bound_.set(best_);
  return temperature_ > coldest;
}

void BoundTuner::shift(const Table<RunId, int64_t>& more) {
  for (RunId r : more.ids()) point_.shares[r] += static_cast<double>(more[r]);
}

Table<MoveId, double> BoundTuner::chances(double cooling) {
  const double nodes = static_cast<double>(std::max<size_t>(1, problem_.node_count));
  const double cold = kChanceTemperature * std::abs(static_cast<double>(bound_.lower().count())) / nodes;
  smooth_.evaluate(point_, std::max(1.0, cooling * (temperature_ > 0 ? temperature_ : cold)), slope_);
  Table<MoveId, double> chances;
  for (MoveId m : problem_.moves.ids()) {
    double sum = 0;
    for (RunId r : bound_.runs_of(m)) sum += slope_.shares[r];
    chances.push_back(sum / static_cast<double>(bound_.runs_of(m).size()));
  }
  return chances;
}

void BoundTuner::step(double temperature) {
  value_ = smooth_.evaluate(point_, temperature, slope_);
  const double stride = kStride * temperature;
  // Shares of one move keep their sum: the slope within that plane.
  for (MoveId move : free_moves_) {
    const IdRange<RunId> runs = bound_.runs_of(move);
    double mean = 0;
    for (RunId r : runs) mean += slope_.shares[r];
    mean /= static_cast<double>(runs.size());
    for (RunId r : runs) {
      speed_.shares[r] = kMomentum * speed_.shares[r] + stride * (slope_.shares[r] - mean);
      point_.shares[r] += speed_.shares[r];
    }
  }
  for (PriceId p : point_.prices.ids()) {
    speed_.prices[p] = kMomentum * speed_.prices[p] + stride * slope_.prices[p];
    point_.prices[p] += speed_.prices[p];
  }
}

/// Whole numbers, shares with their exact sums.
Multipliers BoundTuner::rounded() const {
  Multipliers result = bound_.multipliers();
  for (MoveId move : free_moves_) {
    int64_t rest = problem_.moves[move].least.count();
    const IdRange<RunId> runs = bound_.runs_of(move);
    const RunId last = advance(runs.last_plus_one(), -1);
    for (RunId r : IdRange(runs.front(), last)) {
      result.shares[r] = std::llround(point_.shares[r]);
      rest -= result.shares[r];
    }
    result.shares[last] = rest;
  }
  for (PriceId p : result.prices.ids()) result.prices[p] = std::llround(point_.prices[p]);
  return result;
}

}  // namespace collage::place
