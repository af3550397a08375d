// SPDX-License-Identifier: Apache-2.0
// See chain_bound.h. The pass, backwards over positions:
//
//     start(q, reads)  = min over runs that begin at q and read so:
//                            share + prices paid + phi of what it writes + rest(end)
//     rest(q, written) = min over reads:  sum over crossing values of phi(written, reads) + start(q, reads)
#include "compiler/place/chain_bound.h"

#include <algorithm>
#include <bit>

namespace collage::place {
namespace {

/// Tables over subsets of formats have at most 2^this rows.
constexpr int kMaxTableBits = 6;

const Touch& touch_of(const Move& move, int value) {
  return *std::lower_bound(move.touches.begin(), move.touches.end(), value,
                           [](const Touch& touch, int wanted) { return touch.value < wanted; });
}

bool contains(const std::vector<int>& sorted, int item) {
  return std::binary_search(sorted.begin(), sorted.end(), item);
}

template <typename Kind, typename Key>
size_t index_of(std::vector<Kind>& kinds, Key Kind::*member, const Key& key) {
  auto at = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.*member == key; });
  if (at == kinds.end()) {
    at = kinds.insert(kinds.end(), Kind());
    (*at).*member = key;
  }
  return static_cast<size_t>(at - kinds.begin());
}

}  // namespace

ChainBound::ChainBound(SearchProblem& problem) : problem_(problem) {
  const size_t count = static_cast<size_t>(problem.node_count);
  crossing_.resize(count + 1);
  beginning_.resize(count);
  starts_.resize(count + 1);
  ends_.resize(count + 1);
  find_crossing();
  find_prices();
  find_runs();
  evaluate();
}

void ChainBound::set(Multipliers multipliers) {
  multipliers_ = std::move(multipliers);
  evaluate();
}

void ChainBound::find_crossing() {
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    const size_t next = static_cast<size_t>(problem_.values[v].writer + 1);
    if (contains(problem_.values[v].readers, static_cast<int>(next))) crossing_[next].push_back(static_cast<int>(v));
  }
}

/// Readers with one format only pay nothing: their value knows what it must give them. Nor do readers of model inputs.
void ChainBound::find_prices() {
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    const SearchValue& value = problem_.values[v];
    ValuePrices prices;
    FormatMask all = problem_.conversions.base(static_cast<int>(v));
    for (FormatMask wants : value.reader_wants) all |= wants;
    prices.exact = std::popcount(all) <= kMaxTableBits;
    for (FormatMask rest = all; rest != 0 && prices.exact; rest &= rest - 1) prices.bits.push_back(rest & -rest);
    for (size_t r = 0; r < value.readers.size(); ++r) {
      ReaderPrices reader;
      reader.wants = value.reader_wants[r];
      const bool pays = prices.exact && value.writer >= 0 && value.readers[r] != value.writer + 1;
      if (pays && std::popcount(reader.wants) > 1) {
        reader.first = static_cast<int>(value_of_price_.size());
        value_of_price_.insert(value_of_price_.end(), static_cast<size_t>(std::popcount(reader.wants)),
                               static_cast<int>(v));
      }
      prices.readers.push_back(reader);
    }
    values_.push_back(std::move(prices));
  }
  multipliers_.prices.resize(value_of_price_.size());
}

