// SPDX-License-Identifier: Apache-2.0
// See search_state.h.
#include "compiler/place/exact/search_state.h"

#include <algorithm>

namespace collage::place {
namespace {

bool contains(const std::vector<int>& sorted, int item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

bool is_uncovered(const SearchState& state, int node) {
  return node >= state.position && !contains(state.covered, node);
}

auto find_live(std::vector<LiveValue>& live, int value) {
  return std::lower_bound(live.begin(), live.end(), value,
                          [](const LiveValue& entry, int wanted) { return entry.value < wanted; });
}

const LiveValue* find_live(const std::vector<LiveValue>& live, int value) {
  const auto it = std::lower_bound(live.begin(), live.end(), value,
                                   [](const LiveValue& entry, int wanted) { return entry.value < wanted; });
  return it != live.end() && it->value == value ? &*it : nullptr;
}

}  // namespace

std::vector<int64_t> Transitions::key(const SearchState& state) const {
  std::vector<int64_t> key;
  key.reserve(3 + state.covered.size() + 3 * state.live.size() + state.open.size() + state.used.size());
  key.push_back(static_cast<int64_t>(state.covered.size()));
  key.insert(key.end(), state.covered.begin(), state.covered.end());
  key.push_back(static_cast<int64_t>(state.live.size()));
  if (problem_.symmetry.exists() && state.regions.empty()) {
    InstanceSymmetry::Renaming rename(problem_.symmetry);
    for (const LiveValue& entry : state.live) {
      const FormatId written = rename(entry.written);
      FormatMask wanted = 0;
      for (FormatId format : problem_.conversions.formats(entry.value, entry.wanted)) {
        wanted |= problem_.conversions.bit(entry.value, rename(format));
      }
      key.insert(key.end(), {entry.value, written, static_cast<int64_t>(wanted)});
    }
  } else {
    for (const LiveValue& entry : state.live) {
      key.insert(key.end(), {entry.value, entry.written, static_cast<int64_t>(entry.wanted)});
    }
  }
  key.insert(key.end(), state.open.begin(), state.open.end());
  key.push_back(-1);
  key.insert(key.end(), state.used.begin(), state.used.end());
  RegionRules::add_to_key(state.regions, key);
  return key;
}

SearchState Transitions::initial() const {
  SearchState state;
  state.used.resize(problem_.counter_limits.size() + static_cast<size_t>(problem_.flag_count), 0);
  return state;
}

std::optional<SearchState> Transitions::choose(const SearchState& state, int move_index, std::span<const int> joined) {
  const IndexedCandidate& move = problem_.moves[static_cast<size_t>(move_index)];
  for (int node : move.nodes) {
    if (contains(state.covered, node)) return std::nullopt;
  }
  if (!within_limits(state, move)) return std::nullopt;
  if (move.opaque && !state.open.empty()) {
    std::vector<const std::vector<int>*> sets;
    for (int other : state.open) sets.push_back(&problem_.moves[static_cast<size_t>(other)].nodes);
    if (!stays_acyclic(problem_.reach, sets, move.nodes)) return std::nullopt;
  }

  SearchState after;
  after.cost = state.cost + move.cost;
  if (after.cost >= Duration::max()) return std::nullopt;
  std::vector<int> all;
  std::set_union(state.covered.begin(), state.covered.end(), move.nodes.begin(), move.nodes.end(),
                 std::back_inserter(all));
  size_t passed = 0;
  after.position = state.position;
  while (passed < all.size() && all[passed] == after.position) {
    ++passed;
    ++after.position;
  }
  after.covered.assign(all.begin() + static_cast<std::ptrdiff_t>(passed), all.end());
  if (regions_.apply()) {
    const Covered covered{after.position, after.covered};
    if (!regions_.choose(state.regions, move, joined, covered, after.regions)) return std::nullopt;
    for (size_t i = 0; i < joined.size(); ++i) {
      after.cost -= problem_.region_owners[static_cast<size_t>(move.region_owner)].saved;
    }
  }

  after.used = state.used;
  if (move.counter >= 0) ++after.used[static_cast<size_t>(move.counter)];
  if (move.flag >= 0) after.used[problem_.counter_limits.size() + static_cast<size_t>(move.flag)] = 1;

  for (const PendingCost& pending : state.pending) {
    if (pending.last >= after.position) after.pending.push_back(pending);
  }
  const auto begin_of = [&](int run) { return chain_.runs()[static_cast<size_t>(run)].begin; };
  for (int run : state.runs_ahead) {
    if (begin_of(run) >= after.position) after.runs_ahead.push_back(run);
  }
  for (int r = chain_.first_run(move_index); r < chain_.first_run(move_index + 1); ++r) {
    const Run& run = chain_.runs()[static_cast<size_t>(r)];
    if (run.begin < after.position) continue;
    after.runs_ahead.push_back(r);
    const ChainLayout& layout = chain_.layout();
    for (int i = layout.reads_from[static_cast<size_t>(r)]; i < layout.reads_from[static_cast<size_t>(r) + 1]; ++i) {
      const PricedRead& read = layout.reads[static_cast<size_t>(i)];
      if (read.writer < run.begin) after.pending.push_back({read.writer, run.begin, chain_.price(read.price)});
    }
  }
  std::sort(after.runs_ahead.begin(), after.runs_ahead.end(), [&](int a, int b) { return begin_of(a) < begin_of(b); });
  after.live = state.live;
  for (const ValueUse& use : move.uses) {
    if (!decide_value(state, after, use)) return std::nullopt;
  }
  after.open = state.open;
  if (move.opaque) after.open.insert(std::lower_bound(after.open.begin(), after.open.end(), move.shape), move.shape);
  keep_open(after);
  return after;
}

bool Transitions::within_limits(const SearchState& state, const IndexedCandidate& move) const {
  if (move.counter >= 0) {
    const size_t slot = static_cast<size_t>(move.counter);
    if (state.used[slot] >= problem_.counter_limits[slot]) return false;
  }
  return std::none_of(move.conflicts.begin(), move.conflicts.end(), [&](int flag) {
    return state.used[problem_.counter_limits.size() + static_cast<size_t>(flag)] != 0;
  });
}

bool Transitions::decide_value(const SearchState& before, SearchState& after, const ValueUse& use) {
  const SearchValue& value = problem_.values[static_cast<size_t>(use.value)];
  LiveValue now;
  now.value = use.value;
  now.wanted = problem_.conversions.base(use.value);
  if (value.writer < 0) now.written = problem_.host_plain;
  if (const LiveValue* known = find_live(before.live, use.value)) now = *known;

  Duration charge;
  bool leaves = true;
  if (use.written) {
    now.written = use.format;
    leaves = use.format >= 0;
    if (leaves) charge = problem_.conversions.cost(use.value, now.written, now.wanted);
  } else {
    const FormatMask wanted = now.wanted | use.wanted;
    if (now.written >= 0) {
      charge = problem_.conversions.increment(use.value, now.written, now.wanted, use.wanted);
    }
    now.wanted = wanted;
  }
  if (charge >= Duration::max()) return false;
  after.cost += charge;
  if (after.cost >= Duration::max()) return false;
  if (charge > Duration() && value.writer >= after.position) after.pending.push_back({-1, value.writer, charge});

  const auto it = find_live(after.live, use.value);
  const bool present = it != after.live.end() && it->value == use.value;
  bool open_readers = false;
  const FormatMask possible = still_wanted(after, use.value, open_readers);
  const bool writer_known = now.written >= 0 || !leaves;
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

FormatMask Transitions::still_wanted(const SearchState& state, int value, bool& open_readers) const {
  const SearchValue& entry = problem_.values[static_cast<size_t>(value)];
  FormatMask wanted = 0;
  for (size_t r = 0; r < entry.readers.size(); ++r) {
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
  const auto nodes_of = [&](int move) -> const std::vector<int>& {
    return problem_.moves[static_cast<size_t>(move)].nodes;
  };
  std::vector<int> reached;
  std::vector<int> rest;
  for (int move : state.open) {
    bool hit = false;
    for (int node = state.position; node < nodes_of(move).back() && !hit; ++node) {
      hit = is_uncovered(state, node) && problem_.reach.reaches({node}, nodes_of(move));
    }
    (hit ? reached : rest).push_back(move);
  }
  for (size_t i = 0; i < reached.size(); ++i) {
    for (size_t j = 0; j < rest.size();) {
      if (problem_.reach.reaches(nodes_of(reached[i]), nodes_of(rest[j]))) {
        reached.push_back(rest[j]);
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
    }
  }
  std::sort(reached.begin(), reached.end());
  state.open = std::move(reached);
}

Duration Transitions::bound(const SearchState& state, Duration enough) {
  const ChainLayout& layout = chain_.layout();
  const std::vector<int>& crossing = layout.crossing[static_cast<size_t>(state.position)];
  const auto [first, last] = chain_.starts_at(state.position);
  // What live values still cost: by start for those that cross, and the others.
  crossing_costs_.assign(static_cast<size_t>(last - first), 0);
  for (size_t i = 0; i < crossing.size(); ++i) {
    LiveValue entry{crossing[i], problem_.host_plain, problem_.conversions.base(crossing[i])};
    if (const LiveValue* known = find_live(state.live, crossing[i])) entry = *known;
    later_readers(state, entry.value);
    const bool is_exact = chain_.completions(entry.value, entry.written, entry.wanted, undecided_, completions_);
    for (int start = first; start < last; ++start) {
      int64_t& cost = crossing_costs_[static_cast<size_t>(start - first)];
      const FormatMask next = layout.start[static_cast<size_t>(start)][i];
      const int64_t more = is_exact
                               ? completions_[layout.subset_of(entry.value, next)]
                               : to_cell(chain_.completion(entry.value, entry.written, entry.wanted, undecided_, next));
      cost = std::min(kNoWay, cost + more);
    }
  }
  int64_t others = 0;
  for (const LiveValue& entry : state.live) {
    const SearchValue& value = problem_.values[static_cast<size_t>(entry.value)];
    if (entry.written < 0 || value.writer >= state.position || contains(crossing, entry.value)) continue;
    later_readers(state, entry.value);
    const bool is_exact = chain_.completions(entry.value, entry.written, entry.wanted, undecided_, completions_);
    const int64_t more = is_exact ? completions_[0]
                                  : to_cell(chain_.completion(entry.value, entry.written, entry.wanted, undecided_, 0));
    if (is_no_way(more)) return Duration::max();
    others += more;
  }
  for (const PendingCost& pending : state.pending) {
    if (pending.from < state.position) others -= pending.cost.ps();
  }
  const Duration may_save = regions_.may_save(state.regions, {state.position, state.covered});
  const auto with_rests = [&](const int64_t* rests, int64_t counted_twice) {
    int64_t chain = kNoWay;
    for (int s = 0; s < last - first; ++s) {
      chain = std::min(chain, rests[s] + crossing_costs_[static_cast<size_t>(s)]);
    }
    if (is_no_way(chain)) return Duration::max();
    return state.cost + std::max(Duration(), Duration::picoseconds(chain + others - counted_twice)) - may_save;
  };
  int64_t shares = 0;
  for (int run : state.runs_ahead) shares += chain_.share(run).ps();
  const Duration quick = with_rests(chain_.rests_of_starts(first), shares);
  if (!looks_ahead_ || state.runs_ahead.empty() || quick > enough || quick >= Duration::max()) return quick;
  return std::max(quick, with_rests(rest(state).data(), 0));
}

const std::vector<int64_t>& Transitions::rest(const SearchState& state) {
  auto& known = rests_[static_cast<size_t>(state.position)];
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
void Transitions::later_readers(const SearchState& state, int value) {
  const SearchValue& entry = problem_.values[static_cast<size_t>(value)];
  undecided_.clear();
  for (int reader : entry.readers) undecided_.push_back(reader != entry.writer + 1 && is_uncovered(state, reader));
}

}  // namespace collage::place
