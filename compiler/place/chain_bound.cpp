// SPDX-License-Identifier: Apache-2.0
// See chain_bound.h. The pass, backwards over positions:
//
//     start(q, reads)  = min over runs that begin at q and read so:
//                            share + prices paid + phi of what it writes + rest(end)
//     rest(q, written) = min over reads:  sum over crossing values of phi(written, reads) + start(q, reads)
#include "compiler/place/chain_bound.h"

#include <algorithm>
#include <bit>

namespace collage::place {

ChainBound::ChainBound(SearchProblem& problem)
    : problem_(problem),
      layout_(problem),
      cells_(static_cast<size_t>(layout_.cell_count)),
      gains_(static_cast<size_t>(layout_.gain_count)),
      local_(layout_.pass_runs.size()),
      start_(layout_.start.size()),
      end_(layout_.end.size()) {
  multipliers_.prices.resize(layout_.value_of_price.size());
  for (size_t m = 0; m < problem.moves.size(); ++m) {
    const Move& move = problem.moves[m];
    const int64_t each = move.cost.ps() / static_cast<int64_t>(move.nodes.size());
    const size_t first = multipliers_.shares.size();
    Duration shared;
    for (int r = first_run(static_cast<int>(m)); r < first_run(static_cast<int>(m) + 1); ++r) {
      const Run& run = layout_.runs[static_cast<size_t>(r)];
      multipliers_.shares.push_back(Duration::picoseconds(each * (run.end - run.begin)));
      shared += multipliers_.shares.back();
    }
    multipliers_.shares[first] += move.cost - shared;
  }
  for (const ChainLayout::Writing& writing : layout_.writings) {
    std::copy(writing.base.begin(), writing.base.end(), cells_.begin() + writing.cells);
  }
  // What never changes is worked out once: with prices of zero.
  for (ChainLayout::Writing& writing : layout_.writings) {
    if (layout_.values[static_cast<size_t>(writing.value)].exact) writing.pays = true;
  }
  set(multipliers_);
  for (ChainLayout::Writing& writing : layout_.writings) {
    const ChainLayout::ValueFormats& formats = layout_.values[static_cast<size_t>(writing.value)];
    writing.pays = formats.exact && std::any_of(writing.outside.begin(), writing.outside.end(), [&](int r) {
                     return formats.readers[static_cast<size_t>(r)].first_price >= 0;
                   });
  }
}

void ChainBound::set(Multipliers multipliers) {
  multipliers_ = std::move(multipliers);
  price_cells();
  backward();
}

void ChainBound::price_cells() {
  const size_t prices = multipliers_.prices.size();
  for (size_t p = 0; p < prices; ++p) cells_[p] = multipliers_.prices[p].ps();
  for (const ChainLayout::ValueFormats& value : layout_.values) {
    if (!value.exact) continue;
    const size_t subsets = size_t{1} << value.bits.size();
    for (const ChainLayout::Reader& reader : value.readers) {
      // gain(F) = gain(F without its highest format), or that format's price where it is more.
      int64_t* gain = &gains_[static_cast<size_t>(reader.gains)];
      gain[0] = -kNoWay;
      for (size_t subset = 1; subset < subsets; ++subset) {
        const uint32_t high = std::bit_floor(static_cast<uint32_t>(subset));
        int64_t best = gain[subset ^ high];
        if ((reader.wanted & high) != 0) {
          const int at = std::popcount(reader.wanted & (high - 1));
          best = std::max(best, reader.first_price < 0 ? 0 : cells_[static_cast<size_t>(reader.first_price + at)]);
        }
        gain[subset] = best;
      }
    }
  }
  for (const ChainLayout::Writing& writing : layout_.writings) {
    if (!writing.pays) continue;
    const ChainLayout::ValueFormats& value = layout_.values[static_cast<size_t>(writing.value)];
    const size_t subsets = writing.base.size();
    int64_t* phi = &cells_[static_cast<size_t>(writing.cells)];
    for (size_t subset = 0; subset < subsets; ++subset) {
      phi[subset] = (subset & value.always) == value.always ? writing.base[subset] : kNoWay;
    }
    for (int r : writing.outside) {
      const int64_t* gain = &gains_[static_cast<size_t>(value.readers[static_cast<size_t>(r)].gains)];
      for (size_t subset = 0; subset < subsets; ++subset) phi[subset] = std::min(kNoWay, phi[subset] - gain[subset]);
    }
    for (size_t bit = 1; bit < subsets; bit <<= 1) {
      for (size_t subset = 0; subset < subsets; ++subset) phi[subset] = std::min(phi[subset], phi[subset | bit]);
    }
  }
}

int64_t ChainBound::cells_of_link(int end, int start) const {
  const std::vector<int>& writings = layout_.end[static_cast<size_t>(end)];
  const int position_start = start;
  const int* link = &layout_.links[static_cast<size_t>(layout_.link_from[static_cast<size_t>(end)] +
                                                       position_start * static_cast<int>(writings.size()))];
  int64_t cost = 0;
  for (size_t i = 0; i < writings.size(); ++i) cost = std::min(kNoWay, cost + cells_[static_cast<size_t>(link[i])]);
  return cost;
}

void ChainBound::backward() {
  const size_t count = static_cast<size_t>(problem_.node_count);
  std::fill(start_.begin(), start_.end(), kNoWay);
  start_[static_cast<size_t>(layout_.starts_from[count])] = 0;
  for (size_t q = count + 1; q-- > 0;) {
    for (int k = layout_.pass_from[q]; k < layout_.pass_from[q + 1]; ++k) {
      const size_t at = static_cast<size_t>(k);
      int64_t local = multipliers_.shares[static_cast<size_t>(layout_.pass_runs[at])].ps();
      for (int t = layout_.terms_from[at]; t < layout_.terms_from[at + 1]; ++t) {
        local = std::min(kNoWay, local + cells_[static_cast<size_t>(layout_.terms[static_cast<size_t>(t)])]);
      }
      local_[at] = local;
      const int64_t cost = local + end_[static_cast<size_t>(layout_.pass_end[at])];
      int64_t& start = start_[static_cast<size_t>(layout_.pass_start[at])];
      start = std::min(start, cost);
    }
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      int64_t rest = kNoWay;
      for (int s = first; s < last; ++s) {
        if (is_no_way(start_[static_cast<size_t>(s)])) continue;
        rest = std::min(rest, start_[static_cast<size_t>(s)] + cells_of_link(e, s - first));
      }
      end_[static_cast<size_t>(e)] = rest;
    }
  }
  int64_t lower = end_[0];
  for (int cell : layout_.input_cells) lower = std::min(kNoWay, lower + cells_[static_cast<size_t>(cell)]);
  lower_ = from_cell(lower);
}

