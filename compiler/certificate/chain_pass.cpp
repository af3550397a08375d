// SPDX-License-Identifier: Apache-2.0
// See chain_pass.h.
#include "compiler/certificate/chain_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace collage::check_plan {

using place::Candidate;
using place::FormatId;
using place::ProblemValue;
using place::ValueFormat;
using runtime::Status;

namespace {

constexpr int kMaxFormats = 64;
/// phi is worked out over all sets of formats up to here. Past it the readers are left out of phi and pay nothing.
constexpr size_t kMaxPricedReaders = 8;
/// Chains between two runs of a candidate are worked out where no more positions lie between them.
constexpr int kMaxGapOfNearRuns = 32;

template <typename Item>
int intern(std::vector<Item>& items, const Item& item) {
  const auto index = std::find(items.begin(), items.end(), item) - items.begin();
  if (static_cast<size_t>(index) == items.size()) items.push_back(item);
  return static_cast<int>(index);
}

/// Sums in which `kUnreachable` stays what it is.
Wide sum(Wide a, Wide b) {
  return a >= kUnreachable || b >= kUnreachable ? kUnreachable : a + b;
}

}  // namespace

ChainPass::ChainPass(const CertificateFile& file, const Order& order, const std::vector<int>& candidates)
    : file_(file),
      order_(order),
      candidates_(candidates),
      count_(file.problem.node_count),
      values_(file.problem.values.size()),
      written_at_(static_cast<size_t>(count_)),
      read_at_(static_cast<size_t>(count_)),
      marked_(static_cast<size_t>(count_), -1),
      places_(static_cast<size_t>(count_) + 1) {
  place_values();
}

void ChainPass::place_values() {
  for (size_t v = 0; v < values_.size(); ++v) {
    const ProblemValue& given = file_.problem.values[v];
    Value& value = values_[v];
    if (given.writer >= 0) {
      value.writer = order_.position[static_cast<size_t>(given.writer)];
      written_at_[static_cast<size_t>(value.writer)].push_back(static_cast<int>(v));
    }
    for (int reader : given.readers) value.readers.push_back({order_.position[static_cast<size_t>(reader)], 0, {}});
    std::sort(value.readers.begin(), value.readers.end(),
              [](const Reader& a, const Reader& b) { return a.position < b.position; });
    for (size_t r = 0; r < value.readers.size(); ++r) {
      const int at = value.readers[r].position;
      read_at_[static_cast<size_t>(at)].emplace_back(static_cast<int>(v), static_cast<int>(r));
      if (at == value.writer + 1) place(at).crossing.push_back(static_cast<int>(v));
    }
  }
}

void ChainPass::mark(int c) {
  for (const Stretch& run : order_.runs[static_cast<size_t>(c)]) {
    for (int at = run.begin; at < run.end; ++at) marked_[static_cast<size_t>(at)] = c;
  }
}

Status ChainPass::set(const place::Certificate::Round& round) {
  if (Status status = find_formats(); !status) return status;
  if (Status status = set_shares(round); !status) return status;
  if (Status status = set_prices(round); !status) return status;
  cut_into_runs();
  return Status::ok();
}

/// Which formats may be wanted of each value, and by which reader.
Status ChainPass::find_formats() {
  for (size_t v = 0; v < values_.size(); ++v) {
    if (file_.problem.values[v].is_output) values_[v].formats.push_back(file_.problem.host_plain);
  }
  for (int c : candidates_) {
    for (const ValueFormat& read : candidate(c).reads) {
      std::vector<FormatId>& formats = value(read.value).formats;
      if (std::find(formats.begin(), formats.end(), read.format) == formats.end()) formats.push_back(read.format);
      if (formats.size() > kMaxFormats) {
        return Status::error(fmt::format("{} may be wanted in more than {} formats, which cannot be distinguished",
                                         value_text(file_, read.value), kMaxFormats));
      }
    }
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    Value& value = values_[v];
    std::sort(value.formats.begin(), value.formats.end());
    if (file_.problem.values[v].is_output) value.always = bit(value, file_.problem.host_plain);
    if (value.formats.size() <= kMaxPricedReaders) value.trees = trees_of(static_cast<int>(v));
  }
  for (int c : candidates_) {
    const std::map<int, Formats> reads = reads_of(c);
    for (const Stretch& run : order_.runs[static_cast<size_t>(c)]) {
      for (int at = run.begin; at < run.end; ++at) {
        for (const auto& [v, r] : read_at_[static_cast<size_t>(at)]) {
          const auto it = reads.find(v);
          if (it != reads.end()) value(v).readers[static_cast<size_t>(r)].wants |= it->second;
        }
      }
    }
  }
  return Status::ok();
}

