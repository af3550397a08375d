// SPDX-License-Identifier: Apache-2.0
// The part of a package for several hosts that this rank of `mpirun` runs.
#pragma once

#include <memory>
#include <string>

#include "compiler/execution/mpi_ranks.h"
#include "compiler/support/diagnostic.h"
#include "compiler/tools/collage-run/run_options.h"
#include "runtime/cluster/cluster_program.h"
#include "runtime/package/package.h"

namespace collage::tools {

class Ranks {
 public:
  /// Loads the part for this rank. Returns null after an error, which all ranks have.
  runtime::ClusterProgram* open(const std::string& file, const runtime::PackageSet& set, const RunOptions& options,
                                support::Diagnostics& diags);

  /// The runs that the package has with it, on rank 0.
  const runtime::Plan& known() const { return known_; }
  int threads() const { return threads_; }  ///< of a step of the host

  execution::MpiRanks& mpi() { return mpi_; }
  /// As MpiRanks::leave.
  void leave(int code);

 private:
  execution::MpiRanks mpi_;
  runtime::Plan known_;  ///< of the part, without the values of constants
  int threads_ = 1;
  std::unique_ptr<runtime::ClusterProgram> program_;
};

}  // namespace collage::tools
