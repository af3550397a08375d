// SPDX-License-Identifier: Apache-2.0
// See sweep.h.
#include "compiler/certificate/sweep.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace collage::certificate {
namespace {

using place::Candidate;
using place::FormatId;
using place::ProblemValue;

using RunId = ChainPass::RunId;
using WritingId = ChainPass::WritingId;

/// A value of which some reader, or the writer, is not before the place.
struct OpenValue {
  ProblemValueId value = 0;
  FormatId written;  ///< none: its writer is not covered
  Formats wanted = 0;
  bool is_settled = false;
  WritingId writing;  ///< of the run that wrote it; none: that is not before the place
};

/// The use of limits by a partial solution.
struct Usage {
  Table<Limits::CounterId, int64_t> partitions;
  Table<Limits::InstanceId, Wide> held;     ///< sure bytes of constants
  Table<Limits::InstanceId, Wide> working;  ///< the most of one candidate
  std::vector<char> owners;                 ///< of those with conflicts, which are used
};

bool uses_no_more(const Usage& a, const Usage& b) {
  const auto no_more = [](const auto& of_a, const auto& of_b) {
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), [](auto x, auto y) { return x <= y; });
  };
  return no_more(a.partitions, b.partitions) && no_more(a.held, b.held) && no_more(a.working, b.working) &&
         no_more(a.owners, b.owners);
}

struct Partial {
  Position place = 0;
  std::vector<Position> beyond;  ///< covered, ascending
  std::vector<OpenValue> open;   ///< ascending
  Usage used;
  Usage matters;  ///< `used`, but equal where it can make no difference any more
  Wide cost = 0;  ///< of candidates and settled values
  RunId last;     ///< up to `place`
  std::vector<RunId> ahead;
  /// Shares of runs up to `last`, and conversions of values that are no more open; by round.
  std::vector<Wide> paid;
};

struct HashOfKey {
  size_t operator()(const std::vector<int64_t>& key) const noexcept {
    uint64_t hash = key.size();
    for (int64_t word : key) {
      hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 31;
    }
    return hash;
  }
};

/// Partial solutions that end at one place. They are expanded in the order in which they came, whatever the hashes.
struct Layer {
  std::unordered_map<std::vector<int64_t>, size_t, HashOfKey> place_of_key;
  std::vector<std::vector<Partial>> alike;

  std::vector<Partial>& with(std::vector<int64_t>&& key) {
    const auto [it, is_new] = place_of_key.emplace(std::move(key), alike.size());
    if (is_new) alike.emplace_back();
    return alike[it->second];
  }
};

class Sweeper {
 public:
  explicit Sweeper(const SweepInput& input)
      : input_(input),
        problem_(input.file.problem),
        nodes_(problem_.node_count),
        beginning_at_(nodes_),
        writer_(problem_.values.size()),
        readers_(problem_.values.size()),
        last_(problem_.values.size()),
        layers_(nodes_ + 1) {
    for (PricedRound& round : input.rounds) round.pass->find_rests();
    for (EntryId i : input.candidates.ids()) {
      beginning_at_[input.order.runs[input.candidates[i]].front().front()].push_back(i);
    }
    for (ProblemValueId v : problem_.values.ids()) {
      const ProblemValue& value = problem_.values[v];
      if (value.writer.is_valid()) writer_[v] = input.order.position[value.writer];
      for (NodeId reader : value.readers) readers_[v].push_back(input.order.position[reader]);
      last_[v] = std::accumulate(readers_[v].begin(), readers_[v].end(), writer_[v],
                                 [](Position a, Position b) { return std::max(a, b); });
    }
    for (OwnerId a : problem_.owners.ids()) {
      const auto ids = problem_.owners.ids();
      if (std::any_of(ids.begin(), ids.end(), [&](OwnerId b) { return input.limits.conflict(a, b); }))
        in_conflict_.push_back(a);
    }
    find_most_left();
  }