/// Values of equal conversions and equal formats share their trees.
const FormatTrees* ChainPass::trees_of(int v) {
  const std::vector<FormatId>& formats = value(v).formats;
  std::vector<int64_t> key(formats.begin(), formats.end());
  for (const place::ConversionEdge& edge : file_.problem.values[static_cast<size_t>(v)].conversions) {
    key.insert(key.end(), {-1, edge.from, edge.to, edge.cost.ps()});
  }
  const auto [it, is_new] = trees_.try_emplace(std::move(key));
  if (is_new) it->second.emplace(file_.problem.values[static_cast<size_t>(v)].conversions, formats);
  return &*it->second;
}

Formats ChainPass::bit(const Value& value, FormatId format) {
  const auto it = std::lower_bound(value.formats.begin(), value.formats.end(), format);
  return it != value.formats.end() && *it == format ? Formats{1} << (it - value.formats.begin()) : 0;
}

std::map<int, Formats> ChainPass::reads_of(int c) {
  std::map<int, Formats> reads;
  for (const ValueFormat& read : candidate(c).reads) reads[read.value] |= bit(value(read.value), read.format);
  return reads;
}

Status ChainPass::set_shares(const place::Certificate::Round& round) {
  for (const place::Certificate::Share& share : round.shares) {
    const std::string who = candidate_text(file_, share.candidate);
    const Candidate& sharing = candidate(share.candidate);
    if (!shares_.emplace(share.candidate, &share).second) return Status::error(who + " has shares twice");
    if (sharing.cost >= place::Duration::max()) return Status::error(who + " has shares and no cost");
    const size_t runs = order_.runs[static_cast<size_t>(share.candidate)].size();
    if (share.runs.size() != runs) {
      return Status::error(fmt::format("{} has {} shares and {} runs", who, share.runs.size(), runs));
    }
    Wide sum = 0;
    for (place::Duration run : share.runs) sum += run.ps();
    if (sum != sharing.cost.ps()) {
      return Status::error(
          fmt::format("the shares of {} add up to {}, it costs {}", who, time_text(sum), time_text(sharing.cost.ps())));
    }
  }
  return Status::ok();
}

/// A price for a format that no candidate of the round reads there is no more than words.
Status ChainPass::set_prices(const place::Certificate::Round& round) {
  for (const place::Certificate::Price& given : round.prices) {
    Value& priced = value(given.value);
    const int at = order_.position[static_cast<size_t>(given.reader)];
    const auto reader = std::find_if(priced.readers.begin(), priced.readers.end(),
                                     [at](const Reader& other) { return other.position == at; });
    const auto refuse = [&](std::string_view why) {
      return Status::error(fmt::format("a price for {} read by {}: {}", value_text(file_, given.value),
                                       node_text(file_, given.reader), why));
    };
    if (reader == priced.readers.end()) return refuse("it does not read it");
    if (priced.writer < 0) return refuse("readers of model inputs pay nothing");
    if (at == priced.writer + 1) return refuse("a reader right after the writer pays nothing");
    const Formats format = bit(priced, given.format) & reader->wants;
    if (format == 0) continue;
    if (priced.trees == nullptr) return refuse("it may be wanted in too many formats to have prices");
    if (reader->prices.empty()) reader->prices.resize(priced.formats.size());
    Wide& price = reader->prices[static_cast<size_t>(std::countr_zero(format))];
    if (price != 0) return refuse("it stands there twice");
    price = given.price.ps();
  }
  return Status::ok();
}

