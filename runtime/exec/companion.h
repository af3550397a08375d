// SPDX-License-Identifier: Apache-2.0
// What runs beside an execution whenever that runs: the parts that other hosts have of the same plan, in this process
// or in others.
//
//     run of part 0   =>   begin, the execution's own run, end: fails where any part does
#pragma once

#include <memory>

#include "runtime/core/duration.h"
#include "runtime/core/status.h"

namespace collage::runtime {

class Execution;

/// The parts of other hosts.
class Companion {
 public:
  virtual ~Companion() = default;
  virtual void begin() = 0;
  /// After the execution's own run, which ended with `status`. Returns the failure of the run as a whole.
  virtual Status end(Status status) = 0;

  // What its runs add to those of the execution (RecoveringExecution).
  virtual Duration device_time() const { return {}; }
  virtual size_t link_bytes() const { return 0; }
};

/// All parts of a plan: makes executions of the first, each with programs, devices and a companion of its own, so that
/// a failure of one leaves the others alone.
class Ensemble {
 public:
  struct Member {
    std::unique_ptr<Execution> first;
    std::shared_ptr<Companion> others;
  };

  virtual ~Ensemble() = default;
  /// May be called by several threads at once.
  virtual Result<Member> make() = 0;
};

}  // namespace collage::runtime
