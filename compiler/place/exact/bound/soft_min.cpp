// SPDX-License-Identifier: Apache-2.0
// See soft_min.h. Backward for the soft costs and the chance of every continuation, forward for the chance of every
// run: the algorithm of hidden Markov models. What a value gets back (phi) stays a hard minimum; its slope is soft.
#include "compiler/place/exact/bound/soft_min.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

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

SmoothChain::SmoothChain(const ChainLayout& layout)
    : layout_(layout),
      cells_(layout.cell_count),
      gains_(layout.gain_count),
      start_(layout.start.size()),
      end_(layout.end.size()),
      weight_(layout.pass_runs.size()),
      chance_of_start_(layout.start.size()),
      chance_of_end_(layout.end.size()),
      chance_of_cell_(layout.cell_count),
      writing_of_cell_(layout.cell_count) {
  for (WritingId w : layout.writings.ids()) {
    const ChainLayout::Writing& writing = layout.writings[w];
    for (CellId cell : IdRange(writing.cells, advance(writing.cells, std::ssize(writing.base)))) {
      writing_of_cell_[cell] = w;
    }
  }
  LinkWeightId total = 0;
  for (Position q : layout.crossing.ids()) {
    for (size_t e = 0; e < layout.ends_at[q].size(); ++e) {
      total = advance(total, layout.starts_at[q].size());
      link_weights_of_.close(total);
    }
  }
  link_weight_.resize(total.slot());
}

double SmoothChain::evaluate(const SmoothPoint& point, double temperature, SmoothPoint& slope) {
  std::copy(point.prices.begin(), point.prices.end(), cells_.begin());
  price_cells(layout_, kNever, !is_priced_, gains_, cells_);
  is_priced_ = true;
  backward(point, temperature);
  std::fill(slope.shares.begin(), slope.shares.end(), 0.0);
  std::fill(slope.prices.begin(), slope.prices.end(), 0.0);
  forward(slope);
  give_back(temperature, slope);
  double value = end_[0];
  for (CellId cell : layout_.input_cells) value += cells_[cell];
  return value;
}

void SmoothChain::backward(const SmoothPoint& point, double temperature) {
  const double scale = 1 / temperature;
  for (Position q = past(); q.is_valid(); q = advance(q, -1)) {
    const IdRange<StartId> starts = layout_.starts_at[q];
    for (StartId s : starts) {
      const IdRange<PassId> pass = layout_.pass_of[s];
      double least = kNever;
      for (PassId k : pass) {
        double cost = point.shares[layout_.pass_runs[k]] + end_[layout_.pass_end[k]];
        for (TermId t : layout_.terms_of[k]) cost += cells_[layout_.terms[t]];
        weight_[k] = cost;
        least = std::min(least, cost);
      }
      if (is_never(least)) {
        start_[s] = pass.empty() && q == past() ? 0 : kNever;
        for (PassId k : pass) weight_[k] = 0;
        continue;
      }
      double sum = 0;
      for (PassId k : pass) {
        const double above = (weight_[k] - least) * scale;
        weight_[k] = above < kMaxTemperaturesAbove ? decay(above) : 0;
        sum += weight_[k];
      }
      const double norm = 1 / sum;
      for (PassId k : pass) weight_[k] *= norm;
      start_[s] = least - temperature * std::log(sum);
    }
    for (EndId e : layout_.ends_at[q]) {
      const std::span<double> weights(link_weight_.data() + link_weights_of_[e].front().slot(), starts.size());
      const size_t width = layout_.end[e].size();
      const CellId* link = layout_.links.data() + layout_.links_of[e].front().slot();
      double least = kNever;
      double* weight = weights.data();
      for (StartId s : starts) {
        double cost = start_[s];
        for (size_t i = 0; i < width; ++i) cost += cells_[*link++];
        *weight++ = cost;
        least = std::min(least, cost);
      }
      if (is_never(least)) {
        end_[e] = kNever;
        std::fill(weights.begin(), weights.end(), 0.0);
        continue;
      }
      double sum = 0;
      for (double& of_start : weights) {
        const double above = (of_start - least) * scale;
        of_start = above < kMaxTemperaturesAbove ? decay(above) : 0;
        sum += of_start;
      }
      for (double& of_start : weights) of_start /= sum;
      end_[e] = least - temperature * std::log(sum);
    }
  }
}