void ChainPass::cut_into_runs() {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const int c = candidates_[i];
    const auto share = shares_.find(c);
    const std::vector<Stretch>& stretches = order_.runs[static_cast<size_t>(c)];
    const int64_t each = candidate(c).cost.ps() / static_cast<int64_t>(candidate(c).nodes.size());
    const std::map<int, Formats> reads = reads_of(c);
    mark(c);
    first_run_.push_back(static_cast<int>(runs_.size()));
    Wide rest = candidate(c).cost.ps();
    for (size_t r = 0; r < stretches.size(); ++r) {
      // Without shares: by length.
      Wide own = Wide{each} * (stretches[r].end - stretches[r].begin);
      if (share != shares_.end()) own = share->second->runs[r].ps();
      if (r + 1 == stretches.size()) own = rest;
      rest -= own;
      add_run(static_cast<int>(i), stretches[r], own, reads);
    }
  }
  first_run_.push_back(static_cast<int>(runs_.size()));
}

void ChainPass::add_run(int index, Stretch stretch, Wide share, const std::map<int, Formats>& reads) {
  Run run{index, stretch.begin, stretch.end, 0, 0, share};
  const int c = candidates_[static_cast<size_t>(index)];
  std::vector<Formats> next;
  for (int v : place(run.begin).crossing) next.push_back(reads.at(v));
  run.start_kind = intern(place(run.begin).reads, next);

  const std::vector<int>& crossing = place(run.end).crossing;
  std::vector<int> writings(crossing.size());
  for (int at = run.begin; at < run.end; ++at) {
    for (const auto& [v, r] : read_at_[static_cast<size_t>(at)]) {
      const std::vector<Wide>& prices = value(v).readers[static_cast<size_t>(r)].prices;
      const auto read = reads.find(v);
      if (prices.empty() || read == reads.end()) continue;
      run.local = sum(run.local, prices[static_cast<size_t>(std::countr_zero(read->second))]);
    }
    for (int v : written_at_[static_cast<size_t>(at)]) {
      const std::vector<ValueFormat>& writes = candidate(c).writes;
      const auto write =
          std::find_if(writes.begin(), writes.end(), [v = v](const ValueFormat& item) { return item.value == v; });
      if (write == writes.end()) continue;
      const int writing = writing_of(v, write->format, c);
      const auto crosses = std::lower_bound(crossing.begin(), crossing.end(), v);
      if (crosses != crossing.end() && *crosses == v) {
        writings[static_cast<size_t>(crosses - crossing.begin())] = writing;
      } else {
        run.local = sum(run.local, phi(writing, 0));
      }
    }
  }
  run.end_kind = intern(place(run.end).writings, writings);
  place(run.begin).runs.push_back(static_cast<int>(runs_.size()));
  runs_.push_back(run);
}

int ChainPass::writing_of(int v, FormatId format, int c) {
  Value& written = value(v);
  std::vector<int> outside;
  for (size_t r = 0; r < written.readers.size(); ++r) {
    const int at = written.readers[r].position;
    if (at != written.writer + 1 && !is_marked(at, c)) outside.push_back(static_cast<int>(r));
  }
  for (int known : written.writings) {
    const Writing& writing = writings_[static_cast<size_t>(known)];
    if (writing.format == format && writing.outside == outside) return known;
  }
  written.writings.push_back(static_cast<int>(writings_.size()));
  writings_.push_back({v, format, std::move(outside), {}});
  return written.writings.back();
}

/// The most that a reader pays for a format of the set; nothing: it reads in none of them.
std::optional<Wide> ChainPass::given_back(const Reader& reader, Formats set) {
  Formats common = reader.wants & set;
  if (common == 0) return std::nullopt;
  if (reader.prices.empty()) return 0;
  Wide most = reader.prices[static_cast<size_t>(std::countr_zero(common))];
  for (; common != 0; common &= common - 1) {
    most = std::max(most, reader.prices[static_cast<size_t>(std::countr_zero(common))]);
  }
  return most;
}

