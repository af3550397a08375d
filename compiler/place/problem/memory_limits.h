// SPDX-License-Identifier: Apache-2.0
// The memory of device instances, as the placement problem states it (problem.h): what chosen candidates need, and
// what they need at least while others are still to be chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/place/problem/problem.h"

namespace collage::place {

class MemoryLimits {
 public:
  explicit MemoryLimits(const Problem& problem);

  struct Instance {
    std::string name;
    int64_t bytes = 0;
  };
  /// Those with a limit.
  const std::vector<Instance>& instances() const { return instances_; }
  /// Index of the instance where a candidate runs; -1: it has no limit.
  int instance_of(int candidate) const;

  /// Some choice of candidates could need more than there is.
  bool can_bind() const;
  /// Bytes that an instance needs for all candidates of a solution, at its worst step.
  int64_t peak(int instance, const std::vector<int>& chosen) const;
  /// Whether a whole solution fits everywhere.
  bool fits(const std::vector<int>& chosen) const;
  /// Whether candidates could be part of a solution that fits: constants and the worst step alone.
  bool could_fit(const std::vector<int>& chosen) const;
  /// What a candidate holds while it runs, beside its constants: what it makes and what it reads.
  int64_t working_bytes(int candidate) const;

 private:
  int64_t constants(int instance, const std::vector<int>& chosen) const;
  std::vector<int> execution_order(const std::vector<int>& chosen) const;

  const Problem& problem_;
  std::vector<Instance> instances_;
  std::vector<int> instance_of_owner_;
  std::vector<std::vector<int>> written_at_;  ///< values by node
};

}  // namespace collage::place