std::vector<Duration> ChainBound::lower_with_moves() {
  const size_t count = static_cast<size_t>(problem_.node_count);
  std::vector<int64_t> start(start_.size(), kNoWay), end(end_.size(), kNoWay);
  std::vector<Duration> lower(problem_.moves.size(), lower_);
  int64_t inputs = 0;
  for (int cell : layout_.input_cells) inputs = std::min(kNoWay, inputs + cells_[static_cast<size_t>(cell)]);
  end[0] = inputs;
  for (size_t q = 0; q < count; ++q) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      if (is_no_way(end[static_cast<size_t>(e)])) continue;
      for (int s = first; s < last; ++s) {
        int64_t& here = start[static_cast<size_t>(s)];
        here = std::min(here, end[static_cast<size_t>(e)] + cells_of_link(e, s - first));
      }
    }
    for (int k = layout_.pass_from[q]; k < layout_.pass_from[q + 1]; ++k) {
      const size_t at = static_cast<size_t>(k);
      const int64_t before = start[static_cast<size_t>(layout_.pass_start[at])];
      const size_t to = static_cast<size_t>(layout_.pass_end[at]);
      const int64_t here = std::min(kNoWay, before + local_[at]);
      end[to] = std::min(end[to], here);
      Duration& least = lower[static_cast<size_t>(layout_.runs[static_cast<size_t>(layout_.pass_runs[at])].move)];
      least = std::max(least, from_cell(std::min(kNoWay, here + end_[to])));
    }
  }
  return lower;
}

Duration ChainBound::rest_of_start(int start) const {
  return from_cell(start_[static_cast<size_t>(start)]);
}

