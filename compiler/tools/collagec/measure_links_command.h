// SPDX-License-Identifier: Apache-2.0
// `mpirun -n N collagec measure-links CLUSTER.rules [-o FILE]`: measures the links between the hosts of a cluster, a
// rank on each, and writes the rule file with what it measured.
#pragma once

namespace collage::tools {

/// Runs it with the arguments after `collagec`; returns the exit code.
int run_measure_links_command(int argc, char** argv);

}  // namespace collage::tools
