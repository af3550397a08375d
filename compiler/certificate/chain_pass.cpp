// SPDX-License-Identifier: Apache-2.0
// See chain_pass.h.
#include "compiler/certificate/chain_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace collage::certificate {

using place::FormatId;
using place::ProblemValue;
using place::ValueFormat;
using runtime::Status;

namespace {

constexpr size_t kMaxFormats = 64;
/// phi is worked out over all sets of formats up to here. Past it the readers are left out of phi and pay nothing.
constexpr size_t kMaxPricedFormats = 8;
/// Chains between two runs of a candidate are worked out where no more positions lie between them.
constexpr size_t kMaxGapOfNearRuns = 32;

template <typename I, typename Item>
I intern(Table<I, Item>& items, const Item& item) {
  const I id(std::find(items.begin(), items.end(), item) - items.begin());
  if (id == items.next_id()) items.push_back(item);
  return id;
}

/// Sums in which `kUnreachable` stays what it is.
Wide sum(Wide a, Wide b) {
  return a >= kUnreachable || b >= kUnreachable ? kUnreachable : a + b;
}

}  // namespace

ChainPass::ChainPass(const CertificateFile& file, const Order& order, const Table<EntryId, CandidateId>& candidates,
                     const Table<EntryId, Wide>& costs)
    : file_(file),
      order_(order),
      candidates_(candidates),
      costs_(costs),
      values_(file.problem.values.size()),
      written_at_(file.problem.node_count),
      read_at_(file.problem.node_count),
      marked_(file.problem.node_count),
      places_(file.problem.node_count + 1) {
  place_values();
}

void ChainPass::place_values() {
  for (ProblemValueId v : values_.ids()) {
    const ProblemValue& given = file_.problem.values[v];
    Value& value = values_[v];
    if (given.writer.is_valid()) {
      value.writer = order_.position[given.writer];
      written_at_[value.writer].push_back(v);
    }
    for (NodeId reader : given.readers) value.readers.push_back({order_.position[reader], 0, {}});
    std::sort(value.readers.begin(), value.readers.end(),
              [](const Reader& a, const Reader& b) { return a.position < b.position; });
    for (ReaderId r : value.readers.ids()) {
      const Position at = value.readers[r].position;
      read_at_[at].emplace_back(v, r);
      if (at == value.next()) places_[at].crossing.push_back(v);
    }
  }
}

void ChainPass::mark(CandidateId c) {
  for (const Stretch& run : order_.runs[c]) {
    for (Position at : run) marked_[at] = c;
  }
}

Status ChainPass::set(const place::Proof::Round& round) {
  if (Status status = find_formats(); !status) return status;
  if (Status status = set_shares(round); !status) return status;
  if (Status status = set_prices(round); !status) return status;
  cut_into_runs();
  return Status::ok();
}

/// Which formats may be wanted of each value, and by which reader.
Status ChainPass::find_formats() {
  for (ProblemValueId v : values_.ids()) {
    if (file_.problem.values[v].is_output) values_[v].formats.push_back(file_.problem.host_plain);
  }
  for (CandidateId c : candidates_) {
    for (const ValueFormat& read : candidate(c).reads) {
      Table<FormatBit, FormatId>& formats = values_[read.value].formats;
      if (std::find(formats.begin(), formats.end(), read.format) == formats.end()) formats.push_back(read.format);
      if (formats.size() > kMaxFormats) {
        return Status::error(fmt::format("{} may be wanted in more than {} formats, which cannot be distinguished",
                                         value_text(file_, read.value), kMaxFormats));
      }
    }
  }
  for (ProblemValueId v : values_.ids()) {
    Value& value = values_[v];
    std::sort(value.formats.begin(), value.formats.end());
    if (file_.problem.values[v].is_output) value.always = bit(value, file_.problem.host_plain);
    if (value.formats.size() <= kMaxPricedFormats) value.trees = trees_of(v);
  }
  for (CandidateId c : candidates_) {
    const std::map<ProblemValueId, Formats> reads = reads_of(c);
    for (const Stretch& run : order_.runs[c]) {
      for (Position at : run) {
        for (const auto& [v, r] : read_at_[at]) {
          const auto it = reads.find(v);
          if (it != reads.end()) values_[v].readers[r].wants |= it->second;
        }
      }
    }
  }
  return Status::ok();
}

