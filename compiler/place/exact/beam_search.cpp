// SPDX-License-Identifier: Apache-2.0
// See beam_search.h. `run` walks the layers, `expand` fills later ones, `select` cuts a layer to its width.
#include "compiler/place/exact/beam_search.h"

#include <algorithm>
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

bool SearchBudget::is_spent() const {
  return states_ >= options_.max_states || options_.is_stopped() ||
         (options_.max_seconds && seconds() >= *options_.max_seconds);
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
  put_aside_ = Cost::max();
  layers_.assign(problem_.node_count + 1, {});
  Entry first;
  // In large graphs rounds of width 1 are to be quick; they prove nothing anyway.
  transitions_.look_ahead(width > 1 || problem_.node_count <= kLargeGraph);
  first.state = transitions_.initial();
  first.bound = transitions_.bound(first.state);
  if (first.bound < Cost::max()) layers_.front().emplace(transitions_.key(first.state), first);
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
  for (auto& [key, entry] : layers_.back()) finish(entry, best);
  return put_aside_;
}

/// The states to expand, least first. The others are put aside.
std::vector<BeamSearch::Entry*> BeamSearch::select(Layer& layer, size_t width, const Incumbent& best) {
  std::vector<Entry*> entries;
  for (auto& [key, entry] : layer) entries.push_back(&entry);
  const auto less = [this](const Entry* a, const Entry* b) {
    if (a->bound != b->bound) return a->bound < b->bound;
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
  after.bound = std::max(entry.bound, transitions_.bound(*next, best.cost));
  after.count = entry.count + 1;
  if (after.bound >= Cost::max() || is_beyond(after, best)) return;
  after.step = steps_.add({entry.step, move, {}});
  if (!joined.empty()) {
    std::vector<Position> names;
    for (OpenRegionId r : joined) names.push_back(entry.state.regions[r].first);
    std::sort(names.begin(), names.end());
    steps_.back().joined = joined_.add(std::move(names));
  }
  std::vector<int64_t> key = transitions_.key(*next);
  if (memory_.limits != nullptr && !add_memory(entry, move, after, key)) return;
  after.state = std::move(*next);
  Layer& layer = layers_[after.state.position];
  const auto [it, is_new] = layer.try_emplace(std::move(key));
  if (is_new || better(after, it->second)) it->second = std::move(after);
}

bool BeamSearch::better(const Entry& a, const Entry& b) const {
  if (a.state.cost != b.state.cost) return a.state.cost < b.state.cost;
  if (a.count != b.count) return a.count < b.count;
  return earlier(a.step, b.step);
}

/// Of two paths of equal length, which has the smaller move where they first differ, or joins less of what came first.
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

/// Puts into the key what the memory rule keeps apart. False: it does not fit.
bool BeamSearch::add_memory(const Entry& before, MoveId move, Entry& after, std::vector<int64_t>& key) const {
  key.push_back(-2);
  if (memory_.sure_bytes == nullptr) {
    std::vector<CandidateId> chosen = candidates(before.step, move);
    if (!memory_.limits->could_fit(chosen)) return false;
    std::sort(chosen.begin(), chosen.end());
    for (CandidateId c : chosen) key.push_back(c.index);
    return true;
  }
  const Table<MemoryLimits::InstanceId, MemoryLimits::Instance>& instances = memory_.limits->instances();
  after.held = before.held;
  after.worst = before.worst;
  after.held.resize(instances.size());
  after.worst.resize(instances.size());
  const CandidateId candidate = problem_.moves[move].source;
  const MemoryLimits::InstanceId instance = memory_.limits->instance_of(candidate);
  if (instance.is_valid()) {
    after.held[instance] += (*memory_.sure_bytes)[candidate];
    after.worst[instance] = std::max(after.worst[instance], memory_.limits->working_bytes(candidate));
  }
  constexpr int64_t kBuckets = 32;
  for (MemoryLimits::InstanceId i : instances.ids()) {
    if (after.held[i] + after.worst[i] > instances[i].bytes) return false;
    const int64_t bytes = std::max<int64_t>(1, instances[i].bytes);
    key.insert(key.end(), {after.held[i] * kBuckets / bytes, after.worst[i] * kBuckets / bytes});
  }
  return true;
}

/// Of a path that ends with `step`, and of one more move.
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

void BeamSearch::finish(const Entry& entry, Incumbent& best) const {
  Incumbent found{entry.state.cost, entry.count, {}, {}};
  for (StepId step = entry.step; step.is_valid(); step = steps_[step].previous) {
    found.moves.push_back(steps_[step].move);
  }
  std::reverse(found.moves.begin(), found.moves.end());
  found.regions = regions_of(entry.step);
  if (memory_.limits != nullptr) {
    std::vector<CandidateId> chosen;
    for (MoveId move : found.moves) chosen.push_back(problem_.moves[move].source);
    if (!memory_.limits->fits(chosen)) return;
    if (memory_.on_solution) memory_.on_solution(chosen, found.regions);
  }
  const auto rank = [](const Incumbent& of) { return std::tie(of.cost, of.count, of.moves, of.regions); };
  if (rank(found) < rank(best)) best = std::move(found);
}

}  // namespace collage::place