void ChainBound::find_runs() {
  for (size_t m = 0; m < problem_.moves.size(); ++m) {
    const Move& move = problem_.moves[m];
    const size_t first = runs_.size();
    first_run_.push_back(static_cast<int>(first));
    for (size_t i = 0; i < move.nodes.size();) {
      size_t j = i + 1;
      while (j < move.nodes.size() && move.nodes[j] == move.nodes[j - 1] + 1) ++j;
      add_run(move, static_cast<int>(m), move.nodes[i], move.nodes[j - 1] + 1);
      i = j;
    }
    const int64_t each = move.cost.ps() / static_cast<int64_t>(move.nodes.size());
    Duration shared;
    for (size_t r = first; r < runs_.size(); ++r) {
      multipliers_.shares.push_back(Duration::picoseconds(each * (runs_[r].end - runs_[r].begin)));
      shared += multipliers_.shares.back();
    }
    multipliers_.shares[first] += move.cost - shared;
  }
  first_run_.push_back(static_cast<int>(runs_.size()));
  starts_[static_cast<size_t>(problem_.node_count)].push_back({{}, Duration(), -1});

  End inputs;
  for (size_t v = 0; v < problem_.values.size(); ++v) {
    const SearchValue& value = problem_.values[v];
    if (value.writer >= 0) continue;
    std::vector<int> later;
    for (size_t r = 0; r < value.readers.size(); ++r) {
      if (value.readers[r] != 0) later.push_back(static_cast<int>(r));
    }
    const int writing = intern_writing(static_cast<int>(v), problem_.host_plain, std::move(later));
    (contains(crossing_[0], static_cast<int>(v)) ? inputs.writings : input_writings_).push_back(writing);
  }
  ends_[0].push_back(std::move(inputs));
}

void ChainBound::add_run(const Move& move, int move_index, int begin, int end) {
  Run run{move_index, begin, end, {}};
  RunTerms terms;
  std::vector<FormatMask> reads;
  for (int v : crossing_[static_cast<size_t>(begin)]) reads.push_back(touch_of(move, v).wanted);
  terms.start = index_of(starts_[static_cast<size_t>(begin)], &Start::reads, reads);

  const std::vector<int>& leaving = crossing_[static_cast<size_t>(end)];
  std::vector<int> ending;
  for (int v : leaving) ending.push_back(writing_of(move, touch_of(move, v)));
  terms.end = index_of(ends_[static_cast<size_t>(end)], &End::writings, ending);

  for (int node = begin; node < end; ++node) {
    for (int v : problem_.values_written[static_cast<size_t>(node)]) {
      const Touch& touch = touch_of(move, v);
      if (touch.format >= 0 && !contains(leaving, v)) terms.writings.push_back(writing_of(move, touch));
    }
    for (int v : problem_.values_read[static_cast<size_t>(node)]) {
      const Touch& touch = touch_of(move, v);
      const SearchValue& value = problem_.values[static_cast<size_t>(v)];
      if (touch.written) continue;
      const auto at = std::lower_bound(value.readers.begin(), value.readers.end(), node) - value.readers.begin();
      const ReaderPrices& reader = values_[static_cast<size_t>(v)].readers[static_cast<size_t>(at)];
      if (reader.first < 0) continue;
      const FormatMask below = (touch.wanted & -touch.wanted) - 1;
      run.priced.push_back({value.writer, reader.first + std::popcount(reader.wants & below)});
    }
  }
  beginning_[static_cast<size_t>(begin)].push_back(static_cast<int>(runs_.size()));
  runs_.push_back(std::move(run));
  terms_.push_back(std::move(terms));
}

int ChainBound::writing_of(const Move& move, const Touch& touch) {
  const SearchValue& value = problem_.values[static_cast<size_t>(touch.value)];
  std::vector<int> outside;
  for (size_t r = 0; r < value.readers.size(); ++r) {
    const int reader = value.readers[r];
    if (reader != value.writer + 1 && !contains(move.nodes, reader)) outside.push_back(static_cast<int>(r));
  }
  return intern_writing(touch.value, touch.format, std::move(outside));
}

int ChainBound::intern_writing(int value, FormatId written, std::vector<int> outside) {
  const auto [it, is_new] = writing_index_.emplace(std::pair(std::pair(value, written), std::move(outside)),
                                                   static_cast<int>(writings_.size()));
  if (is_new) {
    Writing writing{value, written, it->first.second, {}, {}, {}};
    const ValuePrices& prices = values_[static_cast<size_t>(value)];
    if (prices.exact) {
      for (size_t subset = 0; subset < size_t{1} << prices.bits.size(); ++subset) {
        writing.base.push_back(problem_.conversions.cost(value, written, mask_of(value, subset)));
      }
    }
    writings_.push_back(std::move(writing));
  }
  return it->second;
}

