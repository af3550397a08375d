// SPDX-License-Identifier: Apache-2.0
// See soft_min.h. Backward for the soft costs and the chance of every continuation, forward for the chance of every
// run: the algorithm of hidden Markov models. What a value gets back (phi) stays a hard minimum; its slope is soft.
#include "compiler/place/exact/bound/soft_min.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/place/exact/bound/relaxation_cells.h"

namespace collage::place {
namespace {

constexpr double kNever = 1e300;
/// Chains this many temperatures above the cheapest do not count.
constexpr double kMaxTemperaturesAbove = 24;
constexpr double kMinChance = 1e-8;

/// e^-x for 0 <= x < kMaxTemperaturesAbove to 1e-6, the same on every machine: 2^-n * p(f), with n + f = x / ln 2.
double decay(double x) {
  const double y = x * 1.4426950408889634;
  const auto n = static_cast<int64_t>(y);
  const double f = (y - static_cast<double>(n)) * 0.6931471805599453;
  // Taylor of e^-f, f < 0.7.
  const double p =
      1 - f * (1 - f * (1.0 / 2 - f * (1.0 / 6 - f * (1.0 / 24 - f * (1.0 / 120 - f * (1.0 / 720 - f / 5040))))));
  return p * std::bit_cast<double>(static_cast<uint64_t>(1023 - n) << 52);
}

bool is_never(double cost) {
  return cost > kNever / 2;
}

double to_double(int64_t cell) {
  return is_no_way(cell) ? kNever : static_cast<double>(cell);
}

}  // namespace

SmoothChain::SmoothChain(const ChainLayout& layout, int node_count)
    : layout_(layout),
      node_count_(static_cast<size_t>(node_count)),
      cells_(static_cast<size_t>(layout.cell_count)),
      gains_(static_cast<size_t>(layout.gain_count)),
      start_(layout.start.size()),
      end_(layout.end.size()),
      weight_(layout.pass_runs.size()),
      chance_of_start_(layout.start.size()),
      chance_of_end_(layout.end.size()),
      chance_of_cell_(static_cast<size_t>(layout.cell_count)),
      writing_of_cell_(static_cast<size_t>(layout.cell_count), -1) {
  for (size_t w = 0; w < layout.writings.size(); ++w) {
    const ChainLayout::Writing& writing = layout.writings[w];
    for (size_t i = 0; i < writing.base.size(); ++i) {
      writing_of_cell_[static_cast<size_t>(writing.cells) + i] = static_cast<int>(w);
    }
  }
  int total = 0;
  for (size_t q = 0; q <= node_count_; ++q) {
    const int starts = layout.starts_from[q + 1] - layout.starts_from[q];
    for (int e = layout.ends_from[q]; e < layout.ends_from[q + 1]; ++e) {
      link_weights_from_.push_back(total);
      total += starts;
    }
  }
  link_weight_.resize(static_cast<size_t>(total));
}

double SmoothChain::evaluate(const std::vector<double>& point, double temperature, std::vector<double>& slope) {
  std::copy(point.begin() + static_cast<std::ptrdiff_t>(layout_.runs.size()), point.end(), cells_.begin());
  price_cells(layout_, kNever, !is_priced_, gains_, cells_);
  is_priced_ = true;
  backward(point, temperature);
  std::fill(slope.begin(), slope.end(), 0.0);
  forward(slope);
  give_back(temperature, slope);
  double value = end_[0];
  for (int cell : layout_.input_cells) value += cells_[static_cast<size_t>(cell)];
  return value;
}

void SmoothChain::backward(const std::vector<double>& point, double temperature) {
  const double scale = 1 / temperature;
  for (size_t q = node_count_ + 1; q-- > 0;) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int s = first; s < last; ++s) {
      const size_t from = static_cast<size_t>(layout_.start_from[static_cast<size_t>(s)]);
      const size_t to = static_cast<size_t>(layout_.start_from[static_cast<size_t>(s) + 1]);
      double least = kNever;
      for (size_t k = from; k < to; ++k) {
        double cost = point[static_cast<size_t>(layout_.pass_runs[k])] + end_[static_cast<size_t>(layout_.pass_end[k])];
        for (int t = layout_.terms_from[k]; t < layout_.terms_from[k + 1]; ++t) {
          cost += cells_[static_cast<size_t>(layout_.terms[static_cast<size_t>(t)])];
        }
        weight_[k] = cost;
        least = std::min(least, cost);
      }
      if (is_never(least)) {
        start_[static_cast<size_t>(s)] = from == to && q == node_count_ ? 0 : kNever;
        std::fill(weight_.begin() + static_cast<std::ptrdiff_t>(from),
                  weight_.begin() + static_cast<std::ptrdiff_t>(to), 0.0);
        continue;
      }
      double sum = 0;
      for (size_t k = from; k < to; ++k) {
        const double above = (weight_[k] - least) * scale;
        weight_[k] = above < kMaxTemperaturesAbove ? decay(above) : 0;
        sum += weight_[k];
      }
      const double norm = 1 / sum;
      for (size_t k = from; k < to; ++k) weight_[k] *= norm;
      start_[static_cast<size_t>(s)] = least - temperature * std::log(sum);
    }
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      const size_t at = static_cast<size_t>(e);
      double* weights = link_weight_.data() + link_weights_from_[at];
      const size_t width = layout_.end[at].size();
      const int* link = layout_.links.data() + layout_.link_from[at];
      double least = kNever;
      for (int s = first; s < last; ++s) {
        double cost = start_[static_cast<size_t>(s)];
        for (size_t i = 0; i < width; ++i) cost += cells_[static_cast<size_t>(*link++)];
        weights[s - first] = cost;
        least = std::min(least, cost);
      }
      if (is_never(least)) {
        end_[at] = kNever;
        std::fill(weights, weights + (last - first), 0.0);
        continue;
      }
      double sum = 0;
      for (int s = 0; s < last - first; ++s) {
        const double above = (weights[s] - least) * scale;
        weights[s] = above < kMaxTemperaturesAbove ? decay(above) : 0;
        sum += weights[s];
      }
      for (int s = 0; s < last - first; ++s) weights[s] /= sum;
      end_[at] = least - temperature * std::log(sum);
    }
  }
}

