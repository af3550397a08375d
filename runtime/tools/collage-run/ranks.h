// SPDX-License-Identifier: Apache-2.0
// The part of a package for several hosts that this rank of `mpirun` runs.
#pragma once

#include <memory>
#include <string>

#include "runtime/cluster/cluster_program.h"
#include "runtime/package/package.h"
#include "runtime/runner/mpi_ranks.h"
#include "runtime/support/diagnostic.h"
#include "runtime/tools/collage-run/run_options.h"

namespace collage::tools {

class Ranks {
 public:
  /// Loads the part for this rank. Returns null after an error, which all ranks have.
  runtime::ClusterProgram* open(const std::string& file, const runtime::PackageSet& set, const RunOptions& options,
                                support::Diagnostics& diags);

  /// The runs that the package has with it, on rank 0.
  const runtime::Plan& known() const { return known_; }
  int threads() const { return threads_; }  ///< of a step of the host

  runner::MpiRanks& mpi() { return mpi_; }
  /// As MpiRanks::leave.
  void leave(int code);

 private:
  runner::MpiRanks mpi_;
  runtime::Plan known_;  ///< of the part, without the values of constants
  int threads_ = 1;
  std::unique_ptr<runtime::ClusterProgram> program_;
};

}  // namespace collage::tools