/// Values of equal conversions and equal formats share their trees.
const FormatTrees* ChainPass::trees_of(ProblemValueId v) {
  const Table<FormatBit, FormatId>& formats = values_[v].formats;
  const std::vector<place::ConversionEdge>& edges = file_.problem.values[v].conversions;
  std::vector<int64_t> key;
  for (FormatId format : formats) key.push_back(format.index);
  for (const place::ConversionEdge& edge : edges) {
    key.insert(key.end(), {-1, edge.from.index, edge.to.index, edge.cost.count()});
  }
  const auto [it, is_new] = trees_.try_emplace(std::move(key));
  if (is_new) it->second.emplace(edges, formats.items());
  return &*it->second;
}

Formats ChainPass::bit(const Value& value, FormatId format) {
  const auto it = std::lower_bound(value.formats.begin(), value.formats.end(), format);
  return it != value.formats.end() && *it == format ? Formats{1} << (it - value.formats.begin()) : 0;
}

FormatBit ChainPass::lowest(Formats set) {
  return FormatBit(int64_t{std::countr_zero(set)});
}

std::map<ProblemValueId, Formats> ChainPass::reads_of(CandidateId c) {
  std::map<ProblemValueId, Formats> reads;
  for (const ValueFormat& read : candidate(c).reads) reads[read.value] |= bit(values_[read.value], read.format);
  return reads;
}

Status ChainPass::set_shares(const place::Proof::Round& round) {
  for (const place::Proof::Share& share : round.shares) {
    const std::string who = candidate_text(file_, share.candidate);
    if (!shares_.emplace(share.candidate, &share).second) return Status::error(who + " has shares twice");
    if (candidate(share.candidate).cost >= place::Cost::max()) return Status::error(who + " has shares and no cost");
    const size_t runs = order_.runs[share.candidate].size();
    if (share.runs.size() != runs) {
      return Status::error(fmt::format("{} has {} shares and {} runs", who, share.runs.size(), runs));
    }
  }
  return Status::ok();
}

/// A price for a format that no candidate of the round reads there is no more than words.
Status ChainPass::set_prices(const place::Proof::Round& round) {
  for (const place::Proof::Price& given : round.prices) {
    Value& priced = values_[given.value];
    const Position at = order_.position[given.reader];
    const auto reader = std::find_if(priced.readers.begin(), priced.readers.end(),
                                     [at](const Reader& other) { return other.position == at; });
    const auto refuse = [&](std::string_view why) {
      return Status::error(fmt::format("a price for {} read by {}: {}", value_text(file_, given.value),
                                       node_text(file_, given.reader), why));
    };
    if (reader == priced.readers.end()) return refuse("it does not read it");
    if (!priced.writer.is_valid()) return refuse("readers of model inputs pay nothing");
    if (at == priced.next()) return refuse("a reader right after the writer pays nothing");
    const Formats format = bit(priced, given.format) & reader->wants;
    if (format == 0) continue;
    if (priced.trees == nullptr) return refuse("it may be wanted in too many formats to have prices");
    if (reader->prices.empty()) reader->prices.resize(priced.formats.size());
    Wide& price = reader->prices[lowest(format)];
    if (price != 0) return refuse("it stands there twice");
    price = given.price.count();
  }
  return Status::ok();
}

void ChainPass::cut_into_runs() {
  for (EntryId i : candidates_.ids()) {
    const CandidateId c = candidates_[i];
    const auto share = shares_.find(c);
    const std::vector<Stretch>& stretches = order_.runs[c];
    // Without shares: by length. With shares: what they leave, in equal parts.
    const bool has_shares = share != shares_.end();
    Wide beyond = has_shares ? costs_[i] : 0;
    if (has_shares) {
      for (place::Cost run : share->second->runs) beyond -= run.count();
    }
    const Wide each = costs_[i] / candidate(c).nodes.size();
    const std::map<ProblemValueId, Formats> reads = reads_of(c);
    mark(c);
    Wide rest = costs_[i];
    for (size_t r = 0; r < stretches.size(); ++r) {
      Wide own = each * stretches[r].size();
      if (has_shares) own = share->second->runs[r].count() + beyond / stretches.size();
      if (r + 1 == stretches.size()) own = rest;
      rest -= own;
      add_run(i, stretches[r], own, reads);
    }
    runs_of_.close(runs_.next_id());
  }
}

