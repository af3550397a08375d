// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/certify.h"

#include <algorithm>
#include <unordered_map>

namespace collage::place {
namespace {

Certificate::Round round_of(const IndexedProblem& search, const ChainBound& chain) {
  Certificate::Round round;
  for (size_t m = 0; m < search.moves.size(); ++m) {
    const int first = chain.first_run(static_cast<int>(m)), last = chain.first_run(static_cast<int>(m) + 1);
    if (last - first < 2) continue;
    Certificate::Share share;
    share.candidate = search.moves[m].source;
    for (int r = first; r < last; ++r) share.runs.push_back(chain.share(r));
    round.shares.push_back(std::move(share));
  }
  std::sort(round.shares.begin(), round.shares.end(),
            [](const auto& a, const auto& b) { return a.candidate < b.candidate; });
  for (size_t v = 0; v < search.values.size(); ++v) {
    const ChainLayout::ValueFormats& formats = chain.layout().values[v];
    for (size_t r = 0; r < formats.readers.size(); ++r) {
      const ChainLayout::Reader& reader = formats.readers[r];
      if (reader.first_price < 0) continue;
      const int node = search.order[static_cast<size_t>(search.values[v].readers[r])];
      int price = reader.first_price;
      for (FormatId format : search.conversions.formats(static_cast<int>(v), reader.wants)) {
        const Duration amount = chain.price(price++);
        if (amount != Duration()) round.prices.push_back({static_cast<int>(v), node, format, amount});
      }
    }
  }
  return round;
}

}  // namespace

void CertificateMaker::add_round(const IndexedProblem& search, const ChainBound& chain) {
  certificate_.order = search.order;
  certificate_.rounds.push_back(round_of(search, chain));
}

Certificate CertificateMaker::finish(const ChainBound& chain, Duration cost) {
  certificate_.bound = std::min(chain.lower(), cost);
  return std::move(certificate_);
}

Correspondence correspondence(const IndexedProblem& from_search, const ChainLayout& from,
                              const IndexedProblem& to_search, const ChainLayout& to) {
  Correspondence result{std::vector<int>(to.runs.size(), -1), std::vector<int>(to.value_of_price.size(), -1)};
  std::unordered_map<int, size_t> move_of;
  for (size_t m = 0; m < from_search.moves.size(); ++m) move_of.emplace(from_search.moves[m].source, m);
  for (size_t m = 0; m < to_search.moves.size(); ++m) {
    const auto old = move_of.find(to_search.moves[m].source);
    if (old == move_of.end()) continue;
    for (int r = to.first_run[m]; r < to.first_run[m + 1]; ++r) {
      result.run[static_cast<size_t>(r)] = from.first_run[old->second] + r - to.first_run[m];
    }
  }
  for (size_t v = 0; v < to_search.values.size(); ++v) {
    for (size_t r = 0; r < to.values[v].readers.size(); ++r) {
      const ChainLayout::Reader& reader = to.values[v].readers[r];
      const ChainLayout::Reader& old = from.values[v].readers[r];
      if (reader.first_price < 0 || old.first_price < 0) continue;
      const std::vector<FormatId> had = from_search.conversions.formats(static_cast<int>(v), old.wants);
      int price = reader.first_price;
      for (FormatId format : to_search.conversions.formats(static_cast<int>(v), reader.wants)) {
        const auto at = std::find(had.begin(), had.end(), format);
        if (at != had.end()) {
          result.price[static_cast<size_t>(price)] = old.first_price + static_cast<int>(at - had.begin());
        }
        ++price;
      }
    }
  }
  return result;
}

}  // namespace collage::place
