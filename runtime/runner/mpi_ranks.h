// SPDX-License-Identifier: Apache-2.0
// The processes that `mpirun` started, of which this one is a rank: how a program starts MPI, says once what is wrong
// on any of them, and ends with all of them.
//
//     start   →   each reads its files   →   agree: what is wrong on one rank ends all   →   …   →   leave
//
// MPI is started before any file is read: a rank that fails before it would leave the others waiting for it.
#pragma once

#include <memory>
#include <string>

#include "runtime/cluster/mpi_transport.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

class MpiRanks {
 public:
  /// How many ranks the environment speaks of; 1 where nothing started ranks, 0 where there are some and MPI has to be
  /// asked. MPI is not loaded.
  static int of_environment();

  /// Starts MPI; once. False after an error, and where nothing started ranks.
  bool start(runtime::TimeLimit limit, support::Diagnostics& diags);
  bool has_started() const { return transport_ != nullptr; }
  /// 1 where MPI was not started.
  int count() const { return has_started() ? transport_->size() : 1; }

  /// On all ranks at once: whether it is ok on all of them, with equal keys (runtime::agree). What is wrong becomes
  /// errors at `where`, on all ranks. Without MPI this is about one process.
  bool agree(const runtime::Status& status, const std::string& key, runtime::TimeLimit limit, support::Code code,
             const std::string& where, support::Diagnostics& diags);
  /// True if there are as many ranks as hosts. Otherwise an error at `where`: "OWNER 2 hosts, and mpirun started 3:
  /// `mpirun -n 2 COMMAND`".
  bool check_count(int hosts, const std::string& owner, const std::string& command, const std::string& where,
                   support::Diagnostics& diags) const;

  /// True for the first of all ranks, and for a single process.
  bool is_first() const { return !has_started() || transport_->rank() == 0; }
  /// Whether this rank prints errors: where all ranks have the same, rank 0 does so for all.
  bool prints_errors() const;
  /// The last thing of all, after messages were printed: leaves MPI. After a failure of any rank it ends all, with this
  /// code.
  void leave(int code);

  const std::shared_ptr<runtime::MpiTransport>& transport() const { return transport_; }

 private:
  std::shared_ptr<runtime::MpiTransport> transport_;  ///< null: MPI was not started
};

}  // namespace collage::runner
