// SPDX-License-Identifier: Apache-2.0
// The unit in which a proof is made: parts of a picosecond, or of a picojoule (problem/proof.h).
#pragma once

#include "compiler/place/problem/proof.h"

namespace collage::place {

class ProofScale {
 public:
  /// `cost`: of the placement. The larger it is, the fewer parts.
  explicit ProofScale(Cost cost);

  /// Candidates that cost as much as the placement alone have no cost; conversions cost no more than it: what they cost
  /// beyond makes no difference.
  Problem scaled(const Problem& problem, Cost plan) const;
  /// Cut off where sums could overflow.
  Proof::Round scaled(Proof::Round round) const;
  /// The least bound that is stated as this one: what costs more than one less costs no less.
  Cost scaled(Cost bound) const { return Cost::of((bound.count() - 1) * scale_ + 1, bound.unit()); }

  /// A scaled proof as it is written down.
  Proof stated(Proof proof) const;

 private:
  int64_t scale_ = 1024;
};

}  // namespace collage::place
