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
      cells_(layout_.cell_count),
      gains_(layout_.gain_count),
      local_(layout_.pass_runs.size()),
      start_(layout_.start.size()),
      end_(layout_.end.size()),
      pass_of_(layout_.runs.size()) {
  for (PassId k : layout_.pass_runs.ids()) pass_of_[layout_.pass_runs[k]] = k;
  multipliers_.prices.resize(layout_.value_of_price.size());
  for (MoveId m : problem.moves.ids()) {
    const IndexedCandidate& move = problem.moves[m];
    const int64_t each = move.least.count() / std::ssize(move.nodes);
    int64_t shared = 0;
    for (RunId r : runs_of(m)) {
      const Run& run = layout_.runs[r];
      multipliers_.shares.push_back(each * (run.end.index - run.begin.index));
      shared += multipliers_.shares.back();
    }
    multipliers_.shares[runs_of(m).front()] += move.least.count() - shared;
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
  std::copy(multipliers_.prices.begin(), multipliers_.prices.end(), cells_.begin());
  place::price_cells(layout_, kNoWay, all, gains_, cells_);
}

int64_t ChainBound::cells_of_link(EndId end, size_t start) const {
  const std::vector<WritingId>& writings = layout_.end[end];
  const CellId* link = layout_.links.data() + layout_.links_of[end].front().slot() + start * writings.size();
  int64_t cost = 0;
  for (size_t i = 0; i < writings.size(); ++i) cost = std::min(kNoWay, cost + cells_[link[i]]);
  return cost;
}

void ChainBound::backward() {
  const Position past = problem_.order.next_id();
  std::fill(start_.begin(), start_.end(), kNoWay);
  start_[layout_.starts_at[past].front()] = 0;
  for (Position q = past; q.is_valid(); q = advance(q, -1)) {
    const IdRange<StartId> starts = layout_.starts_at[q];
    if (q != past) {
      for (StartId s : starts) {
        int64_t best = kNoWay;
        for (PassId k : layout_.pass_of[s]) {
          int64_t local = multipliers_.shares[layout_.pass_runs[k]];
          for (TermId t : layout_.terms_of[k]) local = std::min(kNoWay, local + cells_[layout_.terms[t]]);
          local_[k] = local;
          best = std::min(best, local + end_[layout_.pass_end[k]]);
        }
        start_[s] = best;
      }
    }
    for (EndId e : layout_.ends_at[q]) {
      int64_t rest = kNoWay;
      for (StartId s : starts) {
        if (is_no_way(start_[s])) continue;
        rest = std::min(rest, start_[s] + cells_of_link(e, s.slot() - starts.front().slot()));
      }
      end_[e] = rest;
    }
  }
  int64_t lower = end_[0];
  for (CellId cell : layout_.input_cells) lower = std::min(kNoWay, lower + cells_[cell]);
  lower_ = from_cell(lower, problem_.unit);
}

std::vector<RunId> ChainBound::cheapest_chain() const {
  std::vector<RunId> chain;
  const Position past = problem_.order.next_id();
  EndId end = 0;
  for (Position q = 0; q != past && !is_no_way(end_[end]);) {
    const IdRange<StartId> starts = layout_.starts_at[q];
    int64_t least = kNoWay;
    StartId start;
    for (StartId s : starts) {
      const int64_t rest = std::min(kNoWay, start_[s] + cells_of_link(end, s.slot() - starts.front().slot()));
      if (rest >= least) continue;
      least = rest;
      start = s;
    }
    if (!start.is_valid()) return {};
    const auto rest_of = [&](PassId k) { return local_[k] + end_[layout_.pass_end[k]]; };
    PassId next = layout_.pass_of[start].front();
    for (PassId k : layout_.pass_of[start]) {
      if (rest_of(k) < rest_of(next)) next = k;
    }
    chain.push_back(layout_.pass_runs[next]);
    end = layout_.pass_end[next];
    q = layout_.runs[chain.back()].end;
  }
  return chain;
}

/// Forward over the positions from `from` to `to`: the cheapest chains to the starts there, out of `end_costs` at
/// `from`. `end_costs`, `start_costs`: `kNoWay` where none is set, left so by the caller's cleaning.
void ChainBound::forward(Position from, Position to, Table<StartId, int64_t>& start_costs,
                         Table<EndId, int64_t>& end_costs, const std::function<void(PassId)>& at_run) const {
  for (Position q = from;; q = advance(q, 1)) {
    const IdRange<StartId> starts = layout_.starts_at[q];
    for (EndId e : layout_.ends_at[q]) {
      if (is_no_way(end_costs[e])) continue;
      for (StartId s : starts) {
        int64_t& here = start_costs[s];
        here = std::min(here, end_costs[e] + cells_of_link(e, s.slot() - starts.front().slot()));
      }
    }
    if (q == to) return;
    for (PassId k : layout_.pass_at[q]) {
      const int64_t cost = std::min(kNoWay, start_costs[layout_.pass_start[k]] + local_[k]);
      int64_t& end = end_costs[layout_.pass_end[k]];
      end = std::min(end, cost);
      if (at_run) at_run(k);
    }
  }
}

Table<MoveId, Cost> ChainBound::lower_with_moves() const {
  Table<StartId, int64_t> start(start_.size(), kNoWay);
  Table<EndId, int64_t> end(end_.size(), kNoWay);
  int64_t inputs = 0;
  for (CellId cell : layout_.input_cells) inputs = std::min(kNoWay, inputs + cells_[cell]);
  end[0] = inputs;
  Table<MoveId, Cost> lower(problem_.moves.size(), lower_);
  forward(0, problem_.order.next_id(), start, end, [&](PassId k) {
    const int64_t through = start[layout_.pass_start[k]] + local_[k] + end_[layout_.pass_end[k]];
    Cost& least = lower[layout_.runs[layout_.pass_runs[k]].move];
    least = std::max(least, from_cell(through, problem_.unit));
  });
  lower_through_all_runs(start, lower);
  return lower;
}

/// Moves of several runs: the cheapest chain through all of them, where they are not far apart.
void ChainBound::lower_through_all_runs(const Table<StartId, int64_t>& start, Table<MoveId, Cost>& lower) const {
  Table<StartId, int64_t> near_start(start_.size(), kNoWay);
  Table<EndId, int64_t> near_end(end_.size(), kNoWay);
  // What is between the first run's end and a later start depends on the end alone: kept while moves share it.
  EndId end;
  Position from = 0, to = 0;
  const auto clean = [&] {
    for (Position q = from; q <= to; q = advance(q, 1)) {
      for (StartId s : layout_.starts_at[q]) near_start[s] = kNoWay;
      for (EndId e : layout_.ends_at[q]) near_end[e] = kNoWay;
    }
  };
  std::vector<MoveId> order;
  for (MoveId m : problem_.moves.ids()) {
    if (runs_of(m).size() > 1) order.push_back(m);
  }
  const auto first_pass = [&](MoveId m) { return pass_of_[runs_of(m).front()]; };
  std::stable_sort(order.begin(), order.end(), [&](MoveId a, MoveId b) {
    return layout_.pass_end[first_pass(a)] < layout_.pass_end[first_pass(b)];
  });
  // How far the moves look that share the end of their first run.
  const auto last_begin = [&](MoveId m) { return layout_.runs[advance(runs_of(m).last_plus_one(), -1)].begin; };
  std::map<EndId, Position> horizon;
  for (MoveId m : order) {
    Position& far = horizon[layout_.pass_end[first_pass(m)]];
    far = std::max(far, last_begin(m));
  }
  for (MoveId m : order) {
    const PassId k = first_pass(m);
    int64_t cost = start[layout_.pass_start[k]] + local_[k];
    PassId at = k;
    for (RunId r : IdRange(advance(runs_of(m).front(), 1), runs_of(m).last_plus_one())) {
      if (is_no_way(cost)) break;
      const PassId next = pass_of_[r];
      const Position begin = layout_.runs[r].begin;
      const Position done = layout_.runs[advance(r, -1)].end;
      const Position near = advance(done, kMaxGapOfNearRuns);
      if (begin > near) {
        cost = kNoWay;
        break;
      }
      if (layout_.pass_end[at] != end || begin > to) {
        clean();
        end = layout_.pass_end[at];
        from = done;
        const auto far = horizon.find(end);
        to = std::max(begin, std::min(near, far != horizon.end() ? far->second : begin));
        near_end[end] = 0;
        forward(from, to, near_start, near_end, nullptr);
      }
      cost = std::min(kNoWay, cost + near_start[layout_.pass_start[next]] + local_[next]);
      at = next;
    }
    if (is_no_way(cost)) continue;
    Cost& least = lower[m];
    least = std::max(least, from_cell(cost + end_[layout_.pass_end[at]], problem_.unit));
  }
}

std::vector<int64_t> ChainBound::rest_with_runs(Position from, std::span<const RunId> forced) const {
  const Position to = layout_.runs[forced.back()].end;
  const StartId first_start = layout_.starts_at[from].front();
  const EndId first_end = layout_.ends_at[from].front();
  // From the first at `from` on.
  std::vector<int64_t> start(layout_.starts_at[to].front().slot() - first_start.slot(), kNoWay);
  std::vector<int64_t> end(layout_.ends_at[to].last_plus_one().slot() - first_end.slot(), kNoWay);
  for (EndId e : layout_.ends_at[to]) end[e.slot() - first_end.slot()] = end_[e];
  size_t next = forced.size();
  for (Position q = advance(to, -1); q >= from; q = advance(q, -1)) {
    const Run* run = next > 0 ? &layout_.runs[forced[next - 1]] : nullptr;
    if (run != nullptr && q > run->begin && q < run->end) continue;
    const bool is_forced = run != nullptr && q == run->begin;
    const auto consider = [&](PassId k, int64_t cost) {
      cost = std::min(kNoWay, cost + end[layout_.pass_end[k].slot() - first_end.slot()]);
      int64_t& best = start[layout_.pass_start[k].slot() - first_start.slot()];
      best = std::min(best, cost);
    };
    if (is_forced) {
      const PassId k = pass_of_[forced[next - 1]];
      consider(k, local_[k] - multipliers_.shares[forced[next - 1]]);
      --next;
    } else {
      const Position limit = next < forced.size() ? layout_.runs[forced[next]].begin : Position(0);
      for (PassId k : layout_.pass_at[q]) {
        if (layout_.runs[layout_.pass_runs[k]].end <= limit) consider(k, local_[k]);
      }
    }
    const IdRange<StartId> starts = layout_.starts_at[q];
    for (EndId e : layout_.ends_at[q]) {
      int64_t rest = kNoWay;
      for (StartId s : starts) {
        const int64_t cost = start[s.slot() - first_start.slot()];
        if (!is_no_way(cost)) rest = std::min(rest, cost + cells_of_link(e, s.slot() - starts.front().slot()));
      }
      end[e.slot() - first_end.slot()] = rest;
    }
  }
  start.resize(layout_.starts_at[from].size());
  return start;
}

Cost ChainBound::completion(ProblemValueId value, FormatId written, FormatMask have,
                            const Table<ReaderId, char>& undecided, FormatMask next) const {
  std::vector<int64_t> table;
  if (completions(value, written, have, undecided, table)) {
    return from_cell(table[layout_.subset_of(value, next)], problem_.unit);
  }
  const ChainLayout::ValueFormats& formats = layout_.values[value];
  ConversionCosts& conversions = problem_.conversions;
  Cost best = conversions.increment(value, written, have, next);
  for (ReaderId r : formats.readers.ids()) {
    if (undecided[r] == 0) continue;
    Cost least = Cost::max();
    for (FormatMask wants = formats.readers[r].wants; wants != 0; wants &= wants - 1) {
      least = std::min(least, conversions.increment(value, written, have, wants & -wants));
    }
    best = std::max(best, least);
  }
  return best;
}

bool ChainBound::completions(ProblemValueId value, FormatId written, FormatMask have,
                             const Table<ReaderId, char>& undecided, std::vector<int64_t>& table) const {
  const ChainLayout::ValueFormats& formats = layout_.values[value];
  if (!formats.exact) return false;
  const std::vector<int64_t>& base = layout_.base_of(value, written);
  const uint32_t had = layout_.subset_of(value, have);
  table = base;
  for (uint32_t subset = 0; subset < table.size(); ++subset) {
    table[subset] = (subset & had) == had && !is_no_way(base[subset]) ? base[subset] - base[had] : kNoWay;
  }
  for (ReaderId r : formats.readers.ids()) {
    if (undecided[r] == 0) continue;
    const int64_t* gain = gains_.data() + formats.readers[r].gains.slot();
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
