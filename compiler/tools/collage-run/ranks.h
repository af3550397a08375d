// SPDX-License-Identifier: Apache-2.0
// The processes that `mpirun` started, of which this one is a rank, and the part of a package that it runs.
#pragma once

#include <memory>
#include <string>

#include "compiler/support/diagnostic.h"
#include "compiler/tools/collage-run/run_options.h"
#include "runtime/cluster/cluster_program.h"
#include "runtime/cluster/mpi_transport.h"
#include "runtime/package/package.h"

namespace collage::tools {

/// How many ranks the environment speaks of; 1 where nothing started ranks, 0 where there are some and MPI has to be
/// asked. MPI is not loaded.
int ranks_of_environment();

class Ranks {
 public:
  /// Loads the part for this rank. Returns null after an error, which all ranks have.
  runtime::ClusterProgram* open(const std::string& file, const runtime::PackageSet& set, const RunOptions& options,
                                support::Diagnostics& diags);

  /// The runs that the package has with it, on rank 0.
  const runtime::Plan& known() const { return known_; }
  int threads() const { return threads_; }  ///< of each request in flight

  /// The last thing of all, after messages were printed: leaves MPI. After a failure of any rank it ends all, with this
  /// code.
  void leave(int code);

 private:
  std::shared_ptr<runtime::MpiTransport> transport_;  ///< null: MPI was not started
  runtime::Plan known_;                               ///< of the part, without the values of constants
  int threads_ = 1;
  std::unique_ptr<runtime::ClusterProgram> program_;
};

}  // namespace collage::tools
