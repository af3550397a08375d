// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/stated_multipliers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace collage::place {
namespace {

/// `more` in equal parts, the last one what is left.
template <typename Counts>
void spread(int64_t more, Counts& counts) {
  const int64_t each = more / std::ssize(counts);
  for (auto& count : counts) count += each;
  counts.back() += more - each * std::ssize(counts);
}

}  // namespace

Proof::Round round_of(const IndexedProblem& search, const ChainBound& chain) {
  Proof::Round round;
  for (MoveId m : search.moves.ids()) {
    if (chain.runs_of(m).size() < 2) continue;
    Proof::Share share;
    share.candidate = search.moves[m].source;
    std::vector<int64_t> runs;
    for (RunId r : chain.runs_of(m)) runs.push_back(chain.share(r).count());
    // The file states shares of costs with the prices of limits, without what joins may save of them.
    spread((search.moves[m].cost + search.moves[m].extra - search.moves[m].least).count(), runs);
    for (int64_t run : runs) share.runs.push_back(search.cost_of(run));
    round.shares.push_back(std::move(share));
  }
  std::sort(round.shares.begin(), round.shares.end(),
            [](const auto& a, const auto& b) { return a.candidate < b.candidate; });
  for_each_price(search, chain.layout(), [&](ProblemValueId v, ReaderId r, FormatId format, PriceId price) {
    const Cost amount = chain.price(price);
    if (amount != Cost()) round.prices.push_back({v, search.order[search.values[v].readers[r]], format, amount});
  });
  return round;
}

void set_round(const Proof::Round& round, const IndexedProblem& search, ChainBound& chain) {
  Multipliers multipliers = chain.multipliers();
  std::unordered_map<CandidateId, const Proof::Share*> share_of;
  for (const Proof::Share& share : round.shares) share_of.emplace(share.candidate, &share);
  for (MoveId m : search.moves.ids()) {
    const auto share = share_of.find(search.moves[m].source);
    if (share == share_of.end() || share->second->runs.size() != chain.runs_of(m).size()) continue;
    std::vector<int64_t> runs;
    int64_t rest = search.moves[m].least.count();
    for (const Cost run : share->second->runs) {
      runs.push_back(run.count());
      rest -= run.count();
    }
    spread(rest, runs);
    auto own = runs.begin();
    for (RunId r : chain.runs_of(m)) multipliers.shares[r] = *own++;
  }
  std::map<std::tuple<ProblemValueId, NodeId, FormatId>, int64_t> prices;
  for (const Proof::Price& price : round.prices) {
    prices.emplace(std::tuple(price.value, price.reader, price.format), price.price.count());
  }
  for_each_price(search, chain.layout(), [&](ProblemValueId v, ReaderId r, FormatId format, PriceId price) {
    const auto known = prices.find({v, search.order[search.values[v].readers[r]], format});
    multipliers.prices[price] = known != prices.end() ? known->second : 0;
  });
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
  for_each_price(to_search, to, [&](ProblemValueId v, ReaderId r, FormatId format, PriceId price) {
    const ChainLayout::Reader& old = from.values[v].readers[r];
    if (!old.first_price.is_valid()) return;
    const std::vector<FormatId> had = from_search.conversions.formats(v, old.wants);
    const auto at = std::find(had.begin(), had.end(), format);
    if (at != had.end()) result.price[price] = advance(old.first_price, at - had.begin());
  });
  return result;
}

}  // namespace collage::place
