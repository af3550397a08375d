// SPDX-License-Identifier: Apache-2.0
// What a stage of consecutive steps needs, step by step as it grows: each growth costs what the step itself touches.
#pragma once

#include <vector>

#include "compiler/place/pipeline/chain.h"

namespace collage::place {

class Segment {
 public:
  explicit Segment(const Chain& chain);

  /// Nothing from `begin` on.
  void start(StepId begin);
  /// Takes the next step; there must be one.
  void grow();

  /// One past its last step.
  StepId end() const { return end_; }
  int64_t work() const { return work_; }
  /// Copies into it, of what steps before it make and of what is there before the first step.
  int64_t copies() const { return copies_ + (is_home() ? 0 : copies_of_inputs_); }
  /// Copies of its results to where they are wanted.
  int64_t copies_home() const { return is_home() ? 0 : copies_home_; }
  /// Bytes, with every request at the worst of its steps.
  int64_t memory() const { return constants_ + chain_.requests * peak_; }

 private:
  struct Steps {
    std::vector<ChainValueId> written;
    std::vector<ChainValueId> read;  ///< made at other steps
  };
  StepId last_use(const ChainValue& value) const;
  bool is_home() const { return chain_.is_home_last ? end_ == chain_.steps.next_id() : begin_ == 0; }

  const Chain& chain_;
  support::Table<StepId, Steps> at_;
  StepId begin_ = 0, end_ = 0;
  int64_t work_ = 0, copies_ = 0, copies_of_inputs_ = 0, copies_home_ = 0;
  int64_t constants_ = 0, peak_ = 0;
  int64_t made_ = 0;                              ///< bytes of what it makes that are held now
  support::Table<StepId, int64_t> freed_;         ///< of these, after each step
  support::Table<StepId, int64_t> held_;          ///< at each step, with what comes from outside
  std::vector<StepId> frees_;                     ///< where `freed_` is not 0
  int64_t start_ = 0;                             ///< counts starts
  std::vector<int64_t> constant_since_;           ///< the start since which the constant is held
  support::Table<ChainValueId, int64_t> since_;   ///< as that, of values from outside
  support::Table<ChainValueId, StepId> read_at_;  ///< their last step so far
};

}  // namespace collage::place