void ChainPass::add_run(EntryId entry, Stretch stretch, Wide share, const std::map<ProblemValueId, Formats>& reads) {
  Run run{entry, stretch.front(), stretch.last_plus_one(), 0, 0, share, {}, share};
  const CandidateId c = candidates_[entry];
  std::vector<Formats> next;
  for (ProblemValueId v : places_[run.begin].crossing) next.push_back(reads.at(v));
  run.start_kind = intern(places_[run.begin].reads, next);

  const std::vector<ProblemValueId>& crossing = places_[run.end].crossing;
  std::vector<WritingId> writings(crossing.size(), 0);
  for (Position at : stretch) {
    for (const auto& [v, r] : read_at_[at]) {
      const Table<FormatBit, Wide>& prices = values_[v].readers[r].prices;
      const auto read = reads.find(v);
      if (prices.empty() || read == reads.end()) continue;
      run.local = sum(run.local, prices[lowest(read->second)]);
    }
    for (ProblemValueId v : written_at_[at]) {
      const std::vector<ValueFormat>& writes = candidate(c).writes;
      const auto write =
          std::find_if(writes.begin(), writes.end(), [v = v](const ValueFormat& item) { return item.value == v; });
      if (write == writes.end()) continue;
      const WritingId writing = writing_of(v, write->format, c);
      run.writes.emplace_back(v, writing);
      const auto crosses = std::lower_bound(crossing.begin(), crossing.end(), v);
      if (crosses != crossing.end() && *crosses == v) {
        *(writings.begin() + (crosses - crossing.begin())) = writing;
      } else {
        run.local = sum(run.local, phi(writing, 0, 0));
      }
    }
  }
  run.end_kind = intern(places_[run.end].writings, writings);
  places_[run.begin].runs.push_back(runs_.add(run));
}

/// As candidate `c` writes it, which is the one marked last; none: as it stands there before all.
ChainPass::WritingId ChainPass::writing_of(ProblemValueId v, FormatId format, CandidateId c) {
  Value& written = values_[v];
  std::vector<ReaderId> outside;
  for (ReaderId r : written.readers.ids()) {
    const Position at = written.readers[r].position;
    const bool is_inside = c.is_valid() && marked_[at] == c;
    if (at != written.next() && !is_inside) outside.push_back(r);
  }
  for (WritingId known : written.writings) {
    if (writings_[known].format == format && writings_[known].outside == outside) return known;
  }
  written.writings.push_back(writings_.add({v, format, std::move(outside), {}}));
  return written.writings.back();
}

/// The most that a reader pays for a format of the set; nothing: it reads in none of them.
std::optional<Wide> ChainPass::given_back(const Reader& reader, Formats set) {
  Formats common = reader.wants & set;
  if (common == 0) return std::nullopt;
  if (reader.prices.empty()) return 0;
  Wide most = reader.prices[lowest(common)];
  for (; common != 0; common &= common - 1) most = std::max(most, reader.prices[lowest(common)]);
  return most;
}

Wide ChainPass::phi(WritingId id, Formats wanted, Position from) {
  Writing& writing = writings_[id];
  const Value& written = values_[writing.value];
  size_t first = 0;
  while (first < writing.outside.size() && written.readers[writing.outside[first]].position < from) ++first;
  const auto [it, is_new] = writing.phi.try_emplace({wanted, first}, kUnreachable);
  if (!is_new) return it->second;
  const Formats needed = written.always | wanted;
  if (written.trees == nullptr) return it->second = plain_cost(writing.value, writing.format, needed);
  const Formats free = ((Formats{1} << written.formats.size()) - 1) & ~needed;
  for (Formats more = free;; more = (more - 1) & free) {
    Wide cost = scaled(written.trees->cost(writing.format, static_cast<uint32_t>(needed | more)));
    for (size_t i = first; i < writing.outside.size() && cost < kUnreachable; ++i) {
      const Reader& reader = written.readers[writing.outside[i]];
      const std::optional<Wide> back = given_back(reader, needed | more);
      cost = back ? cost - *back : kUnreachable;
    }
    it->second = std::min(it->second, cost);
    if (more == 0) return it->second;
  }
}

