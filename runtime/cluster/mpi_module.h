// SPDX-License-Identifier: Apache-2.0
// Finds and loads the module for the MPI that this process was started by. Without `mpirun` nothing is loaded.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/cluster/mpi/module.h"
#include "runtime/core/status.h"

namespace collage::runtime {

/// How this process was started.
struct MpiLaunch {
  std::string module;  ///< `openmpi` or `mpich`
  int size = 0;        ///< ranks; 0: MPI has to be asked
};

/// What the environment says: OMPI_COMM_WORLD_SIZE is of OpenMPI's mpirun, PMI_SIZE of MPICH's, PMIX_RANK of a batch
/// system that speaks PMIx, as OpenMPI does. COLLAGE_MPI names the module where that is wrong, or is `none`. Returns
/// nullopt where nothing started ranks.
std::optional<MpiLaunch> find_mpi_launch();

/// Where modules lie, beside the program that runs.
std::string mpi_module_folder();

/// Stays loaded: libraries of MPI cannot be unloaded.
Result<const collage_mpi_functions*> load_mpi_module(const std::string& module,
                                                     const std::string& folder = mpi_module_folder());

}  // namespace collage::runtime
