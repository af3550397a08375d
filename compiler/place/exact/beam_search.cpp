// SPDX-License-Identifier: Apache-2.0
// See beam_search.h. `run` walks the layers, `expand` fills later ones, `select` cuts a layer to its width.
#include "compiler/place/exact/beam_search.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace collage::place {
namespace {

template <typename Entry>
bool is_beyond(const Entry& entry, const Incumbent& best) {
  return entry.bound > best.cost || (entry.bound == best.cost && entry.count > best.count);
}

}  // namespace

double SearchBudget::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool SearchBudget::is_out_of_time(uint64_t patience) const {
  if (!options_.max_seconds) return false;
  const double more = static_cast<double>(patience - 1) * *options_.max_seconds;
  if (seconds() >= *options_.max_seconds + more) return true;
  return options_.deadline &&
         std::chrono::steady_clock::now() - *options_.deadline >= std::chrono::duration<double>(more);
}

bool SearchBudget::is_spent() const {
  return states_ >= options_.max_states || options_.is_stopped() || is_out_of_time(1);
}

bool SearchBudget::is_out_of_patience() const {
  return states_ / kPatience >= options_.max_states || options_.is_stopped() || is_out_of_time(kPatience);
}

size_t BeamSearch::KeyHash::operator()(const std::vector<int64_t>& key) const noexcept {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (int64_t word : key) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

Cost BeamSearch::run(size_t width, Incumbent& best) {
  steps_.clear();
  joined_.clear();
  put_aside_ = least_refused_ = Cost::max();
  layers_.assign(problem_.node_count + 1, {});
  Entry first;
  // In large graphs rounds of width 1 are to be quick; they prove nothing anyway.
  transitions_.look_ahead(width > 1 || problem_.node_count <= kLargeGraph);
  first.state = transitions_.initial();
  if (counts_memory()) {
    first.held.resize(rules_.limits->memory()->instances().size());
    first.worst.resize(first.held.size());
    for (const SearchLimits::Watch& watch : rules_.limits->watches()) first.watched.push_back(watch.held.begin());
  }
  first.bound = transitions_.bound(first.state, first.worst);
  if (first.bound < Cost::max()) layers_.front()[transitions_.key(first.state)].push_back(first);
  for (Position position : problem_.order.ids()) {
    for (Entry* entry : select(layers_[position], width, best)) {
      if (is_beyond(*entry, best)) continue;
      if (best.exists() ? budget_.is_spent() : width > 1 && budget_.is_out_of_patience()) {
        put_aside_ = std::min(put_aside_, entry->bound);
        continue;
      }
      expand(*entry, best);
    }
    Layer().swap(layers_[position]);
  }
  finish(layers_.back(), best);
  return std::min(put_aside_, least_refused_);
}

/// The states to expand, least first. The others are put aside.
std::vector<BeamSearch::Entry*> BeamSearch::select(Layer& layer, size_t width, const Incumbent& best) {
  std::vector<Entry*> entries;
  for (auto& [key, equals] : layer) {
    for (Entry& entry : equals) entries.push_back(&entry);
  }
  const auto less = [this](const Entry* a, const Entry* b) {
    if (a->order != b->order) return a->order < b->order;
    if (a->count != b->count) return a->count < b->count;
    return earlier(a->step, b->step);
  };
  if (entries.size() > width) {
    std::nth_element(entries.begin(), entries.begin() + width, entries.end(), less);
    for (size_t i = width; i < entries.size(); ++i) {
      if (!is_beyond(*entries[i], best)) put_aside_ = std::min(put_aside_, entries[i]->bound);
    }
    entries.resize(width);
  }
  std::sort(entries.begin(), entries.end(), less);
  return entries;
}

void BeamSearch::expand(const Entry& entry, const Incumbent& best) {
  budget_.count_state();
  const RegionRules& regions = transitions_.regions();
  for (MoveId move : problem_.moves_at[entry.state.position]) {
    if (!problem_.moves[move].region_owner.is_valid()) {
      choose(entry, move, {}, best);
      continue;
    }
    bool all = true;
    for (const std::vector<OpenRegionId>& joined : regions.choices(entry.state.regions, problem_.moves[move], all)) {
      choose(entry, move, joined, best);
    }
    if (!all) put_aside_ = std::min(put_aside_, entry.bound);
  }
}

void BeamSearch::choose(const Entry& entry, MoveId move, const std::vector<OpenRegionId>& joined,
                        const Incumbent& best) {
  std::optional<SearchState> next = transitions_.choose(entry.state, move, joined);
  if (!next) return;
  Entry after;
  if (counts_memory() && !add_memory(entry, move, next->position, after)) return;
  after.bound = std::max(entry.bound, transitions_.bound(*next, after.worst, best.cost));
  after.count = entry.count + 1;
  if (after.bound >= Cost::max() || is_beyond(after, best)) return;
  if (rules_.keeps_apart && !rules_.limits->memory()->could_fit(candidates(entry.step, move))) return;
  after.order = after.bound;
  if (counts_memory()) after.order -= problem_.cost_of(rules_.limits->price_of_work(after.worst));
  after.step = steps_.add({entry.step, move, {}});
  if (!joined.empty()) {
    std::vector<Position> names;
    for (OpenRegionId r : joined) names.push_back(entry.state.regions[r].first);
    std::sort(names.begin(), names.end());
    steps_.back().joined = joined_.add(std::move(names));
  }
  std::vector<int64_t> key = transitions_.key(*next);
  if (rules_.keeps_apart) {
    std::vector<CandidateId> chosen = candidates(entry.step, move);
    std::sort(chosen.begin(), chosen.end());
    for (CandidateId c : chosen) key.push_back(c.index);
  }
  after.state = std::move(*next);
  Layer& layer = layers_[after.state.position];
  keep(std::move(after), layer[std::move(key)]);
}

/// Adds an entry to those of its key, unless one of them makes it useless.
void BeamSearch::keep(Entry&& entry, std::vector<Entry>& others) const {
  const auto replaces = [this](const Entry& a, const Entry& b) { return !better(b, a) && uses_no_more(a, b); };
  if (std::any_of(others.begin(), others.end(), [&](const Entry& other) { return replaces(other, entry); })) return;
  std::erase_if(others, [&](const Entry& other) { return replaces(entry, other); });
  others.push_back(std::move(entry));
}

bool BeamSearch::uses_no_more(const Entry& a, const Entry& b) const {
  if (rules_.limits == nullptr) return true;
  const auto is_no_more = [](const auto& mine, const auto& other) {
    return std::equal(mine.begin(), mine.end(), other.begin(), other.end(), std::less_equal<>());
  };
  return is_no_more(a.state.counters, b.state.counters) && is_no_more(a.state.flags, b.state.flags) &&
         is_no_more(a.held, b.held) && is_no_more(a.worst, b.worst) && holds_no_more(a, b);
}

bool BeamSearch::holds_no_more(const Entry& a, const Entry& b) const {
  const Position next = a.state.position;
  const auto ids = a.watched.ids();
  return std::all_of(ids.begin(), ids.end(), [&](SearchLimits::WatchId w) {
    const HeldAtNode& at = rules_.limits->watches()[w].held;
    return at.is_over(next) || at.ends_with_no_more(a.watched[w], b.watched[w], next);
  });
}

bool BeamSearch::better(const Entry& a, const Entry& b) const {
  if (a.state.cost != b.state.cost) return a.state.cost < b.state.cost;
  if (a.count != b.count) return a.count < b.count;
  return earlier(a.step, b.step);
}

/// Orders two paths of equal length by the first difference of their moves, or of what these join.
bool BeamSearch::earlier(StepId a, StepId b) const {
  bool result = false;
  while (a != b) {
    const Step& left = steps_[a];
    const Step& right = steps_[b];
    if (left.move != right.move) {
      result = left.move < right.move;
    } else if (left.joined.is_valid() || right.joined.is_valid()) {
      const std::vector<Position> nothing;
      const auto names = [&](const Step& s) { return s.joined.is_valid() ? &joined_[s.joined] : &nothing; };
      if (*names(left) != *names(right)) result = *names(left) < *names(right);
    }
    a = left.previous;
    b = right.previous;
  }
  return result;
}

/// Counts the bytes of one more candidate; `next` is not covered after it. False: there is no room for it.
bool BeamSearch::add_memory(const Entry& before, MoveId move, Position next, Entry& after) const {
  const SearchLimits& limits = *rules_.limits;
  after.held = before.held;
  after.worst = before.worst;
  after.watched = before.watched;
  const CandidateId candidate = problem_.moves[move].source;
  const SearchLimits::InstanceId instance = limits.instance_of(candidate);
  if (instance.is_valid()) {
    after.held[instance] += limits.sure_bytes(candidate);
    after.worst[instance] = std::max(after.worst[instance], limits.working_bytes(candidate));
  }
  for (SearchLimits::WatchId w : after.watched.ids()) {
    const SearchLimits::Watch& watch = limits.watches()[w];
    if (watch.held.is_over(before.state.position)) continue;
    HeldBits& bits = after.watched[w];
    watch.held.choose(candidate, bits);
    watch.held.pass(next, bits);
    after.worst[watch.instance] = std::max(after.worst[watch.instance], watch.held.surely(bits, next));
  }
  const auto has_room = [&](SearchLimits::InstanceId i) {
    const int64_t room = rules_.room.empty() ? limits.memory()->instances()[i].bytes : rules_.room[i];
    return after.held[i] + after.worst[i] <= room;
  };
  const auto ids = after.held.ids();
  return std::all_of(ids.begin(), ids.end(), has_room);
}

/// The candidates of a path that ends with `step`, and of one more move.
std::vector<CandidateId> BeamSearch::candidates(StepId step, MoveId move) const {
  std::vector<CandidateId> chosen = {problem_.moves[move].source};
  for (; step.is_valid(); step = steps_[step].previous) chosen.push_back(problem_.moves[steps_[step].move].source);
  return chosen;
}

/// Follows the joins along a path.
std::vector<RegionId> BeamSearch::regions_of(StepId step) const {
  std::vector<const Step*> path;
  for (; step.is_valid(); step = steps_[step].previous) path.push_back(&steps_[step]);
  std::reverse(path.begin(), path.end());
  Table<RegionId, RegionId> into;         // by place in the path: an earlier move of the region, or itself
  std::map<Position, RegionId> first_of;  // by name
  into.reserve(path.size());
  for (const Step* at : path) {
    const RegionId here = into.add(into.next_id());
    Position name = problem_.moves[at->move].nodes.front();
    if (at->joined.is_valid()) {
      const std::vector<Position>& names = joined_[at->joined];
      name = std::min(name, names.front());
      for (Position joined : names) into[here] = std::min(into[here], first_of.at(joined));
      for (Position joined : names) into[first_of.at(joined)] = into[here];
    }
    first_of[name] = into[here];
  }
  for (RegionId& region : into) region = into[region];
  return std::move(into.items());
}

Incumbent BeamSearch::solution_of(const Entry& entry) const {
  Incumbent found{entry.state.cost, entry.count, {}, {}};
  for (StepId step = entry.step; step.is_valid(); step = steps_[step].previous) {
    found.moves.push_back(steps_[step].move);
  }
  std::reverse(found.moves.begin(), found.moves.end());
  found.regions = regions_of(entry.step);
  return found;
}

/// The best of the whole solutions that are accepted.
void BeamSearch::finish(Layer& layer, Incumbent& best) {
  constexpr size_t kMaxRefused = 20;
  std::vector<const Entry*> found;
  for (const auto& [key, entries] : layer) {
    for (const Entry& entry : entries) found.push_back(&entry);
  }
  std::sort(found.begin(), found.end(), [this](const Entry* a, const Entry* b) { return better(*a, *b); });
  const auto rank = [](const Incumbent& of) { return std::tie(of.cost, of.count, of.moves, of.regions); };
  size_t refused = 0;
  for (const Entry* entry : found) {
    Incumbent one = solution_of(*entry);
    if (rank(best) < rank(one) || (refused == kMaxRefused && !rules_.keeps_apart)) return;
    std::vector<CandidateId> chosen;
    for (MoveId move : one.moves) chosen.push_back(problem_.moves[move].source);
    if (!rules_.accepts || rules_.accepts(chosen, one.regions)) {
      best = std::move(one);
      return;
    }
    ++refused;
    if (!rules_.keeps_apart) least_refused_ = std::min(least_refused_, one.cost);
  }
}

}  // namespace collage::place