Wide ChainPass::phi(int index, Formats next) {
  Writing& writing = writings_[static_cast<size_t>(index)];
  const auto [it, is_new] = writing.phi.try_emplace(next, kUnreachable);
  if (!is_new) return it->second;
  const Value& written = value(writing.value);
  const Formats needed = written.always | next;
  if (written.trees == nullptr) return it->second = plain_cost(writing, needed);
  const Formats free = ((Formats{1} << written.formats.size()) - 1) & ~needed;
  for (Formats more = free;; more = (more - 1) & free) {
    Wide cost = written.trees->cost(writing.format, static_cast<uint32_t>(needed | more));
    for (size_t i = 0; i < writing.outside.size() && cost < kUnreachable; ++i) {
      const Reader& reader = written.readers[static_cast<size_t>(writing.outside[i])];
      const std::optional<Wide> back = given_back(reader, needed | more);
      cost = back ? cost - *back : kUnreachable;
    }
    it->second = std::min(it->second, cost);
    if (more == 0) return it->second;
  }
}

/// St(w, F) of a value in many formats; 0, which is no more, where even F is too many.
Wide ChainPass::plain_cost(const Writing& writing, Formats needed) {
  const Value& written = value(writing.value);
  std::vector<FormatId> wanted;
  for (Formats rest = needed; rest != 0; rest &= rest - 1) {
    const FormatId format = written.formats[static_cast<size_t>(std::countr_zero(rest))];
    if (format != writing.format) wanted.push_back(format);
  }
  if (wanted.empty() || wanted.size() > FormatTrees::kMaxWantedFormats) return 0;
  const FormatTrees trees(file_.problem.values[static_cast<size_t>(writing.value)].conversions, wanted);
  return trees.cost(writing.format, (uint32_t{1} << wanted.size()) - 1);
}

void ChainPass::link(Place& at) {
  for (const std::vector<int>& writings : at.writings) {
    for (const std::vector<Formats>& reads : at.reads) {
      Wide cost = 0;
      for (size_t i = 0; i < writings.size(); ++i) cost = sum(cost, phi(writings[i], reads[i]));
      at.links.push_back(cost);
    }
  }
}

Wide ChainPass::lower() {
  Wide inputs = 0;
  std::vector<int> crossing;
  for (size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].writer >= 0) continue;
    const int writing = writing_of(static_cast<int>(v), file_.problem.host_plain, -2);
    const std::vector<int>& first = place(0).crossing;
    if (std::binary_search(first.begin(), first.end(), static_cast<int>(v))) {
      crossing.push_back(writing);
    } else {
      inputs = sum(inputs, phi(writing, 0));
    }
  }
  place(0).writings.assign(1, crossing);
  place(count_).reads.assign(1, std::vector<Formats>());
  for (Place& at : places_) {
    link(at);
    at.reach.assign(at.writings.size(), kUnreachable);
    at.start.assign(at.reads.size(), kUnreachable);
  }
  place(0).reach[0] = inputs;
  for (Place& at : places_) {
    for (size_t e = 0; e < at.reach.size(); ++e) {
      if (at.reach[e] >= kUnreachable) continue;
      for (size_t s = 0; s < at.start.size(); ++s) {
        at.start[s] = std::min(at.start[s], sum(at.reach[e], at.links[e * at.start.size() + s]));
      }
    }
    for (int r : at.runs) {
      const Run& run = runs_[static_cast<size_t>(r)];
      Wide& reach = place(run.end).reach[static_cast<size_t>(run.end_kind)];
      reach = std::min(reach, sum(at.start[static_cast<size_t>(run.start_kind)], run.local));
    }
  }
  return place(count_).start[0];
}

void ChainPass::backward() {
  for (size_t q = places_.size(); q-- > 0;) {
    Place& at = places_[q];
    at.start_rest.assign(at.reads.size(), q + 1 == places_.size() ? Wide{0} : kUnreachable);
    at.end_rest.assign(at.writings.size(), kUnreachable);
    for (int r : at.runs) {
      const Run& run = runs_[static_cast<size_t>(r)];
      Wide& rest = at.start_rest[static_cast<size_t>(run.start_kind)];
      rest = std::min(rest, sum(run.local, place(run.end).end_rest[static_cast<size_t>(run.end_kind)]));
    }
    for (size_t e = 0; e < at.end_rest.size(); ++e) {
      for (size_t s = 0; s < at.start_rest.size(); ++s) {
        at.end_rest[e] = std::min(at.end_rest[e], sum(at.start_rest[s], at.links[e * at.start_rest.size() + s]));
      }
    }
  }
}

