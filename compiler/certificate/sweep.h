// SPDX-License-Identifier: Apache-2.0
// All solutions of a case at once, position by position: what no multipliers alone can show, such as how a limit is
// shared out along the order.
//
// A partial solution covers all positions before one, its place, and perhaps some beyond. Each step covers the position
// there in every way that limits leave. Partial solutions of one place are alike where they
//   - cover the same positions,
//   - have the same values written, in the same formats, and wanted in the same formats, of those that are not settled:
//     a value is settled once its writer and all its readers are covered, and then costs what its formats cost.
// What completes one then completes all that are alike, for the same cost. So one that costs no more and has used no
// more of any limit takes the place of another. Nothing is merged that limits could distinguish, but what can never
// bind any more.
//
// A partial solution goes where it costs `claimed` or more in some round (chain_pass.h): the shares of its runs up to
// its place, the cheapest chain after these, and for each value that was written there phi, with the formats that are
// wanted of it by now, less only what readers after the place pay. Whether all candidates run in some order is not
// asked, nor what memory live values take: that could only make the bound higher.
#pragma once

#include <memory>

#include "compiler/certificate/chain_pass.h"
#include "compiler/certificate/limit_prices.h"

namespace collage::certificate {

/// A round as the sweep asks it.
struct PricedRound {
  LimitPrices prices;
  Table<EntryId, Wide> costs;       ///< with what candidates add to limits; `pass` refers to them
  std::unique_ptr<ChainPass> pass;  ///< after `lower`
};

struct SweepInput {
  const CertificateFile& file;
  const Order& order;
  const Limits& limits;
  const CaseState& state;
  const Table<EntryId, CandidateId>& candidates;  ///< of the case
  const Table<EntryId, Wide>& costs;              ///< theirs, without limits
  std::vector<PricedRound>& rounds;               ///< one at least
  Wide claimed = 0;
  size_t most_states = 0;  ///< with more, what is left counts by its chains
};

/// What no solution of the case costs less than; `claimed` where all cost that or more.
Wide sweep(const SweepInput& input);

}  // namespace collage::certificate