size_t ChainBound::subset_of(int value, FormatMask mask) const {
  const std::vector<FormatMask>& bits = values_[static_cast<size_t>(value)].bits;
  size_t subset = 0;
  for (size_t i = 0; i < bits.size(); ++i) subset |= (mask & bits[i]) != 0 ? size_t{1} << i : 0;
  return subset;
}

FormatMask ChainBound::mask_of(int value, size_t subset) const {
  const std::vector<FormatMask>& bits = values_[static_cast<size_t>(value)].bits;
  FormatMask mask = 0;
  for (size_t i = 0; i < bits.size(); ++i) mask |= (subset >> i & 1) != 0 ? bits[i] : 0;
  return mask;
}

/// What a reader gives for the best of its formats in `subset`; `Duration::max()` if it wants none of them.
Duration ChainBound::gain(const ReaderPrices& reader, const ValuePrices& value, size_t subset, int* price) const {
  Duration best = Duration::max();
  int index = reader.first;
  for (size_t i = 0; i < value.bits.size(); ++i) {
    if ((reader.wants & value.bits[i]) == 0) continue;
    if ((subset >> i & 1) != 0) {
      if (index < 0) return {};
      if (best >= Duration::max() || this->price(index) > best) {
        best = this->price(index);
        if (price != nullptr) *price = index;
      }
    }
    if (index >= 0) ++index;
  }
  return best;
}

void ChainBound::price_writing(Writing& writing) const {
  const ValuePrices& value = values_[static_cast<size_t>(writing.value)];
  if (!value.exact) return;
  const size_t always = subset_of(writing.value, problem_.conversions.base(writing.value));
  writing.phi = writing.base;
  writing.best.resize(writing.base.size());
  for (size_t subset = 0; subset < writing.base.size(); ++subset) {
    writing.best[subset] = static_cast<int>(subset);
    Duration& cost = writing.phi[subset];
    if ((subset & always) != always) cost = Duration::max();
    for (size_t r = 0; r < writing.outside.size() && cost < Duration::max(); ++r) {
      const Duration gained = gain(value.readers[static_cast<size_t>(writing.outside[r])], value, subset, nullptr);
      cost = gained < Duration::max() ? cost - gained : gained;
    }
  }
  for (size_t i = 0; i < value.bits.size(); ++i) {
    for (size_t subset = 0; subset < writing.phi.size(); ++subset) {
      const size_t larger = subset | size_t{1} << i;
      if (writing.phi[larger] < writing.phi[subset]) {
        writing.phi[subset] = writing.phi[larger];
        writing.best[subset] = writing.best[larger];
      }
    }
  }
}

Duration ChainBound::phi(const Writing& writing, FormatMask next) const {
  if (!writing.phi.empty()) return writing.phi[subset_of(writing.value, next)];
  return problem_.conversions.cost(writing.value, writing.written, problem_.conversions.base(writing.value) | next);
}

void ChainBound::evaluate() {
  for (Writing& writing : writings_) price_writing(writing);
  for (size_t q = crossing_.size(); q-- > 0;) {
    if (q + 1 < crossing_.size()) {
      for (Start& start : starts_[q]) start = {std::move(start.reads), Duration::max(), -1};
      for (int r : beginning_[q]) {
        const RunTerms& terms = terms_[static_cast<size_t>(r)];
        const Run& run = runs_[static_cast<size_t>(r)];
        const End& end = ends_[static_cast<size_t>(run.end)][terms.end];
        if (end.rest >= Duration::max()) continue;
        Duration cost = share(r) + end.rest;
        for (const PricedRead& read : run.priced) cost += price(read.price);
        for (int writing : terms.writings) {
          const Duration more = phi(writings_[static_cast<size_t>(writing)], 0);
          if (more >= Duration::max()) cost = more;
          if (cost >= Duration::max()) break;
          cost += more;
        }
        Start& start = starts_[q][terms.start];
        if (cost < start.cost) start = {std::move(start.reads), cost, r};
      }
    }
    for (End& end : ends_[q]) {
      end.rest = Duration::max();
      for (size_t s = 0; s < starts_[q].size(); ++s) {
        const Start& start = starts_[q][s];
        Duration cost = start.cost;
        for (size_t i = 0; i < end.writings.size() && cost < Duration::max(); ++i) {
          const Duration more = phi(writings_[static_cast<size_t>(end.writings[i])], start.reads[i]);
          cost = more < Duration::max() ? cost + more : more;
        }
        if (cost < end.rest) end = {std::move(end.writings), cost, static_cast<int>(s)};
      }
    }
  }
  lower_ = ends_[0].front().rest;
  for (int writing : input_writings_) {
    const Duration more = phi(writings_[static_cast<size_t>(writing)], 0);
    if (lower_ < Duration::max()) lower_ = more < Duration::max() ? lower_ + more : more;
  }
}

