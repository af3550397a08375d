// SPDX-License-Identifier: Apache-2.0
// Decisions about rows of a database of costs, equal in every engine that makes them itself: which rows count, and
// which make way for others.
#pragma once

#include "compiler/measure/cost_database.h"

namespace collage::measure {

/// The measured columns, in the order in which statements name them.
inline constexpr const char* kCostColumns =
    "cost_ps, spread_ps, runs, failure, timeout_ps, date, disturbance, repeated";

/// The measured columns as they were read.
struct CostColumns {
  int64_t cost = 0, spread = 0, runs = 0;
  std::string failure;
  int64_t timeout = 0, date = 0;
  std::string disturbance;
  int64_t repeated = 0;
};
Measurement to_measurement(CostColumns columns);

/// Return what keeps a row that was read from counting, what was measured or its key; empty: nothing does.
std::string problem_of_measured(const Measurement& measured);
std::string problem_of_key(const CostRow& row);

/// What becomes of a measurement whose key is in the table.
enum class Stored { Added, Replaced, Known };
struct Decision {
  Stored stored = Stored::Known;
  Measurement kept;  ///< what the row then has
};
/// `old`: the row of the same key, with its problem; null: there is none.
Decision decide(const CostRow* old, const Measurement& made);
void count(Stored stored, Written* written);

}  // namespace collage::measure
