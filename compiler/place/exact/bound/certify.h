// SPDX-License-Identifier: Apache-2.0
// Multipliers in terms of the problem instead of one search's numbering: to write them down as a certificate, and to
// carry them over to a search among fewer candidates.
#pragma once

#include "compiler/place/exact/bound/relaxation_bound.h"
#include "compiler/place/problem/problem.h"

namespace collage::place {

class CertificateMaker {
 public:
  /// Adds the multipliers that a search ended its stage with. `search.moves[…].source` are candidates of the whole
  /// problem.
  void add_round(const IndexedProblem& search, const ChainBound& chain);
  /// After the last round, whose bound is `chain`'s.
  Certificate finish(const ChainBound& chain, Cost cost);

 private:
  Certificate certificate_;
};

/// Which run and which price of one search is which of another that has some of its candidates: by run and by price of
/// the latter, the former's, or none.
struct Correspondence {
  Table<RunId, RunId> run;
  Table<PriceId, PriceId> price;
};
Correspondence correspondence(const IndexedProblem& from_search, const ChainLayout& from,
                              const IndexedProblem& to_search, const ChainLayout& to);

}  // namespace collage::place