void SmoothChain::forward(std::vector<double>& slope) {
  std::fill(chance_of_start_.begin(), chance_of_start_.end(), 0.0);
  std::fill(chance_of_end_.begin(), chance_of_end_.end(), 0.0);
  std::fill(chance_of_cell_.begin(), chance_of_cell_.end(), 0.0);
  chance_of_end_[0] = 1;
  for (size_t q = 0; q < node_count_; ++q) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      const size_t at = static_cast<size_t>(e);
      if (chance_of_end_[at] < kMinChance) continue;
      const double* weights = link_weight_.data() + link_weights_from_[at];
      const size_t width = layout_.end[at].size();
      const int* link = layout_.links.data() + layout_.link_from[at];
      for (int s = first; s < last; ++s, link += width) {
        const double chance = chance_of_end_[at] * weights[s - first];
        chance_of_start_[static_cast<size_t>(s)] += chance;
        if (chance < kMinChance) continue;
        for (size_t i = 0; i < width; ++i) chance_of_cell_[static_cast<size_t>(link[i])] += chance;
      }
    }
    for (int k = layout_.pass_from[q]; k < layout_.pass_from[q + 1]; ++k) {
      const size_t at = static_cast<size_t>(k);
      if (weight_[at] <= 0) continue;
      const double chance = chance_of_start_[static_cast<size_t>(layout_.pass_start[at])] * weight_[at];
      if (chance < kMinChance) continue;
      slope[static_cast<size_t>(layout_.pass_runs[at])] = chance;
      chance_of_end_[static_cast<size_t>(layout_.pass_end[at])] += chance;
      for (int t = layout_.terms_from[at]; t < layout_.terms_from[at + 1]; ++t) {
        chance_of_cell_[static_cast<size_t>(layout_.terms[static_cast<size_t>(t)])] += chance;
      }
    }
  }
}

void SmoothChain::give_back(double temperature, std::vector<double>& slope) {
  const size_t runs = layout_.runs.size();
  const size_t prices = layout_.value_of_price.size();
  for (size_t p = 0; p < prices; ++p) slope[runs + p] = chance_of_cell_[p];
  std::vector<double> weights;
  for (size_t cell = prices; cell < chance_of_cell_.size(); ++cell) {
    const double chance = chance_of_cell_[cell];
    if (chance < kMinChance) continue;
    const ChainLayout::Writing& writing = layout_.writings[static_cast<size_t>(writing_of_cell_[cell])];
    if (!writing.pays) continue;
    const ChainLayout::ValueFormats& value = layout_.values[static_cast<size_t>(writing.value)];
    const uint32_t needs = static_cast<uint32_t>(cell - static_cast<size_t>(writing.cells)) | value.always;
    weights.assign(writing.base.size(), kNever);
    double least = kNever, sum = 0;
    for (uint32_t subset = 0; subset < weights.size(); ++subset) {
      if ((subset & needs) != needs) continue;
      double cost = to_double(writing.base[subset]);
      for (int r : writing.outside) {
        cost -= gains_[static_cast<size_t>(value.readers[static_cast<size_t>(r)].gains) + subset];
      }
      weights[subset] = cost;
      least = std::min(least, cost);
    }
    if (is_never(least)) continue;
    for (double& weight : weights) {
      const double above = (weight - least) / temperature;
      weight = above < kMaxTemperaturesAbove ? decay(above) : 0;
      sum += weight;
    }
    for (uint32_t subset = 0; subset < weights.size(); ++subset) {
      const double share = chance * weights[subset] / sum;
      if (share < kMinChance) continue;
      for (int r : writing.outside) {
        const ChainLayout::Reader& reader = value.readers[static_cast<size_t>(r)];
        if (reader.first_price < 0) continue;
        int price = reader.first_price, highest = -1;
        for (uint32_t wanted = reader.wanted; wanted != 0; wanted &= wanted - 1, ++price) {
          if ((subset & wanted & -wanted) == 0) continue;
          if (highest < 0 || cells_[static_cast<size_t>(price)] > cells_[static_cast<size_t>(highest)]) highest = price;
        }
        if (highest >= 0) slope[runs + static_cast<size_t>(highest)] -= share;
      }
    }
  }
}

}  // namespace collage::place
