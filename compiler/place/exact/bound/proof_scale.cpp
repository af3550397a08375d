// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/exact/bound/proof_scale.h"

#include <algorithm>

namespace collage::place {

namespace {

/// Scaled costs stay far below what counts as no cost at all in the bound.
constexpr int64_t kMostScaledCost = int64_t{1} << 50;

}  // namespace

ProofScale::ProofScale(Cost cost) {
  while (scale_ > 1 && cost.count() > kMostScaledCost / scale_) scale_ /= 2;
}

Problem ProofScale::scaled(const Problem& problem, Cost plan) const {
  Problem fine = problem;
  for (Candidate& candidate : fine.candidates) {
    candidate.cost = candidate.cost >= plan ? Cost::max() : problem.cost_of(candidate.cost.count() * scale_);
  }
  for (ProblemValue& value : fine.values) {
    for (ConversionEdge& edge : value.conversions) {
      if (edge.cost < Cost::max()) edge.cost = problem.cost_of(std::min(edge.cost, plan).count() * scale_);
    }
  }
  for (Owner& owner : fine.owners) {
    if (owner.joins) owner.joins = problem.cost_of(std::min(*owner.joins, plan).count() * scale_);
  }
  return fine;
}

Proof::Round ProofScale::scaled(Proof::Round round) const {
  const int64_t most = kMostScaledCost / scale_;
  const auto multiply = [&](Cost& cost) {
    cost = Cost::of(std::clamp(cost.count(), -most, most) * scale_, cost.unit());
  };
  for (Proof::LimitPrice& limit : round.limits) multiply(limit.price);
  for (Proof::Share& share : round.shares) std::for_each(share.runs.begin(), share.runs.end(), multiply);
  for (Proof::Price& price : round.prices) multiply(price.price);
  return round;
}

Proof ProofScale::stated(Proof proof) const {
  const int64_t bound = proof.bound.count();
  proof.scale = scale_;
  proof.bound = Cost::of(bound > 0 ? (bound + scale_ - 1) / scale_ : bound / scale_, proof.bound.unit());
  return proof;
}

}  // namespace collage::place
