// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/certify.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace collage::place {

Proof::Round round_of(const IndexedProblem& search, const ChainBound& chain) {
  Proof::Round round;
  for (MoveId m : search.moves.ids()) {
    if (chain.runs_of(m).size() < 2) continue;
    Proof::Share share;
    share.candidate = search.moves[m].source;
    for (RunId r : chain.runs_of(m)) share.runs.push_back(chain.share(r));
    // The file states shares of costs; what joins may save of them is the last run's.
    share.runs.back() += search.moves[m].cost - search.moves[m].least;
    round.shares.push_back(std::move(share));
  }
  std::sort(round.shares.begin(), round.shares.end(),
            [](const auto& a, const auto& b) { return a.candidate < b.candidate; });
  for (ProblemValueId v : search.values.ids()) {
    const ChainLayout::ValueFormats& formats = chain.layout().values[v];
    for (ReaderId r : formats.readers.ids()) {
      const ChainLayout::Reader& reader = formats.readers[r];
      if (!reader.first_price.is_valid()) continue;
      const NodeId node = search.order[search.values[v].readers[r]];
      PriceId price = reader.first_price;
      for (FormatId format : search.conversions.formats(v, reader.wants)) {
        const Cost amount = chain.price(price);
        if (amount != Cost()) round.prices.push_back({v, node, format, amount});
        price = advance(price, 1);
      }
    }
  }
  return round;
}

void set_round(const Proof::Round& round, const IndexedProblem& search, ChainBound& chain) {
  Multipliers multipliers = chain.multipliers();
  std::unordered_map<CandidateId, const Proof::Share*> share_of;
  for (const Proof::Share& share : round.shares) share_of.emplace(share.candidate, &share);
  for (MoveId m : search.moves.ids()) {
    const auto share = share_of.find(search.moves[m].source);
    if (share == share_of.end() || share->second->runs.size() != chain.runs_of(m).size()) continue;
    int64_t rest = search.moves[m].least.count();
    auto of_run = share->second->runs.begin();
    const RunId last = advance(chain.runs_of(m).last_plus_one(), -1);
    for (RunId r : IdRange(chain.runs_of(m).front(), last)) {
      multipliers.shares[r] = (of_run++)->count();
      rest -= multipliers.shares[r];
    }
    multipliers.shares[last] = rest;
  }
  std::map<std::tuple<ProblemValueId, NodeId, FormatId>, int64_t> prices;
  for (const Proof::Price& price : round.prices) {
    prices.emplace(std::tuple(price.value, price.reader, price.format), price.price.count());
  }
  for (ProblemValueId v : search.values.ids()) {
    const ChainLayout::ValueFormats& formats = chain.layout().values[v];
    for (ReaderId r : formats.readers.ids()) {
      const ChainLayout::Reader& reader = formats.readers[r];
      if (!reader.first_price.is_valid()) continue;
      const NodeId node = search.order[search.values[v].readers[r]];
      PriceId price = reader.first_price;
      for (FormatId format : search.conversions.formats(v, reader.wants)) {
        const auto known = prices.find({v, node, format});
        multipliers.prices[price] = known != prices.end() ? known->second : 0;
        price = advance(price, 1);
      }
    }
  }
  chain.set(std::move(multipliers));
}

Correspondence correspondence(const IndexedProblem& from_search, const ChainLayout& from,
                              const IndexedProblem& to_search, const ChainLayout& to) {
  Correspondence result{Table<RunId, RunId>(to.runs.size()), Table<PriceId, PriceId>(to.value_of_price.size())};
  std::unordered_map<CandidateId, MoveId> move_of;
  for (MoveId m : from_search.moves.ids()) move_of.emplace(from_search.moves[m].source, m);
  for (MoveId m : to_search.moves.ids()) {
    const auto old = move_of.find(to_search.moves[m].source);
    if (old == move_of.end()) continue;
    RunId same = from.runs_of[old->second].front();
    for (RunId r : to.runs_of[m]) {
      result.run[r] = same;
      same = advance(same, 1);
    }
  }
  for (ProblemValueId v : to_search.values.ids()) {
    for (ReaderId r : to.values[v].readers.ids()) {
      const ChainLayout::Reader& reader = to.values[v].readers[r];
      const ChainLayout::Reader& old = from.values[v].readers[r];
      if (!reader.first_price.is_valid() || !old.first_price.is_valid()) continue;
      const std::vector<FormatId> had = from_search.conversions.formats(v, old.wants);
      PriceId price = reader.first_price;
      for (FormatId format : to_search.conversions.formats(v, reader.wants)) {
        const auto at = std::find(had.begin(), had.end(), format);
        if (at != had.end()) result.price[price] = advance(old.first_price, at - had.begin());
        price = advance(price, 1);
      }
    }
  }
  return result;
}

}  // namespace collage::place