/// By run: the cheapest chain from its end to the beginning of the candidate's next run; `-kUnreachable` where it is
/// too far to say.
std::vector<Wide> ChainPass::between_runs() const {
  std::vector<Wide> between(runs_.size(), -kUnreachable);
  // Runs that end alike ask for chains from the same place.
  std::vector<int> asking;
  for (size_t r = 0; r + 1 < runs_.size(); ++r) {
    if (runs_[r].candidate == runs_[r + 1].candidate && runs_[r + 1].begin - runs_[r].end <= kMaxGapOfNearRuns) {
      asking.push_back(static_cast<int>(r));
    }
  }
  const auto end_of = [&](int r) {
    const Run& run = runs_[static_cast<size_t>(r)];
    return std::pair(run.end, run.end_kind);
  };
  std::sort(asking.begin(), asking.end(), [&](int a, int b) { return end_of(a) < end_of(b); });
  for (size_t i = 0; i < asking.size();) {
    size_t j = i;
    int to = 0;
    for (; j < asking.size() && end_of(asking[j]) == end_of(asking[i]); ++j) {
      to = std::max(to, runs_[static_cast<size_t>(asking[j]) + 1].begin);
    }
    const auto [from, kind] = end_of(asking[i]);
    std::vector<std::vector<Wide>> reach, start;
    for (int q = from; q <= to; ++q) {
      reach.emplace_back(place(q).writings.size(), kUnreachable);
      start.emplace_back(place(q).reads.size(), kUnreachable);
    }
    reach[0][static_cast<size_t>(kind)] = 0;
    for (int q = from; q <= to; ++q) {
      const size_t near = static_cast<size_t>(q - from);
      for (size_t e = 0; e < reach[near].size(); ++e) {
        if (reach[near][e] >= kUnreachable) continue;
        for (size_t s = 0; s < start[near].size(); ++s) {
          start[near][s] = std::min(start[near][s], sum(reach[near][e], place(q).links[e * start[near].size() + s]));
        }
      }
      for (int r : place(q).runs) {
        const Run& run = runs_[static_cast<size_t>(r)];
        const Wide here = start[near][static_cast<size_t>(run.start_kind)];
        if (run.end > to || here >= kUnreachable) continue;
        Wide& there = reach[static_cast<size_t>(run.end - from)][static_cast<size_t>(run.end_kind)];
        there = std::min(there, sum(here, run.local));
      }
    }
    for (; i < j; ++i) {
      const Run& next = runs_[static_cast<size_t>(asking[i]) + 1];
      between[static_cast<size_t>(asking[i])] =
          start[static_cast<size_t>(next.begin - from)][static_cast<size_t>(next.start_kind)];
    }
  }
  return between;
}

std::vector<Wide> ChainPass::lower_with() {
  backward();
  const std::vector<Wide> between = between_runs();
  const auto start_of = [&](const Run& run) { return place(run.begin).start[static_cast<size_t>(run.start_kind)]; };
  const auto rest_of = [&](const Run& run) { return place(run.end).end_rest[static_cast<size_t>(run.end_kind)]; };
  std::vector<Wide> lower;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const size_t first = static_cast<size_t>(first_run_[i]), last = static_cast<size_t>(first_run_[i + 1]);
    Wide most = -kUnreachable;
    Wide all = start_of(runs_[first]);  // the cheapest chain through all runs
    bool is_near = true;
    for (size_t r = first; r < last; ++r) {
      const Run& run = runs_[r];
      most = std::max(most, sum(sum(start_of(run), run.local), rest_of(run)));
      is_near = is_near && (r + 1 == last || between[r] > -kUnreachable);
      if (is_near) all = sum(sum(all, run.local), r + 1 == last ? rest_of(run) : between[r]);
    }
    lower.push_back(is_near ? std::max(most, all) : most);
  }
  return lower;
}

}  // namespace collage::check_plan
