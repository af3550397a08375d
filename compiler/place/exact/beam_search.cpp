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

Duration BeamSearch::run(size_t width, Incumbent& best) {
  steps_.clear();
  joined_.clear();
  put_aside_ = Duration::max();
  layers_.assign(static_cast<size_t>(problem_.node_count) + 1, {});
  Entry first;
  // In large graphs rounds of width 1 are to be quick; they prove nothing anyway.
  transitions_.look_ahead(width > 1 || problem_.node_count <= kLargeGraph);
  first.state = transitions_.initial();
  first.bound = transitions_.bound(first.state);
  if (first.bound < Duration::max()) layers_[0].emplace(transitions_.key(first.state), first);
  for (size_t position = 0; position < static_cast<size_t>(problem_.node_count); ++position) {
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
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(width), entries.end(), less);
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
  for (int move : problem_.moves_at[static_cast<size_t>(entry.state.position)]) {
    if (problem_.moves[static_cast<size_t>(move)].region_owner < 0) {
      choose(entry, move, {}, best);
      continue;
    }
    bool all = true;
    for (const std::vector<int>& joined :
         regions.choices(entry.state.regions, problem_.moves[static_cast<size_t>(move)], all)) {
      choose(entry, move, joined, best);
    }
    if (!all) put_aside_ = std::min(put_aside_, entry.bound);
  }
}

void BeamSearch::choose(const Entry& entry, int move, const std::vector<int>& joined, const Incumbent& best) {
  std::optional<SearchState> next = transitions_.choose(entry.state, move, joined);
  if (!next) return;
  Entry after;
  after.bound = std::max(entry.bound, transitions_.bound(*next, best.cost));
  after.count = entry.count + 1;
  if (after.bound >= Duration::max() || is_beyond(after, best)) return;
  after.step = static_cast<int>(steps_.size());
  steps_.push_back({entry.step, move, -1});
  if (!joined.empty()) {
    steps_.back().joined = static_cast<int>(joined_.size());
    std::vector<int>& names = joined_.emplace_back();
    for (int r : joined) names.push_back(entry.state.regions[static_cast<size_t>(r)].first);
    std::sort(names.begin(), names.end());
  }
  std::vector<int64_t> key = transitions_.key(*next);
  if (memory_.limits != nullptr && !add_memory(entry, move, after, key)) return;
  after.state = std::move(*next);
  Layer& layer = layers_[static_cast<size_t>(after.state.position)];
  const auto [it, is_new] = layer.try_emplace(std::move(key));
  if (is_new || better(after, it->second)) it->second = std::move(after);
}

bool BeamSearch::better(const Entry& a, const Entry& b) const {
  if (a.state.cost != b.state.cost) return a.state.cost < b.state.cost;
  if (a.count != b.count) return a.count < b.count;
  return earlier(a.step, b.step);
}

/// Of two paths of equal length, which has the smaller move where they first differ, or joins less of what came first.
bool BeamSearch::earlier(int a, int b) const {
  bool result = false;
  while (a != b) {
    const Step& left = steps_[static_cast<size_t>(a)];
    const Step& right = steps_[static_cast<size_t>(b)];
    if (left.move != right.move) {
      result = left.move < right.move;
    } else if (left.joined >= 0 || right.joined >= 0) {
      const std::vector<int> nothing;
      const auto names = [&](const Step& s) {
        return s.joined < 0 ? &nothing : &joined_[static_cast<size_t>(s.joined)];
      };
      if (*names(left) != *names(right)) result = *names(left) < *names(right);
    }
    a = left.previous;
    b = right.previous;
  }
  return result;
}

