// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/certify.h"

#include <algorithm>
#include <unordered_map>

namespace collage::place {
namespace {

Certificate::Round round_of(const IndexedProblem& search, const ChainBound& chain) {
  Certificate::Round round;
  for (MoveId m : search.moves.ids()) {
    if (chain.runs_of(m).size() < 2) continue;
    Certificate::Share share;
    share.candidate = search.moves[m].source;
    for (RunId r : chain.runs_of(m)) share.runs.push_back(chain.share(r));
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

}  // namespace

void CertificateMaker::add_round(const IndexedProblem& search, const ChainBound& chain) {
  certificate_.order = search.order.items();
  certificate_.rounds.push_back(round_of(search, chain));
}

Certificate CertificateMaker::finish(const ChainBound& chain, Cost cost) {
  certificate_.bound = std::min(chain.lower(), cost);
  return std::move(certificate_);
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