ChainBound::Slope ChainBound::slope() const {
  Slope slope;
  slope.prices.resize(layout_.value_of_price.size());
  // phi's cell, back to the writing and the set of formats that attains it.
  const auto give_back = [&](int w, FormatMask next) {
    const ChainLayout::Writing& writing = layout_.writings[static_cast<size_t>(w)];
    if (!writing.pays) return;
    const ChainLayout::ValueFormats& value = layout_.values[static_cast<size_t>(writing.value)];
    const uint32_t needs = layout_.subset_of(writing.value, next) | value.always;
    uint32_t picked = 0;
    int64_t best = kNoWay;
    for (uint32_t subset = 0; subset < writing.base.size(); ++subset) {
      if ((subset & needs) != needs) continue;
      int64_t cost = writing.base[subset];
      for (int r : writing.outside) {
        const size_t gains = static_cast<size_t>(value.readers[static_cast<size_t>(r)].gains);
        cost = std::min(kNoWay, cost - gains_[gains + subset]);
      }
      if (cost < best) {
        best = cost;
        picked = subset;
      }
    }
    for (int r : writing.outside) {
      const ChainLayout::Reader& reader = value.readers[static_cast<size_t>(r)];
      if (reader.first_price < 0) continue;
      int price = reader.first_price, dearest = -1;
      for (uint32_t wanted = reader.wanted; wanted != 0; wanted &= wanted - 1, ++price) {
        if ((picked & wanted & -wanted) == 0) continue;
        if (dearest < 0 || this->price(price) > this->price(dearest)) dearest = price;
      }
      if (dearest >= 0) --slope.prices[static_cast<size_t>(dearest)];
    }
  };
  const auto give_back_of_cell = [&](int cell) {
    const auto at = std::upper_bound(layout_.writings.begin(), layout_.writings.end(), cell,
                                     [](int wanted, const ChainLayout::Writing& w) { return wanted < w.cells; });
    give_back(static_cast<int>(at - layout_.writings.begin()) - 1, 0);
  };
  int end = 0;
  for (size_t q = 0; q < static_cast<size_t>(problem_.node_count);) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    int start = first;
    while (start < last &&
           (is_no_way(start_[static_cast<size_t>(start)]) ||
            start_[static_cast<size_t>(start)] + cells_of_link(end, start - first) != end_[static_cast<size_t>(end)])) {
      ++start;
    }
    if (start == last) break;
    const std::vector<int>& writings = layout_.end[static_cast<size_t>(end)];
    for (size_t i = 0; i < writings.size(); ++i) {
      give_back(writings[i], layout_.start[static_cast<size_t>(start)][i]);
    }
    int k = layout_.pass_from[q];
    while (layout_.pass_start[static_cast<size_t>(k)] != start ||
           local_[static_cast<size_t>(k)] + end_[static_cast<size_t>(layout_.pass_end[static_cast<size_t>(k)])] !=
               start_[static_cast<size_t>(start)]) {
      ++k;
    }
    const size_t at = static_cast<size_t>(k);
    slope.runs.push_back(layout_.pass_runs[at]);
    for (int t = layout_.terms_from[at]; t < layout_.terms_from[at + 1]; ++t) {
      const int cell = layout_.terms[static_cast<size_t>(t)];
      if (cell < static_cast<int>(slope.prices.size())) {
        ++slope.prices[static_cast<size_t>(cell)];
      } else {
        give_back_of_cell(cell);
      }
    }
    end = layout_.pass_end[at];
    q = static_cast<size_t>(layout_.runs[static_cast<size_t>(slope.runs.back())].end);
  }
  return slope;
}

Duration ChainBound::completion(int value, FormatId written, FormatMask have, std::span<const char> undecided,
                                FormatMask next) const {
  const ChainLayout::ValueFormats& formats = layout_.values[static_cast<size_t>(value)];
  ConversionCosts& conversions = problem_.conversions;
  if (!formats.exact) {
    Duration best = conversions.increment(value, written, have, next);
    for (size_t r = 0; r < formats.readers.size(); ++r) {
      if (undecided[r] == 0) continue;
      Duration least = Duration::max();
      for (FormatMask wants = formats.readers[r].wants; wants != 0; wants &= wants - 1) {
        least = std::min(least, conversions.increment(value, written, have, wants & -wants));
      }
      best = std::max(best, least);
    }
    return best;
  }
  const uint32_t least = layout_.subset_of(value, have | next);
  int64_t best = kNoWay;
  for (uint32_t subset = 0; subset < 1u << formats.bits.size(); ++subset) {
    if ((subset & least) != least) continue;
    int64_t cost = to_cell(conversions.increment(value, written, have, layout_.mask_of(value, subset)));
    for (size_t r = 0; r < formats.readers.size(); ++r) {
      if (undecided[r] == 0) continue;
      cost = std::min(kNoWay, cost - gains_[static_cast<size_t>(formats.readers[r].gains) + subset]);
    }
    best = std::min(best, cost);
  }
  return from_cell(best);
}

}  // namespace collage::place
