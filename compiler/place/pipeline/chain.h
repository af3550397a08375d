// SPDX-License-Identifier: Apache-2.0
// A placement as a sequence of steps that is cut into stages, each of them on one instance:
//
//     s0 s1 s2 | s3 s4 | s5 s6 s7       stage 0: s0 … s2, stage 1: s3, s4, stage 2: s5 … s7
//
// A stage pays for its work and for every value that comes into it: one copy for each value that an earlier stage makes
// and some step of it reads. The memory of a stage holds at least what problem.h says of an instance:
// what a step reads, makes and keeps is there all at once, and so for each of the requests that are in the stage.
//
// Inputs are at home, and results are wanted there: in the stage with the first step, or in the one with the last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/support/ids.h"

namespace collage::place {

/// A place in the sequence.
using StepId = support::Id<struct ChainStep>;
using ChainValueId = support::Id<struct ChainValue>;
using StageId = support::Id<struct ChainStage>;

/// All times are in one unit, which nothing here depends on.
struct ChainStep {
  int64_t work = 0;
  std::vector<int> constants;  ///< distinct, by their place in Chain::constant_bytes
};

struct ChainValue {
  StepId writer;                ///< none: there before the first step, at home
  std::vector<StepId> readers;  ///< other steps, ascending
  int64_t bytes = 0;
  int64_t copy = 0;       ///< into another stage
  bool is_kept = false;   ///< to the end, where it is made
  int64_t copy_home = 0;  ///< of a kept one, from another stage to home
};

struct ChainStage {
  std::optional<int64_t> memory;  ///< bytes; nothing: no limit
};

struct Chain {
  support::Table<StepId, ChainStep> steps;
  support::Table<ChainValueId, ChainValue> values;
  std::vector<int64_t> constant_bytes;
  int64_t requests = 1;  ///< in each stage at once
  /// In the order in which the sequence passes them; one may be left out.
  support::Table<StageId, ChainStage> stages;
  bool is_home_last = false;  ///< home is the last stage, and has the last step
};

}  // namespace collage::place
