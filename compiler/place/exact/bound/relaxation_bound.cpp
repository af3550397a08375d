// SPDX-License-Identifier: Apache-2.0
// See relaxation_bound.h. The pass, backwards over positions:
//
//     start(q, reads)  = min over runs that begin at q and read so:
//                            share + prices paid + phi of what it writes + rest(end)
//     rest(q, written) = min over reads:  sum over crossing values of phi(written, reads) + start(q, reads)
#include "compiler/place/exact/bound/relaxation_bound.h"

#include <algorithm>
#include <map>

#include "compiler/place/exact/bound/relaxation_cells.h"

namespace collage::place {
namespace {

/// Runs of one candidate are near if at most this many positions lie between them.
constexpr size_t kMaxGapOfNearRuns = 24;

}  // namespace

ChainBound::ChainBound(IndexedProblem& problem)
    : problem_(problem),
      layout_(problem),
      cells_(static_cast<size_t>(layout_.cell_count)),
      gains_(static_cast<size_t>(layout_.gain_count)),
      local_(layout_.pass_runs.size()),
      start_(layout_.start.size()),
      end_(layout_.end.size()),
      pass_of_(layout_.runs.size()) {
  for (size_t k = 0; k < layout_.pass_runs.size(); ++k) {
    pass_of_[static_cast<size_t>(layout_.pass_runs[k])] = static_cast<int>(k);
  }
  multipliers_.prices.resize(layout_.value_of_price.size());
  for (size_t m = 0; m < problem.moves.size(); ++m) {
    const IndexedCandidate& move = problem.moves[m];
    const int64_t each = move.least.ps() / static_cast<int64_t>(move.nodes.size());
    const size_t first = multipliers_.shares.size();
    Duration shared;
    for (int r = first_run(static_cast<int>(m)); r < first_run(static_cast<int>(m) + 1); ++r) {
      const Run& run = layout_.runs[static_cast<size_t>(r)];
      multipliers_.shares.push_back(Duration::picoseconds(each * (run.end - run.begin)));
      shared += multipliers_.shares.back();
    }
    multipliers_.shares[first] += move.least - shared;
  }
  price_cells(true);
  backward();
}

void ChainBound::set(Multipliers multipliers) {
  multipliers_ = std::move(multipliers);
  price_cells(false);
  backward();
}

void ChainBound::price_cells(bool all) {
  std::transform(multipliers_.prices.begin(), multipliers_.prices.end(), cells_.begin(),
                 [](Duration price) { return price.ps(); });
  place::price_cells(layout_, kNoWay, all, gains_, cells_);
}

int64_t ChainBound::cells_of_link(int end, int start) const {
  const std::vector<int>& writings = layout_.end[static_cast<size_t>(end)];
  const int* link =
      layout_.links.data() + layout_.link_from[static_cast<size_t>(end)] + start * static_cast<int>(writings.size());
  int64_t cost = 0;
  for (size_t i = 0; i < writings.size(); ++i) cost = std::min(kNoWay, cost + cells_[static_cast<size_t>(link[i])]);
  return cost;
}

void ChainBound::backward() {
  const size_t count = static_cast<size_t>(problem_.node_count);
  std::fill(start_.begin(), start_.end(), kNoWay);
  start_[static_cast<size_t>(layout_.starts_from[count])] = 0;
  for (size_t q = count + 1; q-- > 0;) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int s = first; s < last && q < count; ++s) {
      int64_t best = kNoWay;
      for (int k = layout_.start_from[static_cast<size_t>(s)]; k < layout_.start_from[static_cast<size_t>(s) + 1];
           ++k) {
        const size_t at = static_cast<size_t>(k);
        int64_t local = multipliers_.shares[static_cast<size_t>(layout_.pass_runs[at])].ps();
        for (int t = layout_.terms_from[at]; t < layout_.terms_from[at + 1]; ++t) {
          local = std::min(kNoWay, local + cells_[static_cast<size_t>(layout_.terms[static_cast<size_t>(t)])]);
        }
        local_[at] = local;
        best = std::min(best, local + end_[static_cast<size_t>(layout_.pass_end[at])]);
      }
      start_[static_cast<size_t>(s)] = best;
    }
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

/// Forward over the positions from `from` to `to`: the cheapest chains to the starts there, out of `end_costs` at
/// `from`. `end_costs`, `start_costs`: `kNoWay` where none is set, left so by the caller's cleaning.
void ChainBound::forward(size_t from, size_t to, std::vector<int64_t>& start_costs, std::vector<int64_t>& end_costs,
                         const std::function<void(size_t)>& at_run) const {
  for (size_t q = from;; ++q) {
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      if (is_no_way(end_costs[static_cast<size_t>(e)])) continue;
      for (int s = first; s < last; ++s) {
        int64_t& here = start_costs[static_cast<size_t>(s)];
        here = std::min(here, end_costs[static_cast<size_t>(e)] + cells_of_link(e, s - first));
      }
    }
    if (q == to) return;
    for (int k = layout_.pass_from[q]; k < layout_.pass_from[q + 1]; ++k) {
      const size_t at = static_cast<size_t>(k);
      const int64_t cost = std::min(kNoWay, start_costs[static_cast<size_t>(layout_.pass_start[at])] + local_[at]);
      int64_t& end = end_costs[static_cast<size_t>(layout_.pass_end[at])];
      end = std::min(end, cost);
      if (at_run) at_run(at);
    }
  }
}

