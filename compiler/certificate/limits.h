// SPDX-License-Identifier: Apache-2.0
// The limits of a problem as the judge of proofs needs them, and what each candidate takes of every limit.
#pragma once

#include "compiler/certificate/certificate_file.h"
#include "compiler/certificate/format_trees.h"

namespace collage::certificate {

using place::CandidateId;
using place::ConstantId;
using place::NodeId;
using place::OwnerId;
using place::ProblemValueId;
using support::Table;

class Limits {
 public:
  static constexpr Wide kMostSureBytes = Wide{1} << 60;

  explicit Limits(const place::Problem& problem);

  /// A backend whose owners state a limit of partitions; an instance with a limit of memory.
  using CounterId = support::Id<struct LimitedBackendTag>;
  using InstanceId = support::Id<struct LimitedInstanceTag>;

  CounterId counter_of(OwnerId owner) const { return counter_of_owner_[owner]; }
  InstanceId instance_of(OwnerId owner) const { return instance_of_owner_[owner]; }
  InstanceId instance_of(CandidateId candidate) const { return instance_of(problem_.candidates[candidate].owner); }
  size_t counters() const { return most_partitions_.size(); }
  size_t instances() const { return memory_.size(); }

  /// The largest of the owners' limits: only limits of owners in use have to be kept.
  int64_t most_partitions(CounterId counter) const { return most_partitions_[counter]; }
  int64_t memory(InstanceId instance) const { return memory_[instance]; }
  /// In either direction.
  bool conflict(OwnerId a, OwnerId b) const { return conflicts_[a][b]; }

  /// The most that a candidate holds while one of its nodes runs, beside constants, of what it reads and makes.
  Wide working_bytes(CandidateId candidate) const { return working_[candidate]; }
  /// Bytes of the candidate's constants that no second candidate can hold there, since all candidates with such a
  /// constant share a node. At most `kMostSureBytes`, so that products with prices fit.
  Wide sure_bytes(CandidateId candidate) const { return sure_[candidate]; }

 private:
  void find_working_bytes();
  void find_sure_bytes();

  const place::Problem& problem_;
  Table<OwnerId, CounterId> counter_of_owner_;
  Table<OwnerId, InstanceId> instance_of_owner_;
  Table<CounterId, int64_t> most_partitions_;
  Table<InstanceId, int64_t> memory_;
  Table<OwnerId, Table<OwnerId, bool>> conflicts_;
  Table<CandidateId, Wide> working_;
  Table<CandidateId, Wide> sure_;
};

}  // namespace collage::certificate