  Wide run() {
    Partial first;
    first.used.partitions.assign(input_.limits.counters(), 0);
    first.used.held.assign(input_.limits.instances(), 0);
    first.used.working = Table<Limits::InstanceId, Wide>(input_.limits.instances(), 0);
    for (Limits::InstanceId i : first.used.working.ids()) first.used.working[i] = input_.state.demanded[i];
    first.used.owners.assign(in_conflict_.size(), 0);
    for (ProblemValueId v : writer_.ids()) {
      const bool is_input = !writer_[v].is_valid() && !readers_[v].empty();
      if (is_input)
        first.open.push_back({v, problem_.host_plain, 0, false, input_.rounds.front().pass->input_writing(v)});
    }
    first.paid.assign(input_.rounds.size(), 0);
    keep(std::move(first));
    for (Position at : beginning_at_.ids()) {
      const Layer layer = std::exchange(layers_[at], {});
      for (const std::vector<Partial>& alike : layer.alike) {
        for (const Partial& partial : alike) expand(partial);
      }
    }
    for (const std::vector<Partial>& alike : layers_.back().alike) {
      for (const Partial& whole : alike) least_ = std::min(least_, whole.cost);
    }
    return least_;
  }

 private:
  const Candidate& candidate(EntryId i) const { return problem_.candidates[input_.candidates[i]]; }