std::vector<Duration> ChainBound::lower_with_moves() const {
  const size_t count = static_cast<size_t>(problem_.node_count);
  std::vector<int64_t> start(start_.size(), kNoWay), end(end_.size(), kNoWay);
  int64_t inputs = 0;
  for (int cell : layout_.input_cells) inputs = std::min(kNoWay, inputs + cells_[static_cast<size_t>(cell)]);
  end[0] = inputs;
  std::vector<Duration> lower(problem_.moves.size(), lower_);
  forward(0, count, start, end, [&](size_t k) {
    const int64_t through =
        start[static_cast<size_t>(layout_.pass_start[k])] + local_[k] + end_[static_cast<size_t>(layout_.pass_end[k])];
    Duration& least = lower[static_cast<size_t>(layout_.runs[static_cast<size_t>(layout_.pass_runs[k])].move)];
    least = std::max(least, from_cell(through));
  });
  lower_through_all_runs(start, lower);
  return lower;
}

/// Moves of several runs: the cheapest chain through all of them, where they are not far apart.
void ChainBound::lower_through_all_runs(const std::vector<int64_t>& start, std::vector<Duration>& lower) const {
  std::vector<int64_t> near_start(start_.size(), kNoWay), near_end(end_.size(), kNoWay);
  // What is between the first run's end and a later start depends on the end alone: kept while moves share it.
  int end = -1;
  size_t from = 0, to = 0;
  const auto clean = [&] {
    for (size_t q = from; q <= to; ++q) {
      std::fill(near_start.begin() + layout_.starts_from[q], near_start.begin() + layout_.starts_from[q + 1], kNoWay);
      std::fill(near_end.begin() + layout_.ends_from[q], near_end.begin() + layout_.ends_from[q + 1], kNoWay);
    }
  };
  std::vector<int> order;
  for (size_t m = 0; m < problem_.moves.size(); ++m) {
    if (first_run(static_cast<int>(m) + 1) - first_run(static_cast<int>(m)) > 1) order.push_back(static_cast<int>(m));
  }
  const auto first_pass = [&](int m) { return static_cast<size_t>(pass_of_[static_cast<size_t>(first_run(m))]); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return layout_.pass_end[first_pass(a)] < layout_.pass_end[first_pass(b)]; });
  // How far the moves look that share the end of their first run.
  const auto last_begin = [&](int m) {
    return static_cast<size_t>(layout_.runs[static_cast<size_t>(first_run(m + 1) - 1)].begin);
  };
  std::map<int, size_t> horizon;
  for (int m : order) {
    size_t& far = horizon[layout_.pass_end[first_pass(m)]];
    far = std::max(far, last_begin(m));
  }
  for (int m : order) {
    const size_t k = first_pass(m);
    int64_t cost = start[static_cast<size_t>(layout_.pass_start[k])] + local_[k];
    size_t at = k;
    for (int r = first_run(m) + 1; r < first_run(m + 1) && !is_no_way(cost); ++r) {
      const size_t next = static_cast<size_t>(pass_of_[static_cast<size_t>(r)]);
      const size_t begin = static_cast<size_t>(layout_.runs[static_cast<size_t>(r)].begin);
      const size_t done = static_cast<size_t>(layout_.runs[static_cast<size_t>(r) - 1].end);
      if (begin - done > kMaxGapOfNearRuns) {
        cost = kNoWay;
        break;
      }
      if (layout_.pass_end[at] != end || begin > to) {
        clean();
        end = layout_.pass_end[at];
        from = done;
        const auto far = horizon.find(end);
        to = std::max(begin, std::min(done + kMaxGapOfNearRuns, far != horizon.end() ? far->second : begin));
        near_end[static_cast<size_t>(end)] = 0;
        forward(from, to, near_start, near_end, nullptr);
      }
      cost = std::min(kNoWay, cost + near_start[static_cast<size_t>(layout_.pass_start[next])] + local_[next]);
      at = next;
    }
    if (is_no_way(cost)) continue;
    Duration& least = lower[static_cast<size_t>(m)];
    least = std::max(least, from_cell(cost + end_[static_cast<size_t>(layout_.pass_end[at])]));
  }
}