/// St(w, F) of a value in many formats; 0, which is no more, where even F is too many.
Wide ChainPass::plain_cost(ProblemValueId v, FormatId written, Formats needed) const {
  std::vector<FormatId> wanted;
  for (Formats rest = needed; rest != 0; rest &= rest - 1) {
    const FormatId format = values_[v].formats[lowest(rest)];
    if (format != written) wanted.push_back(format);
  }
  if (wanted.empty() || wanted.size() > FormatTrees::kMaxWantedFormats) return 0;
  const FormatTrees trees(file_.problem.values[v].conversions, wanted);
  return scaled(trees.cost(written, (uint32_t{1} << wanted.size()) - 1));
}

Wide ChainPass::conversions(ProblemValueId v, FormatId written, Formats wanted) const {
  const Value& value = values_[v];
  const Formats needed = wanted | value.always;
  if (value.trees == nullptr) return plain_cost(v, written, needed);
  return scaled(value.trees->cost(written, static_cast<uint32_t>(needed)));
}

Wide ChainPass::rest(RunId last) const {
  return last.is_valid() ? places_[runs_[last].end].end_rest[runs_[last].end_kind] : places_.front().end_rest.front();
}

void ChainPass::link(Place& at) {
  for (const std::vector<WritingId>& writings : at.writings) {
    for (const std::vector<Formats>& reads : at.reads) {
      Wide cost = 0;
      for (size_t i = 0; i < writings.size(); ++i) cost = sum(cost, phi(writings[i], reads[i], 0));
      at.links.push_back(cost);
    }
  }
}

Wide ChainPass::lower() {
  Wide inputs = 0;
  input_writings_.assign(values_.size(), WritingId());
  std::vector<WritingId> crossing;
  for (ProblemValueId v : values_.ids()) {
    if (values_[v].writer.is_valid()) continue;
    const WritingId writing = input_writings_[v] = writing_of(v, file_.problem.host_plain, {});
    const std::vector<ProblemValueId>& first = places_.front().crossing;
    if (std::binary_search(first.begin(), first.end(), v)) {
      crossing.push_back(writing);
    } else {
      inputs = sum(inputs, phi(writing, 0, 0));
    }
  }
  places_.front().writings.assign(1, crossing);
  places_.back().reads.assign(1, std::vector<Formats>());
  for (Place& at : places_) {
    link(at);
    at.reach.assign(at.writings.size(), kUnreachable);
    at.start.assign(at.reads.size(), kUnreachable);
  }
  places_.front().reach.front() = inputs;
  for (Place& at : places_) {
    for (EndKind e : at.reach.ids()) {
      if (at.reach[e] >= kUnreachable) continue;
      for (StartKind s : at.start.ids()) at.start[s] = std::min(at.start[s], sum(at.reach[e], at.link(e, s)));
    }
    for (RunId r : at.runs) {
      const Run& run = runs_[r];
      Wide& reach = places_[run.end].reach[run.end_kind];
      reach = std::min(reach, sum(at.start[run.start_kind], run.local));
    }
  }
  return places_.back().start.front();
}

void ChainPass::backward() {
  for (size_t q = places_.size(); q-- > 0;) {
    Place& at = places_[Position(q)];
    at.start_rest.assign(at.reads.size(), q + 1 == places_.size() ? Wide{0} : kUnreachable);
    at.end_rest.assign(at.writings.size(), kUnreachable);
    for (RunId r : at.runs) {
      const Run& run = runs_[r];
      Wide& rest = at.start_rest[run.start_kind];
      rest = std::min(rest, sum(run.local, places_[run.end].end_rest[run.end_kind]));
    }
    for (EndKind e : at.end_rest.ids()) {
      for (StartKind s : at.start_rest.ids()) {
        at.end_rest[e] = std::min(at.end_rest[e], sum(at.start_rest[s], at.link(e, s)));
      }
    }
  }
}

