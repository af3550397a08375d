// SPDX-License-Identifier: Apache-2.0
// Multipliers in terms of the problem instead of one search's numbering: to write them down in a proof, and to carry
// them over to a search among fewer candidates.
#pragma once

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/problem/problem.h"
#include "compiler/place/problem/proof.h"

namespace collage::place {

/// The multipliers of the chain, as a round of a proof without prices of limits. `search.moves[…].source` are
/// candidates of the whole problem.
Proof::Round round_of(const IndexedProblem& search, const ChainBound& chain);
/// Sets them in a search among some of the candidates: what a round that repeats them means (problem/proof.h).
void set_round(const Proof::Round& round, const IndexedProblem& search, ChainBound& chain);

/// Calls `visit(value, reader, format, price)` for every price there is.
template <typename Visit>
void for_each_price(const IndexedProblem& search, const ChainLayout& layout, const Visit& visit) {
  for (ProblemValueId v : search.values.ids()) {
    for (ReaderId r : search.values[v].readers.ids()) {
      const ChainLayout::Reader& reader = layout.values[v].readers[r];
      if (!reader.first_price.is_valid()) continue;
      PriceId price = reader.first_price;
      for (FormatId format : search.conversions.formats(v, reader.wants)) {
        visit(v, r, format, price);
        price = advance(price, 1);
      }
    }
  }
}

/// Maps runs and prices of a search to those of another search whose problem has more candidates; none where the other
/// search has no equivalent.
struct Correspondence {
  Table<RunId, RunId> run;
  Table<PriceId, PriceId> price;
};
Correspondence correspondence(const IndexedProblem& from_search, const ChainLayout& from,
                              const IndexedProblem& to_search, const ChainLayout& to);

}  // namespace collage::place