/// Puts into the key what the memory rule keeps apart. False: it does not fit.
bool BeamSearch::add_memory(const Entry& before, int move, Entry& after, std::vector<int64_t>& key) const {
  key.push_back(-2);
  if (memory_.sure_bytes == nullptr) {
    std::vector<int> chosen = candidates(before.step, move);
    if (!memory_.limits->could_fit(chosen)) return false;
    std::sort(chosen.begin(), chosen.end());
    key.insert(key.end(), chosen.begin(), chosen.end());
    return true;
  }
  const std::vector<MemoryLimits::Instance>& instances = memory_.limits->instances();
  after.held = before.held;
  after.worst = before.worst;
  after.held.resize(instances.size());
  after.worst.resize(instances.size());
  const int candidate = problem_.moves[static_cast<size_t>(move)].source;
  const int instance = memory_.limits->instance_of(candidate);
  if (instance >= 0) {
    const size_t at = static_cast<size_t>(instance);
    after.held[at] += (*memory_.sure_bytes)[static_cast<size_t>(candidate)];
    after.worst[at] = std::max(after.worst[at], memory_.limits->working_bytes(candidate));
  }
  constexpr int64_t kBuckets = 32;
  for (size_t i = 0; i < instances.size(); ++i) {
    if (after.held[i] + after.worst[i] > instances[i].bytes) return false;
    const int64_t bytes = std::max<int64_t>(1, instances[i].bytes);
    key.insert(key.end(), {after.held[i] * kBuckets / bytes, after.worst[i] * kBuckets / bytes});
  }
  return true;
}

/// Of a path that ends with `step`, and of one more move (-1: none).
std::vector<int> BeamSearch::candidates(int step, int move) const {
  std::vector<int> chosen;
  const auto add = [&](int m) { chosen.push_back(problem_.moves[static_cast<size_t>(m)].source); };
  if (move >= 0) add(move);
  for (; step >= 0; step = steps_[static_cast<size_t>(step)].previous) add(steps_[static_cast<size_t>(step)].move);
  return chosen;
}

/// Follows the joins along a path of `count` moves.
std::vector<int> BeamSearch::regions_of(int step, size_t count) const {
  std::vector<const Step*> path;
  for (; step >= 0; step = steps_[static_cast<size_t>(step)].previous)
    path.push_back(&steps_[static_cast<size_t>(step)]);
  std::reverse(path.begin(), path.end());
  std::vector<int> into(count);  // an earlier move of the region, or itself
  std::map<int, int> first_of;   // by name
  for (size_t i = 0; i < path.size(); ++i) {
    into[i] = static_cast<int>(i);
    int name = problem_.moves[static_cast<size_t>(path[i]->move)].nodes.front();
    if (path[i]->joined >= 0) {
      const std::vector<int>& names = joined_[static_cast<size_t>(path[i]->joined)];
      name = std::min(name, names.front());
      for (int joined : names) into[i] = std::min(into[i], first_of.at(joined));
      for (int joined : names) into[static_cast<size_t>(first_of.at(joined))] = into[i];
    }
    first_of[name] = into[i];
  }
  for (int& move : into) move = into[static_cast<size_t>(move)];
  return into;
}

void BeamSearch::finish(const Entry& entry, Incumbent& best) const {
  Incumbent found{entry.state.cost, entry.count, {}, {}};
  for (int step = entry.step; step >= 0; step = steps_[static_cast<size_t>(step)].previous) {
    found.moves.push_back(steps_[static_cast<size_t>(step)].move);
  }
  std::reverse(found.moves.begin(), found.moves.end());
  found.regions = regions_of(entry.step, found.moves.size());
  if (memory_.limits != nullptr) {
    std::vector<int> chosen;
    for (int move : found.moves) chosen.push_back(problem_.moves[static_cast<size_t>(move)].source);
    if (!memory_.limits->fits(chosen)) return;
    if (memory_.on_solution) memory_.on_solution(chosen, found.regions);
  }
  const auto rank = [](const Incumbent& of) { return std::tie(of.cost, of.count, of.moves, of.regions); };
  if (rank(found) < rank(best)) best = std::move(found);
}

}  // namespace collage::place