/// The cheapest chain from a run's end to the beginning of the candidate's next run; `-kUnreachable` where it is too
/// far to say.
Table<ChainPass::RunId, Wide> ChainPass::between_runs() const {
  Table<RunId, Wide> between(runs_.size(), -kUnreachable);
  // Runs that end alike ask for chains from the same place.
  std::vector<RunId> asking;
  for (EntryId i : candidates_.ids()) {
    for (RunId r : runs_of_[i]) {
      const RunId next = advance(r, 1);
      if (next == runs_of_[i].last_plus_one()) break;
      if (Stretch(runs_[r].end, runs_[next].begin).size() <= kMaxGapOfNearRuns) asking.push_back(r);
    }
  }
  const auto end_of = [&](RunId r) { return std::pair(runs_[r].end, runs_[r].end_kind); };
  std::sort(asking.begin(), asking.end(), [&](RunId a, RunId b) { return end_of(a) < end_of(b); });
  for (size_t i = 0; i < asking.size();) {
    size_t j = i;
    const auto [from, kind] = end_of(asking[i]);
    Position to = from;
    for (; j < asking.size() && end_of(asking[j]) == end_of(asking[i]); ++j) {
      to = std::max(to, runs_[advance(asking[j], 1)].begin);
    }
    // By the distance to `from`.
    using Near = support::Id<struct NearTag>;
    const auto near = [from = from](Position q) { return Near(Stretch(from, q).size()); };
    const Stretch window(from, advance(to, 1));
    Table<Near, Table<EndKind, Wide>> reach;
    Table<Near, Table<StartKind, Wide>> start;
    for (Position q : window) {
      reach.push_back(Table<EndKind, Wide>(places_[q].writings.size(), kUnreachable));
      start.push_back(Table<StartKind, Wide>(places_[q].reads.size(), kUnreachable));
    }
    reach.front()[kind] = 0;
    for (Position q : window) {
      const Table<EndKind, Wide>& reach_here = reach[near(q)];
      Table<StartKind, Wide>& start_here = start[near(q)];
      for (EndKind e : reach_here.ids()) {
        if (reach_here[e] >= kUnreachable) continue;
        for (StartKind s : start_here.ids()) {
          start_here[s] = std::min(start_here[s], sum(reach_here[e], places_[q].link(e, s)));
        }
      }
      for (RunId r : places_[q].runs) {
        const Run& run = runs_[r];
        const Wide here = start_here[run.start_kind];
        if (run.end > to || here >= kUnreachable) continue;
        Wide& there = reach[near(run.end)][run.end_kind];
        there = std::min(there, sum(here, run.local));
      }
    }
    for (; i < j; ++i) {
      const Run& next = runs_[advance(asking[i], 1)];
      between[asking[i]] = start[near(next.begin)][next.start_kind];
    }
  }
  return between;
}

Table<EntryId, Wide> ChainPass::lower_with() {
  backward();
  const Table<RunId, Wide> between = between_runs();
  const auto start_of = [&](const Run& run) { return places_[run.begin].start[run.start_kind]; };
  const auto rest_of = [&](const Run& run) { return places_[run.end].end_rest[run.end_kind]; };
  Table<EntryId, Wide> lower;
  for (EntryId i : candidates_.ids()) {
    Wide most = -kUnreachable;
    Wide all = start_of(runs_[runs_of_[i].front()]);  // the cheapest chain through all runs
    bool is_near = true;
    for (RunId r : runs_of_[i]) {
      const Run& run = runs_[r];
      const bool is_last = advance(r, 1) == runs_of_[i].last_plus_one();
      most = std::max(most, sum(sum(start_of(run), run.local), rest_of(run)));
      is_near = is_near && (is_last || between[r] > -kUnreachable);
      if (is_near) all = sum(sum(all, run.local), is_last ? rest_of(run) : between[r]);
    }
    lower.push_back(is_near ? std::max(most, all) : most);
  }
  return lower;
}

}  // namespace collage::certificate
