// SPDX-License-Identifier: Apache-2.0
// See tune_bound.h. With slope d, scale s and bound L below the cost U of a solution:
//
//     speed <- momentum * speed + (1 - momentum) * length * (U - L) / sum(s d^2) * s d
//     x     <- x + speed
#include "compiler/place/tune_bound.h"

#include <algorithm>
#include <cmath>

namespace collage::place {
namespace {

constexpr double kMomentum = 0.9;
constexpr double kShorter = 0.65;
constexpr int kPatience = 25;
/// Of a candidate's cost: how far its shares move compared with prices.
constexpr double kShareScale = 0.4;

}  // namespace

BoundTuner::BoundTuner(const SearchProblem& problem, ChainBound& bound)
    : problem_(problem), bound_(bound), best_(bound.lower()) {
  for (size_t m = 0; m < problem.moves.size(); ++m) {
    const int first = bound.first_run(static_cast<int>(m)), last = bound.first_run(static_cast<int>(m) + 1);
    if (last - first < 2) continue;
    for (int r = first; r < last; ++r) {
      free_runs_.push_back(r);
      scale_.push_back(kShareScale * std::max<double>(1, static_cast<double>(problem.moves[m].cost.ps())));
      point_.push_back(static_cast<double>(bound.share(r).ps()));
    }
  }
  for (size_t p = 0; p < bound.multipliers().prices.size(); ++p) {
    const Duration dearest = bound.dearest_conversion(bound.value_of_price(static_cast<int>(p)));
    scale_.push_back(std::max<double>(1, static_cast<double>(dearest.ps())));
    point_.push_back(static_cast<double>(bound.price(static_cast<int>(p)).ps()));
  }
  speed_.resize(point_.size());
  best_point_ = point_;
}

void BoundTuner::ascend(Duration upper, int steps) {
  for (int step = 0; step < steps && best_ < upper && bound_.lower() < Duration::max(); ++step) {
    const ChainBound::Slope slope = bound_.slope();
    std::vector<double> d(point_.size(), 0);
    std::vector<char> on_chain(bound_.runs().size(), 0);
    for (int r : slope.runs) on_chain[static_cast<size_t>(r)] = 1;
    // Shares of one move keep their sum: the slope within that plane.
    for (size_t i = 0; i < free_runs_.size();) {
      size_t j = i;
      double mean = 0;
      const int move = bound_.runs()[static_cast<size_t>(free_runs_[i])].move;
      for (; j < free_runs_.size() && bound_.runs()[static_cast<size_t>(free_runs_[j])].move == move; ++j) {
        mean += on_chain[static_cast<size_t>(free_runs_[j])];
      }
      mean /= static_cast<double>(j - i);
      for (; i < j; ++i) d[i] = on_chain[static_cast<size_t>(free_runs_[i])] - mean;
    }
    for (size_t p = 0; p < slope.prices.size(); ++p) d[free_runs_.size() + p] = slope.prices[p];
    double norm = 0;
    for (size_t i = 0; i < d.size(); ++i) norm += scale_[i] * d[i] * d[i];
    if (norm == 0) break;  // the chain is a solution
    const double gap = static_cast<double>((upper - bound_.lower()).ps());
    const double factor = length_ * gap / norm;
    for (size_t i = 0; i < d.size(); ++i) {
      speed_[i] = kMomentum * speed_[i] + factor * scale_[i] * d[i] * (1 - kMomentum);
      point_[i] += speed_[i];
    }
    bound_.set(rounded());
    if (bound_.lower() > best_) {
      best_ = bound_.lower();
      best_point_ = point_;
      since_gain_ = 0;
    } else if (++since_gain_ >= kPatience) {
      since_gain_ = 0;
      length_ *= kShorter;
      point_ = best_point_;
      std::fill(speed_.begin(), speed_.end(), 0);
      bound_.set(rounded());
    }
  }
  point_ = best_point_;
  std::fill(speed_.begin(), speed_.end(), 0);
  bound_.set(rounded());
}

/// Whole picoseconds, shares with their exact sums.
Multipliers BoundTuner::rounded() const {
  Multipliers result = bound_.multipliers();
  for (size_t i = 0; i < free_runs_.size();) {
    const int move = bound_.runs()[static_cast<size_t>(free_runs_[i])].move;
    Duration rest = problem_.moves[static_cast<size_t>(move)].cost;
    for (; i < free_runs_.size() && bound_.runs()[static_cast<size_t>(free_runs_[i])].move == move; ++i) {
      const bool is_last =
          i + 1 == free_runs_.size() || bound_.runs()[static_cast<size_t>(free_runs_[i + 1])].move != move;
      const Duration share = is_last ? rest : Duration::picoseconds(std::llround(point_[i]));
      result.shares[static_cast<size_t>(free_runs_[i])] = share;
      rest -= share;
    }
  }
  for (size_t p = 0; p < result.prices.size(); ++p) {
    result.prices[p] = Duration::picoseconds(std::llround(point_[free_runs_.size() + p]));
  }
  return result;
}

}  // namespace collage::place