void SmoothChain::forward(SmoothPoint& slope) {
  std::fill(chance_of_start_.begin(), chance_of_start_.end(), 0.0);
  std::fill(chance_of_end_.begin(), chance_of_end_.end(), 0.0);
  std::fill(chance_of_cell_.begin(), chance_of_cell_.end(), 0.0);
  chance_of_end_[0] = 1;
  for (Position q : IdRange<Position>(0, past())) {
    const IdRange<StartId> starts = layout_.starts_at[q];
    for (EndId e : layout_.ends_at[q]) {
      if (chance_of_end_[e] < kMinChance) continue;
      const double* weight = link_weight_.data() + link_weights_of_[e].front().slot();
      const size_t width = layout_.end[e].size();
      const CellId* link = layout_.links.data() + layout_.links_of[e].front().slot();
      for (StartId s : starts) {
        const double chance = chance_of_end_[e] * *weight++;
        chance_of_start_[s] += chance;
        if (chance >= kMinChance) {
          for (size_t i = 0; i < width; ++i) chance_of_cell_[link[i]] += chance;
        }
        link += width;
      }
    }
    for (PassId k : layout_.pass_at[q]) {
      if (weight_[k] <= 0) continue;
      const double chance = chance_of_start_[layout_.pass_start[k]] * weight_[k];
      if (chance < kMinChance) continue;
      slope.shares[layout_.pass_runs[k]] = chance;
      chance_of_end_[layout_.pass_end[k]] += chance;
      for (TermId t : layout_.terms_of[k]) chance_of_cell_[layout_.terms[t]] += chance;
    }
  }
}

void SmoothChain::give_back(double temperature, SmoothPoint& slope) {
  for (PriceId p : slope.prices.ids()) slope.prices[p] = chance_of_cell_[ChainLayout::cell_of(p)];
  std::vector<double> weights;
  for (CellId cell : IdRange(CellId(slope.prices.size()), chance_of_cell_.next_id())) {
    const double chance = chance_of_cell_[cell];
    if (chance < kMinChance) continue;
    const ChainLayout::Writing& writing = layout_.writings[writing_of_cell_[cell]];
    if (!writing.pays) continue;
    const ChainLayout::ValueFormats& value = layout_.values[writing.value];
    const size_t needs = (cell.slot() - writing.cells.slot()) | value.always;
    weights.assign(writing.base.size(), kNever);
    double least = kNever, sum = 0;
    for (uint32_t subset = 0; subset < weights.size(); ++subset) {
      if ((subset & needs) != needs) continue;
      double cost = to_double(writing.base[subset]);
      for (ReaderId r : writing.outside) cost -= gains_[advance(value.readers[r].gains, subset)];
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
      for (ReaderId r : writing.outside) {
        const ChainLayout::Reader& reader = value.readers[r];
        if (!reader.first_price.is_valid()) continue;
        const auto amount = [&](PriceId price) { return cells_[ChainLayout::cell_of(price)]; };
        PriceId price = reader.first_price, highest;
        for (uint32_t wanted = reader.wanted; wanted != 0; wanted &= wanted - 1) {
          if ((subset & wanted & -wanted) != 0 && (!highest.is_valid() || amount(price) > amount(highest))) {
            highest = price;
          }
          price = advance(price, 1);
        }
        if (highest.is_valid()) slope.prices[highest] -= share;
      }
    }
  }
}

}  // namespace collage::place
