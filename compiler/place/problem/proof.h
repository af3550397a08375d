// SPDX-License-Identifier: Apache-2.0
// A proof that no solution of a problem costs less than `bound`: a tree of cases, each with multipliers
// (relaxation_bound.h has the formula), in terms of the problem alone. A checker that shares nothing with the search
// evaluates every case with a pass or two.
//
// The first case is about all candidates. A case leaves out what no solution in it can have:
//   - of candidates that differ in cost and rule only, all but the cheapest;
//   - a candidate that overlaps a forced one, the only one left for some node;
//   - a candidate that, with those forced, exceeds a count of partitions, meets a conflict, or needs more memory than
//     there is for its constants, theirs, and the most that one of them works with.
// So does, by the claim of the proof, a candidate that costs `bound` or more.
//
// A case is empty where a node has no candidate left, or the forced ones exceed a limit or form a cycle. Where every
// node has one candidate left, the case is what these cost.
//
// Otherwise each round is a bound on the solutions of the case, and a candidate is removed where the cheapest chain
// through it costs `bound` or more. A limit has a price p >= 0 (Lagrange): each candidate costs p more for each unit
// that it surely adds, and p * limit is subtracted from the bound:
//
//     partitions   units: the candidate itself                               limit: max_partitions
//     memory       units: bytes of the candidate's constants that no second  limit: memory, less the most bytes that a
//                  candidate could hold there (all candidates with such a    forced candidate, or one that the case
//                  constant have a node in common); p per MiB, its products  demands, works with: those are held beside
//                  with bytes rounded down for candidates, up for the limit  all constants
//
// What no case leaves out and no round excludes is swept: all solutions of the case are examined position by position,
// those parts of solutions that are alike but once, and none whose cheapest chain, in some round since multipliers were
// last stated, costs `bound` or more (certificate/sweep.h). Or it is split: its solutions are those of two more cases.
//
// Multipliers and prices of limits are parts of a picosecond, or of a picojoule: `scale` of them are one. So rounding
// them costs no whole one, and a bound that is less than one below a cost meets it.
#pragma once

#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

struct Proof {
  /// How the cost of a candidate is shared among its stretches of consecutive positions in `order`, if it has several.
  struct Share {
    CandidateId candidate = 0;
    std::vector<Cost> runs;  ///< scaled, in order; they add up to the candidate's cost with the prices of limits
  };
  struct Price {
    ProblemValueId value = 0;
    NodeId reader = 0;
    FormatId format = 0;
    Cost price;  ///< scaled
  };
  struct LimitPrice {
    enum class Of { Partitions, Memory };
    Of of = Of::Partitions;
    OwnerId owner = 0;  ///< some owner of the backend, or of the instance
    Cost price;         ///< scaled; of a partition, or of a MiB
  };
  /// Prices that are not listed are zero; those of readers of model inputs, and of the reader right after the writer,
  /// always are. Which formats a reader may want follows from the candidates that are left.
  struct Round {
    /// The multipliers of the last round that states some, in the first round those that the case above ended with. So
    /// are the prices of limits, unless it has its own. Where a candidate costs less or more now, its runs do in equal
    /// parts.
    bool is_repeated = false;
    std::vector<LimitPrice> limits;
    std::vector<Share> shares;  ///< ascending by candidate; candidates that are not listed cost by length
    std::vector<Price> prices;
  };
  struct Case;
  using CaseId = Id<Case>;
  /// Into two cases that hold all solutions between them.
  struct Split {
    enum class Kind {
      None,
      Cover,     ///< `node` is covered by one of `candidates`; by none of them
      Conflict,  ///< without the first of `owners`; without the second, with which it conflicts
      Working,   ///< no candidate on the first owner's instance works with `bytes` or more; some one does
    };
    Kind kind = Kind::None;
    NodeId node;
    std::vector<CandidateId> candidates;
    std::vector<OwnerId> owners;
    int64_t bytes = 0;
    CaseId first, second;  ///< stand after the case that is split
  };
  struct Case {
    std::vector<Round> rounds;
    /// Partial solutions that looking at all solutions of the case may take; 0: they are not examined.
    int64_t sweep = 0;
    Split split;
  };

  bool exists() const { return !order.empty(); }

  std::vector<NodeId> order;  ///< node at each position: topological
  int64_t scale = 1;
  Table<CaseId, Case> cases;
  Cost bound;  ///< not scaled
};

/// What a search ended with, for a proof to begin with: rounds that are not scaled. Later rounds lack multipliers of
/// candidates that earlier ones have removed.
struct FoundMultipliers {
  std::vector<Proof::Round> rounds;
};

/// Prices of memory are of so many bytes.
inline constexpr int64_t kPricedBytes = int64_t{1} << 20;

}  // namespace collage::place