  /// The most that candidates which begin at a position or later can add, as a chain in which a candidate counts where
  /// it begins.
  void find_most_left() {
    partitions_left_.assign(nodes_ + 1, Table<Limits::CounterId, int64_t>(input_.limits.counters(), 0));
    bytes_left_.assign(nodes_ + 1, Table<Limits::InstanceId, Wide>(input_.limits.instances(), 0));
    most_working_.assign(input_.limits.instances(), 0);
    const ChainPass& pass = *input_.rounds.front().pass;
    std::vector<std::pair<RunId, EntryId>> runs;
    for (EntryId i : input_.candidates.ids()) {
      const CandidateId c = input_.candidates[i];
      for (RunId r : pass.runs_of(i)) runs.emplace_back(r, i);
      if (const auto instance = input_.limits.instance_of(c); instance.is_valid()) {
        most_working_[instance] = std::max(most_working_[instance], input_.limits.working_bytes(c));
      }
    }
    std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
      return pass.positions(a.first).front() > pass.positions(b.first).front();
    });
    for (const auto& [r, i] : runs) {
      const CandidateId c = input_.candidates[i];
      const Position begin = pass.positions(r).front(), end = pass.positions(r).last_plus_one();
      const bool counts = r == pass.runs_of(i).front();
      for (Limits::CounterId counter : partitions_left_[begin].ids()) {
        const bool is_there = counts && input_.limits.counter_of(problem_.candidates[c].owner) == counter;
        int64_t& most = partitions_left_[begin][counter];
        most = std::max(most, partitions_left_[end][counter] + (is_there ? 1 : 0));
      }
      for (Limits::InstanceId instance : bytes_left_[begin].ids()) {
        const bool is_there = counts && input_.limits.instance_of(c) == instance;
        Wide& most = bytes_left_[begin][instance];
        most = std::max(most, bytes_left_[end][instance] + (is_there ? input_.limits.sure_bytes(c) : 0));
      }
    }
  }

  void expand(const Partial& partial) {
    for (EntryId i : beginning_at_[partial.place]) {
      if (is_full_) {
        least_ = std::min(least_, lower(partial));
        return;
      }
      if (std::optional<Partial> next = with(partial, i)) keep(std::move(*next));
    }
  }

  /// Nothing: the candidate cannot be added.
  std::optional<Partial> with(const Partial& before, EntryId i) {
    const CandidateId c = input_.candidates[i];
    const ChainPass& pass = *input_.rounds.front().pass;
    Partial after;
    after.beyond = before.beyond;
    for (const Stretch& stretch : input_.order.runs[c]) {
      for (Position at : stretch) {
        const auto there = std::lower_bound(after.beyond.begin(), after.beyond.end(), at);
        if (there != after.beyond.end() && *there == at) return std::nullopt;
        after.beyond.insert(there, at);
      }
    }
    after.used = before.used;
    if (!use(c, after.used)) return std::nullopt;
    after.place = before.place;
    auto passed = after.beyond.begin();
    for (; passed != after.beyond.end() && *passed == after.place; ++passed) after.place = advance(after.place, 1);
    after.beyond.erase(after.beyond.begin(), passed);

    after.cost = before.cost + input_.costs[i];
    after.open = before.open;
    if (!touch_values(candidate(i), after) || after.cost >= input_.claimed) return std::nullopt;

    after.last = before.last;
    after.ahead = before.ahead;
    for (RunId r : pass.runs_of(i)) after.ahead.push_back(r);
    std::sort(after.ahead.begin(), after.ahead.end(), [&](RunId a, RunId b) { return begin_of(a) < begin_of(b); });
    after.paid = before.paid;
    pass_runs(after);
    if (lower(after) >= input_.claimed) return std::nullopt;
    return after;
  }

  Position begin_of(RunId run) const { return input_.rounds.front().pass->positions(run).front(); }

  /// What lies before the place now: runs, and values with all their readers.
  void pass_runs(Partial& after) const {
    const ChainPass& pass = *input_.rounds.front().pass;
    auto run = after.ahead.begin();
    for (; run != after.ahead.end() && begin_of(*run) < after.place; ++run) {
      for (size_t r = 0; r < after.paid.size(); ++r) after.paid[r] += input_.rounds[r].pass->share(*run);
      for (const auto& [v, writing] : pass.writes(*run)) find_open(after, v)->writing = writing;
      after.last = *run;
    }
    after.ahead.erase(after.ahead.begin(), run);
    std::erase_if(after.open, [&](const OpenValue& open) {
      if (last_[open.value] >= after.place) return false;
      const Wide cost = pass.conversions(open.value, open.written, open.wanted);
      for (Wide& paid : after.paid) paid += cost;
      return true;
    });
  }

  static std::vector<OpenValue>::iterator find_open(Partial& partial, ProblemValueId v) {
    return std::lower_bound(partial.open.begin(), partial.open.end(), v,
                            [](const OpenValue& known, ProblemValueId value) { return known.value < value; });
  }

  /// False: a limit is exceeded.
  bool use(CandidateId c, Usage& used) const {
    const OwnerId owner = problem_.candidates[c].owner;
    if (const Limits::CounterId counter = input_.limits.counter_of(owner); counter.is_valid()) {
      if (++used.partitions[counter] > *problem_.owners[owner].max_partitions) return false;
    }
    for (size_t k = 0; k < in_conflict_.size(); ++k) {
      if (used.owners[k] != 0 && input_.limits.conflict(in_conflict_[k], owner)) return false;
    }
    const auto known = std::find(in_conflict_.begin(), in_conflict_.end(), owner);
    if (known != in_conflict_.end()) used.owners[static_cast<size_t>(known - in_conflict_.begin())] = 1;
    const Limits::InstanceId instance = input_.limits.instance_of(c);
    if (!instance.is_valid()) return true;
    used.held[instance] += input_.limits.sure_bytes(c);
    used.working[instance] = std::max(used.working[instance], input_.limits.working_bytes(c));
    return used.held[instance] + used.working[instance] <= input_.limits.memory(instance);
  }

  bool is_covered(const Partial& partial, Position at) const {
    return at < partial.place || std::binary_search(partial.beyond.begin(), partial.beyond.end(), at);
  }

  /// False: a value cannot be had in all formats in which it is wanted.
  bool touch_values(const Candidate& added, Partial& after) const {
    const ChainPass& pass = *input_.rounds.front().pass;
    const auto open = [&](ProblemValueId v) {
      auto at = find_open(after, v);
      if (at == after.open.end() || at->value != v) at = after.open.insert(at, {v, {}, 0, false, {}});
      return at;
    };
    const auto settle = [&](ProblemValueId v) {
      const auto at = open(v);
      if (!at->written.is_valid() || at->is_settled) return true;
      const std::vector<Position>& readers = readers_[v];
      if (!std::all_of(readers.begin(), readers.end(), [&](Position p) { return is_covered(after, p); })) return true;
      const Wide cost = pass.conversions(v, at->written, at->wanted);
      at->is_settled = true;
      after.cost += cost;
      return cost < kUnreachable;
    };
    for (const place::ValueFormat& read : added.reads) {
      open(read.value)->wanted |= pass.format_bit(read.value, read.format);
    }
    for (const place::ValueFormat& write : added.writes) open(write.value)->written = write.format;
    for (const place::ValueFormat& read : added.reads) {
      if (!settle(read.value)) return false;
    }
    return std::all_of(added.writes.begin(), added.writes.end(),
                       [&](const place::ValueFormat& write) { return settle(write.value); });
  }

  /// A lower bound on the cost of every completion.
  Wide lower(const Partial& partial) const {
    Table<Limits::InstanceId, Wide> rooms(input_.limits.instances());
    for (Limits::InstanceId i : rooms.ids()) rooms[i] = Wide{input_.limits.memory(i)} - partial.used.working[i];
    Wide lower = -kUnreachable;
    for (size_t r = 0; r < partial.paid.size(); ++r) {
      const PricedRound& round = input_.rounds[r];
      Wide here = round.pass->rest(partial.last);
      if (here >= kUnreachable) return kUnreachable;
      here += partial.paid[r] - round.prices.credit(rooms);
      for (const OpenValue& open : partial.open) {
        if (!open.writing.is_valid() || is_next(open.value, partial.place)) continue;
        const Wide phi = round.pass->phi(open.writing, open.wanted, partial.place);
        if (phi >= kUnreachable) return kUnreachable;
        here += phi;
      }
      lower = std::max(lower, here);
    }
    return lower;
  }

  /// Whether the value is written right before the place and read there.
  bool is_next(ProblemValueId v, Position place) const {
    return advance(writer_[v], 1) == place &&
           std::find(readers_[v].begin(), readers_[v].end(), place) != readers_[v].end();
  }

  /// Sets `matters`: what can never bind from here on counts as if it were used up to where it could.
  void find_what_matters(Partial& partial) const {
    partial.matters = partial.used;
    Usage& used = partial.matters;
    for (Limits::CounterId counter : used.partitions.ids()) {
      const int64_t left = partitions_left_[partial.place][counter];
      used.partitions[counter] = std::max(used.partitions[counter], input_.limits.most_partitions(counter) - left);
    }
    for (Limits::InstanceId i : used.held.ids()) {
      const Wide memory = input_.limits.memory(i), left = bytes_left_[partial.place][i];
      const Wide most_working = std::max<Wide>(most_working_[i], used.working[i]);
      used.held[i] = std::max(used.held[i], memory - left - most_working);
      used.working[i] = std::max(used.working[i], std::min(most_working, memory - left - used.held[i]));
    }
  }

  /// Among partial solutions with equal keys, keeps those that no other one dominates.
  void keep(Partial&& partial) {
    find_what_matters(partial);
    std::vector<int64_t> key;
    for (Position at : partial.beyond) key.push_back(at.index);
    key.push_back(-1);
    for (const OpenValue& open : partial.open) {
      const bool is_untouched = !writer_[open.value].is_valid() && open.wanted == 0;
      if (open.is_settled || is_untouched) continue;
      key.insert(key.end(), {open.value.index, open.written.index, static_cast<int64_t>(open.wanted)});
    }
    std::vector<Partial>& alike = layers_[partial.place].with(std::move(key));
    const auto replaces = [](const Partial& a, const Partial& b) {
      return a.cost <= b.cost && uses_no_more(a.matters, b.matters);
    };
    if (std::any_of(alike.begin(), alike.end(), [&](const Partial& known) { return replaces(known, partial); })) return;
    std::erase_if(alike, [&](const Partial& known) { return replaces(partial, known); });
    alike.push_back(std::move(partial));
    is_full_ = ++states_ > input_.most_states;
  }

  const SweepInput& input_;
  const place::Problem& problem_;
  const size_t nodes_;
  Table<Position, std::vector<EntryId>> beginning_at_;
  Table<ProblemValueId, Position> writer_;
  Table<ProblemValueId, std::vector<Position>> readers_;
  Table<ProblemValueId, Position> last_;  // of writer and readers
  std::vector<OwnerId> in_conflict_;
  Table<Position, Table<Limits::CounterId, int64_t>> partitions_left_;
  Table<Position, Table<Limits::InstanceId, Wide>> bytes_left_;
  Table<Limits::InstanceId, Wide> most_working_;
  Table<Position, Layer> layers_;
  size_t states_ = 0;
  bool is_full_ = false;
  Wide least_ = input_.claimed;  ///< of whole solutions, and of what was not examined
};

}  // namespace

Wide sweep(const SweepInput& input) {
  return Sweeper(input).run();
}

}  // namespace collage::certificate
