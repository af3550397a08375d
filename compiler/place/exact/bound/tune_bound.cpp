// SPDX-License-Identifier: Apache-2.0
// See tune_bound.h. With slope d of the smoothed bound at temperature T:
//
//     speed <- momentum * speed + kStride * T * d
//     x     <- x + speed
//
// The slope is a probability: where T is the natural unit of costs, so is the step. The price of a limit moves as its
// expected use differs from its capacity, as a part of that:
//
//     d = expected use / capacity - 1, from -1 to 1          in units of what one run uses of it
#include "compiler/place/exact/bound/tune_bound.h"

#include <algorithm>
#include <cmath>

namespace collage::place {
namespace {

constexpr double kMomentum = 0.95;
constexpr double kStride = 3;
constexpr double kLimitStride = 1;
constexpr int kStepsPerLevel = 25;
constexpr double kCoolingFactor = 0.6;
/// The first temperature, as a part of the gap for each node.
constexpr double kStartingHeat = 0.4;
/// A level goes on while it gains more than this part of what smoothing hides.
constexpr double kMinGainOfLevel = 0.25;

}  // namespace

BoundTuner::BoundTuner(const IndexedProblem& problem, ChainBound& bound, double temperature)
    : problem_(problem), bound_(bound), smooth_(bound.layout()), temperature_(temperature) {
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
  least_temperature_ = other.least_temperature_;
  limit_point_ = other.limit_point_;
  limit_speed_ = other.limit_speed_;
  const Multipliers& others = other.bound_.multipliers();
  Multipliers best = bound.multipliers();
  for (RunId r : same.run.ids()) {
    const RunId from = same.run[r];
    if (!from.is_valid()) continue;
    point_.shares[r] = other.point_.shares[from];
    speed_.shares[r] = other.speed_.shares[from];
    best.shares[r] = others.shares[from];
  }
  for (PriceId p : same.price.ids()) {
    const PriceId from = same.price[p];
    if (!from.is_valid()) continue;
    point_.prices[p] = other.point_.prices[from];
    speed_.prices[p] = other.speed_.prices[from];
    best.prices[p] = others.prices[from];
  }
  bound_.set(std::move(best));
}

void BoundTuner::tune_limits(TunedLimits limits) {
  limits_ = std::move(limits);
  if (limit_point_.empty()) limit_point_ = limits_.prices;
  limit_speed_.resize(limits_.prices.size(), 0);
  Table<LimitId, double> sum(limits_.prices.size(), 0), squares(limits_.prices.size(), 0);
  for (const RunUse& use : *limits_.uses) {
    sum[use.limit] += use.amount;
    squares[use.limit] += use.amount * use.amount;
  }
  limit_unit_.clear();
  for (LimitId l : sum.ids()) limit_unit_.push_back(squares[l] > 0 ? sum[l] / squares[l] : 0);
  credit_ = limits_.set(limits_.prices);
}

Cost BoundTuner::lower() const {
  const Cost chain = bound_.lower();
  return chain >= Cost::max() ? chain : chain - credit_;
}

bool BoundTuner::ascend(Cost upper, int steps) {
  const double nodes = static_cast<double>(std::max<size_t>(1, problem_.node_count));
  const double most = static_cast<double>(upper.count());
  if (temperature_ <= 0) {
    temperature_ = std::max(1.0, kStartingHeat * static_cast<double>((upper - lower()).count()) / nodes);
  }
  const double least_temperature = std::max(1.0, least_temperature_ * most / nodes);
  Cost best = lower();
  Multipliers best_multipliers = bound_.multipliers();
  LimitPrices best_prices = limits_.prices;
  for (int done = 0; done < steps && best < upper && temperature_ > least_temperature; done += kStepsPerLevel) {
    const double before = value_;
    for (int i = 0; i < kStepsPerLevel; ++i) step(temperature_);
    if (limits_.uses != nullptr) credit_ = limits_.set(limits_.prices = limit_point_);
    bound_.set(rounded());
    // One picosecond or picojoule at least: rounding must not keep a level alive that gains nothing.
    const double hidden = std::max(1.0, static_cast<double>(lower().count()) - value_);
    const double gap = most - static_cast<double>(lower().count());
    if (hidden > gap || value_ - before < kMinGainOfLevel * hidden) temperature_ *= kCoolingFactor;
    if (lower() > best && lower() < Cost::max()) {
      best = lower();
      best_multipliers = bound_.multipliers();
      best_prices = limits_.prices;
    }
  }
  if (limits_.uses != nullptr) credit_ = limits_.set(limits_.prices = best_prices);
  bound_.set(std::move(best_multipliers));
  return temperature_ > least_temperature;
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
  if (limits_.uses != nullptr) step_of_limits(temperature);
}

void BoundTuner::step_of_limits(double temperature) {
  Table<LimitId, double> used(limit_point_.size(), 0), change(limit_point_.size(), 0);
  for (const RunUse& use : *limits_.uses) used[use.limit] += slope_.shares[use.run] * use.amount;
  for (LimitId l : used.ids()) {
    if (limits_.is_tuned[l] == 0) continue;
    const LimitId within = limits_.within[l];
    const double capacity = limits_.capacity[l], before = limit_point_[l];
    const double all = used[l] + (within.is_valid() ? used[within] : 0);
    value_ -= before * capacity;
    const double slope = std::clamp(all / std::max(1.0, capacity) - 1, -1.0, 1.0);
    limit_speed_[l] = kMomentum * limit_speed_[l] + kLimitStride * temperature * slope * limit_unit_[l];
    limit_point_[l] = std::max(0.0, before + limit_speed_[l]);
    if (limit_point_[l] <= 0) limit_speed_[l] = 0;
    change[l] += limit_point_[l] - before;
    if (within.is_valid()) change[within] += limit_point_[l] - before;
  }
  for (const RunUse& use : *limits_.uses) point_.shares[use.run] += change[use.limit] * use.amount;
}

/// Whole numbers, shares with their exact sums.
Multipliers BoundTuner::rounded() const {
  Multipliers result = bound_.multipliers();
  for (MoveId move : problem_.moves.ids()) {
    if (limits_.uses != nullptr) result.shares[bound_.runs_of(move).front()] = problem_.moves[move].least.count();
  }
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