ChainBound::Slope ChainBound::slope() const {
  Slope slope;
  slope.prices.resize(value_of_price_.size());
  const auto give_back = [&](int index, FormatMask next) {
    const Writing& writing = writings_[static_cast<size_t>(index)];
    if (writing.phi.empty()) return;
    const ValuePrices& value = values_[static_cast<size_t>(writing.value)];
    const int picked = writing.best[subset_of(writing.value, next)];
    for (int r : writing.outside) {
      int price = -1;
      gain(value.readers[static_cast<size_t>(r)], value, static_cast<size_t>(picked), &price);
      if (price >= 0) --slope.prices[static_cast<size_t>(price)];
    }
  };
  const End* end = &ends_[0].front();
  for (size_t q = 0; end->start >= 0;) {
    const Start& start = starts_[q][static_cast<size_t>(end->start)];
    for (size_t i = 0; i < end->writings.size(); ++i) give_back(end->writings[i], start.reads[i]);
    if (start.run < 0) break;
    const Run& run = runs_[static_cast<size_t>(start.run)];
    const RunTerms& terms = terms_[static_cast<size_t>(start.run)];
    slope.runs.push_back(start.run);
    for (const PricedRead& read : run.priced) ++slope.prices[static_cast<size_t>(read.price)];
    for (int writing : terms.writings) give_back(writing, 0);
    q = static_cast<size_t>(run.end);
    end = &ends_[q][terms.end];
  }
  return slope;
}

Duration ChainBound::dearest_conversion(int value) const {
  Duration dearest;
  for (auto at = writing_index_.lower_bound({{value, -1}, {}}); at != writing_index_.end(); ++at) {
    if (at->first.first.first != value) break;
    for (Duration cost : writings_[static_cast<size_t>(at->second)].base) {
      if (cost < Duration::max()) dearest = std::max(dearest, cost);
    }
  }
  return dearest;
}

Duration ChainBound::completion(int value, FormatId written, FormatMask have, const std::vector<bool>& undecided,
                                FormatMask next) const {
  const ValuePrices& prices = values_[static_cast<size_t>(value)];
  ConversionCosts& conversions = problem_.conversions;
  const auto least_increment = [&](FormatMask wants) {
    Duration least = Duration::max();
    for (; wants != 0; wants &= wants - 1) {
      least = std::min(least, conversions.increment(value, written, have, wants & -wants));
    }
    return least;
  };
  Duration best = Duration::max();
  if (!prices.exact) {
    best = conversions.increment(value, written, have, next);
    for (size_t r = 0; r < prices.readers.size(); ++r) {
      if (undecided[r]) best = std::max(best, least_increment(prices.readers[r].wants));
    }
    return best;
  }
  const size_t least = subset_of(value, have | next);
  for (size_t subset = 0; subset < size_t{1} << prices.bits.size(); ++subset) {
    if ((subset & least) != least) continue;
    Duration cost = conversions.increment(value, written, have, mask_of(value, subset));
    for (size_t r = 0; r < prices.readers.size() && cost < Duration::max(); ++r) {
      if (!undecided[r]) continue;
      const Duration gained = gain(prices.readers[r], prices, subset, nullptr);
      cost = gained < Duration::max() ? cost - gained : gained;
    }
    best = std::min(best, cost);
  }
  return best;
}

}  // namespace collage::place
