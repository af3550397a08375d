// SPDX-License-Identifier: Apache-2.0
// See search_state.h.
#include "compiler/place/exact/search_state.h"

#include <algorithm>

namespace collage::place {
namespace {

template <typename I>
bool holds_sorted(const std::vector<I>& sorted, I item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

bool is_uncovered(const SearchState& state, Position node) {
  return node >= state.position && !holds_sorted(state.covered, node);
}

auto find_live(std::vector<LiveValue>& live, ProblemValueId value) {
  return std::lower_bound(live.begin(), live.end(), value,
                          [](const LiveValue& entry, ProblemValueId wanted) { return entry.value < wanted; });
}

const LiveValue* find_live(const std::vector<LiveValue>& live, ProblemValueId value) {
  const auto it = std::lower_bound(live.begin(), live.end(), value,
                                   [](const LiveValue& entry, ProblemValueId wanted) { return entry.value < wanted; });
  return it != live.end() && it->value == value ? &*it : nullptr;
}

template <typename I>
void append(std::vector<int64_t>& key, const std::vector<I>& ids) {
  for (I id : ids) key.push_back(id.index);
}

}  // namespace

std::vector<int64_t> Transitions::key(const SearchState& state) const {
  std::vector<int64_t> key;
  key.reserve(3 + state.covered.size() + 3 * state.live.size() + state.open.size());
  key.push_back(std::ssize(state.covered));
  append(key, state.covered);
  key.push_back(std::ssize(state.live));
  const bool counts_bytes = limits_ != nullptr && limits_->memory_is_active();
  if (problem_.symmetry.exists() && state.regions.empty() && !counts_bytes) {
    InstanceSymmetry::Renaming rename(problem_.symmetry);
    for (const LiveValue& entry : state.live) {
      const FormatId written = rename(entry.written);
      FormatMask wanted = 0;
      for (FormatId format : problem_.conversions.formats(entry.value, entry.wanted)) {
        wanted |= problem_.conversions.bit(entry.value, rename(format));
      }
      key.insert(key.end(), {entry.value.index, written.index, static_cast<int64_t>(wanted)});
    }
  } else {
    for (const LiveValue& entry : state.live) {
      key.insert(key.end(), {entry.value.index, entry.written.index, static_cast<int64_t>(entry.wanted)});
    }
  }
  append(key, state.open);
  key.push_back(-1);
  RegionRules::add_to_key(state.regions, key);
  return key;
}

SearchState Transitions::initial() const {
  SearchState state;
  state.cost = problem_.cost_of(0);
  state.counters.resize(problem_.counter_limits.size());
  state.flags.resize(problem_.flag_count);
  return state;
}

std::optional<SearchState> Transitions::choose(const SearchState& state, MoveId move_id,
                                               std::span<const OpenRegionId> joined) {
  const IndexedCandidate& move = problem_.moves[move_id];
  for (Position node : move.nodes) {
    if (holds_sorted(state.covered, node)) return std::nullopt;
  }
  if (!within_limits(state, move)) return std::nullopt;
  if (move.opaque && !state.open.empty()) {
    std::vector<const std::vector<Position>*> sets;
    for (MoveId other : state.open) sets.push_back(&problem_.moves[other].nodes);
    if (!stays_acyclic(problem_.reach, sets, move.nodes)) return std::nullopt;
  }

  SearchState after;
  after.cost = state.cost + move.cost;
  after.paid = state.paid;
  after.paid[0] += move.extra.count();
  for (size_t i = 1; i <= levels_.levels().size(); ++i) after.paid[i] += levels_.levels()[i - 1].paid[move_id];
  if (after.cost >= Cost::max()) return std::nullopt;
  std::vector<Position> all;
  std::set_union(state.covered.begin(), state.covered.end(), move.nodes.begin(), move.nodes.end(),
                 std::back_inserter(all));
  auto passed = all.begin();
  after.position = state.position;
  while (passed != all.end() && *passed == after.position) {
    ++passed;
    after.position = advance(after.position, 1);
  }
  after.covered.assign(passed, all.end());
  if (regions_.apply()) {
    const Covered covered{after.position, after.covered};
    if (!regions_.choose(state.regions, move, joined, covered, after.regions)) return std::nullopt;
    for (size_t i = 0; i < joined.size(); ++i) {
      after.cost -= problem_.region_owners[move.region_owner].saved;
    }
  }

  after.counters = state.counters;
  after.flags = state.flags;
  if (move.counter.is_valid() && is_active(move.counter)) ++after.counters[move.counter];
  if (move.flag.is_valid() && conflicts_are_active()) after.flags[move.flag] = 1;

  for (const PendingCost& pending : state.pending) {
    if (pending.last >= after.position) after.pending.push_back(pending);
  }
  const auto begin_of = [&](RunId run) { return chain_.runs()[run].begin; };
  for (RunId run : state.runs_ahead) {
    if (begin_of(run) >= after.position) after.runs_ahead.push_back(run);
  }
  for (RunId r : chain_.runs_of(move_id)) {
    const Run& run = chain_.runs()[r];
    if (run.begin < after.position) continue;
    after.runs_ahead.push_back(r);
    const ChainLayout& layout = chain_.layout();
    for (PricedReadId i : layout.reads_of[r]) {
      const PricedRead& read = layout.reads[i];
      if (read.writer < run.begin) after.pending.push_back({read.writer, run.begin, chain_.price(read.price)});
    }
  }
  std::sort(after.runs_ahead.begin(), after.runs_ahead.end(),
            [&](RunId a, RunId b) { return begin_of(a) < begin_of(b); });
  after.live = state.live;
  for (const ValueUse& use : move.uses) {
    if (!decide_value(state, after, use)) return std::nullopt;
  }
  after.open = state.open;
  if (move.opaque) after.open.insert(std::lower_bound(after.open.begin(), after.open.end(), move.shape), move.shape);
  keep_open(after);
  return after;
}

bool Transitions::is_active(CounterId counter) const {
  return limits_ != nullptr && limits_->is_active(counter);
}

bool Transitions::conflicts_are_active() const {
  return limits_ != nullptr && limits_->conflicts_are_active();
}

bool Transitions::within_limits(const SearchState& state, const IndexedCandidate& move) const {
  if (move.counter.is_valid() && is_active(move.counter) &&
      state.counters[move.counter] >= problem_.counter_limits[move.counter]) {
    return false;
  }
  // Flags are set only while conflicts are active.
  return std::none_of(move.conflicts.begin(), move.conflicts.end(),
                      [&](FlagId flag) { return state.flags[flag] != 0; });
}

bool Transitions::decide_value(const SearchState& before, SearchState& after, const ValueUse& use) {
  const SearchValue& value = problem_.values[use.value];
  LiveValue now;
  now.value = use.value;
  now.wanted = problem_.conversions.base(use.value);
  if (!value.writer.is_valid()) now.written = problem_.host_plain;
  if (const LiveValue* known = find_live(before.live, use.value)) now = *known;

  Cost charge;
  bool leaves = true;
  if (use.written) {
    now.written = use.format;
    leaves = use.format.is_valid();
    if (leaves) charge = problem_.conversions.cost(use.value, now.written, now.wanted);
  } else {
    const FormatMask wanted = now.wanted | use.wanted;
    if (now.written.is_valid()) {
      charge = problem_.conversions.increment(use.value, now.written, now.wanted, use.wanted);
    }
    now.wanted = wanted;
  }
  if (charge >= Cost::max()) return false;
  after.cost += charge;
  if (after.cost >= Cost::max()) return false;
  if (charge > Cost() && value.writer >= after.position) after.pending.push_back({{}, value.writer, charge});

  const auto it = find_live(after.live, use.value);
  const bool present = it != after.live.end() && it->value == use.value;
  bool open_readers = false;
  const FormatMask possible = still_wanted(after, use.value, open_readers);
  const bool writer_known = now.written.is_valid() || !leaves;
  if (writer_known && (!open_readers || !leaves)) {
    if (present) after.live.erase(it);
    return true;
  }
  if (writer_known) now.wanted = problem_.conversions.canonical(use.value, now.written, now.wanted, possible);
  if (present) {
    *it = now;
  } else {
    after.live.insert(it, now);
  }
  return true;
}

FormatMask Transitions::still_wanted(const SearchState& state, ProblemValueId value, bool& open_readers) const {
  const SearchValue& entry = problem_.values[value];
  FormatMask wanted = 0;
  for (ReaderId r : entry.readers.ids()) {
    if (!is_uncovered(state, entry.readers[r])) continue;
    open_readers = true;
    wanted |= entry.reader_wants[r];
  }
  return wanted;
}

/// Forgets partitions that no uncovered node reaches any more, directly or through other open ones: no later candidate
/// can lie before them.
void Transitions::keep_open(SearchState& state) const {
  if (state.open.empty()) return;
  const auto nodes_of = [&](MoveId move) -> const std::vector<Position>& { return problem_.moves[move].nodes; };
  std::vector<MoveId> reached;
  std::vector<MoveId> rest;
  for (MoveId move : state.open) {
    bool hit = false;
    for (Position node = state.position; node < nodes_of(move).back() && !hit; node = advance(node, 1)) {
      hit = is_uncovered(state, node) && problem_.reach.reaches({node}, nodes_of(move));
    }
    (hit ? reached : rest).push_back(move);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (auto other = rest.begin(); other != rest.end();) {
      if (problem_.reach.reaches(nodes_of(reached[i]), nodes_of(*other))) {
        reached.push_back(*other);
        other = rest.erase(other);
      } else {
        ++other;
      }
    }
  }
  std::sort(reached.begin(), reached.end());
  state.open = std::move(reached);
}

Cost Transitions::bound(const SearchState& state, const Table<SearchLimits::InstanceId, int64_t>& worst, Cost enough) {
  const ChainLayout& layout = chain_.layout();
  const std::vector<ProblemValueId>& crossing = layout.crossing[state.position];
  const IdRange<StartId> starts = chain_.starts_at(state.position);
  // The remaining costs of live values: by start for those that cross, and for the others.
  crossing_costs_.assign(starts.size(), 0);
  for (size_t i = 0; i < crossing.size(); ++i) {
    LiveValue entry{crossing[i], problem_.host_plain, problem_.conversions.base(crossing[i])};
    if (const LiveValue* known = find_live(state.live, crossing[i])) entry = *known;
    later_readers(state, entry.value);
    const bool is_exact = chain_.completions(entry.value, entry.written, entry.wanted, undecided_, completions_);
    int64_t* cost = crossing_costs_.data();
    for (StartId start : starts) {
      const FormatMask next = layout.start[start][i];
      const int64_t more = is_exact
                               ? completions_[layout.subset_of(entry.value, next)]
                               : to_cell(chain_.completion(entry.value, entry.written, entry.wanted, undecided_, next));
      *cost = std::min(kNoWay, *cost + more);
      ++cost;
    }
  }
  int64_t others = 0;
  for (const LiveValue& entry : state.live) {
    const SearchValue& value = problem_.values[entry.value];
    if (!entry.written.is_valid() || value.writer >= state.position || holds_sorted(crossing, entry.value)) continue;
    later_readers(state, entry.value);
    const bool is_exact = chain_.completions(entry.value, entry.written, entry.wanted, undecided_, completions_);
    const int64_t more = is_exact ? completions_[0]
                                  : to_cell(chain_.completion(entry.value, entry.written, entry.wanted, undecided_, 0));
    if (is_no_way(more)) return Cost::max();
    others += more;
  }
  for (const PendingCost& pending : state.pending) {
    if (pending.from < state.position) others -= pending.cost.count();
  }
  const Cost may_save = regions_.may_save(state.regions, {state.position, state.covered});
  const auto credit = [&](double factor) { return limits_ == nullptr ? 0 : limits_->credit(worst, factor); };
  const auto with_rests = [&](const int64_t* rests, int64_t counted_twice, int64_t balance) {
    int64_t chain = kNoWay;
    for (size_t s = 0; s < starts.size(); ++s) chain = std::min(chain, rests[s] + crossing_costs_[s]);
    if (is_no_way(chain)) return Cost::max();
    const int64_t rest = std::max<int64_t>(0, chain + others - counted_twice + balance);
    return state.cost + problem_.cost_of(rest) - may_save;
  };
  int64_t shares = 0;
  for (RunId run : state.runs_ahead) shares += chain_.share(run).count();
  const int64_t balance = state.paid[0] - credit(1);
  Cost quick = with_rests(chain_.rests_of_starts(starts.front()), shares, balance);
  for (size_t i = 1; i <= levels_.levels().size() && quick <= enough; ++i) {
    const PriceLevels::Level& level = levels_.levels()[i - 1];
    int64_t more = 0;
    for (RunId run : state.runs_ahead) more += level.more[run];
    quick = std::max(quick, with_rests(level.rests.data() + starts.front().slot(), shares + more,
                                       state.paid[i] - credit(level.factor)));
  }
  if (!looks_ahead_ || state.runs_ahead.empty() || quick > enough || quick >= Cost::max()) return quick;
  return std::max(quick, with_rests(rest(state).data(), 0, balance));
}

const std::vector<int64_t>& Transitions::rest(const SearchState& state) {
  auto& known = rests_[state.position];
  const auto at = known.find(state.runs_ahead);
  if (at != known.end()) return at->second;
  constexpr size_t kMaxKnownRests = 1'000'000;
  if (++rest_count_ > kMaxKnownRests) {
    for (auto& here : rests_) here.clear();
    rest_count_ = 1;
  }
  return known.emplace(state.runs_ahead, chain_.rest_with_runs(state.position, state.runs_ahead)).first->second;
}

/// Sets `undecided_`: which readers are still uncovered, but for the one right after the writer.
void Transitions::later_readers(const SearchState& state, ProblemValueId value) {
  const SearchValue& entry = problem_.values[value];
  undecided_.clear();
  const Position next = advance(entry.writer, 1);
  for (Position reader : entry.readers) undecided_.push_back(reader != next && is_uncovered(state, reader));
}

}  // namespace collage::place