std::vector<int64_t> ChainBound::rest_with_runs(int position, std::span<const int> forced) const {
  const size_t from = static_cast<size_t>(position);
  const size_t to = static_cast<size_t>(layout_.runs[static_cast<size_t>(forced.back())].end);
  const int first_end = layout_.ends_from[from], first_start = layout_.starts_from[from];
  std::vector<int64_t> end(static_cast<size_t>(layout_.ends_from[to + 1] - first_end), kNoWay);
  std::vector<int64_t> start(static_cast<size_t>(layout_.starts_from[to] - first_start), kNoWay);
  std::copy(end_.begin() + layout_.ends_from[to], end_.begin() + layout_.ends_from[to + 1],
            end.end() - (layout_.ends_from[to + 1] - layout_.ends_from[to]));
  size_t next = forced.size();
  for (size_t q = to; q-- > from;) {
    const Run* run = next > 0 ? &layout_.runs[static_cast<size_t>(forced[next - 1])] : nullptr;
    if (run != nullptr && q > static_cast<size_t>(run->begin) && q < static_cast<size_t>(run->end)) continue;
    const bool is_forced = run != nullptr && q == static_cast<size_t>(run->begin);
    const auto consider = [&](size_t k, int64_t cost) {
      const int run_end = layout_.pass_end[k] - first_end;
      cost = std::min(kNoWay, cost + end[static_cast<size_t>(run_end)]);
      int64_t& best = start[static_cast<size_t>(layout_.pass_start[k] - first_start)];
      best = std::min(best, cost);
    };
    if (is_forced) {
      const size_t k = static_cast<size_t>(pass_of_[static_cast<size_t>(forced[next - 1])]);
      consider(k, local_[k] - share(forced[next - 1]).ps());
      --next;
    } else {
      const int limit = next < forced.size() ? layout_.runs[static_cast<size_t>(forced[next])].begin : 0;
      for (int k = layout_.pass_from[q]; k < layout_.pass_from[q + 1]; ++k) {
        const int ends_at = layout_.runs[static_cast<size_t>(layout_.pass_runs[static_cast<size_t>(k)])].end;
        if (ends_at <= limit) consider(static_cast<size_t>(k), local_[static_cast<size_t>(k)]);
      }
    }
    const int first = layout_.starts_from[q], last = layout_.starts_from[q + 1];
    for (int e = layout_.ends_from[q]; e < layout_.ends_from[q + 1]; ++e) {
      int64_t rest = kNoWay;
      for (int s = first; s < last; ++s) {
        const int64_t cost = start[static_cast<size_t>(s - first_start)];
        if (!is_no_way(cost)) rest = std::min(rest, cost + cells_of_link(e, s - first));
      }
      end[static_cast<size_t>(e - first_end)] = rest;
    }
  }
  start.resize(static_cast<size_t>(layout_.starts_from[from + 1] - first_start));
  return start;
}

Duration ChainBound::completion(int value, FormatId written, FormatMask have, std::span<const char> undecided,
                                FormatMask next) const {
  std::vector<int64_t> table;
  if (completions(value, written, have, undecided, table)) return from_cell(table[layout_.subset_of(value, next)]);
  const ChainLayout::ValueFormats& formats = layout_.values[static_cast<size_t>(value)];
  ConversionCosts& conversions = problem_.conversions;
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

bool ChainBound::completions(int value, FormatId written, FormatMask have, std::span<const char> undecided,
                             std::vector<int64_t>& table) const {
  const ChainLayout::ValueFormats& formats = layout_.values[static_cast<size_t>(value)];
  if (!formats.exact) return false;
  const std::vector<int64_t>& base = layout_.base_of(value, written);
  const uint32_t had = layout_.subset_of(value, have);
  table = base;
  for (uint32_t subset = 0; subset < table.size(); ++subset) {
    table[subset] = (subset & had) == had && !is_no_way(base[subset]) ? base[subset] - base[had] : kNoWay;
  }
  for (size_t r = 0; r < formats.readers.size(); ++r) {
    if (undecided[r] == 0) continue;
    const int64_t* gain = gains_.data() + formats.readers[r].gains;
    for (size_t subset = 0; subset < table.size(); ++subset) {
      table[subset] = std::min(kNoWay, table[subset] - gain[subset]);
    }
  }
  for (size_t bit = 1; bit < table.size(); bit <<= 1) {
    for (size_t subset = 0; subset < table.size(); ++subset) {
      table[subset] = std::min(table[subset], table[subset | bit]);
    }
  }
  return true;
}

}  // namespace collage::place
