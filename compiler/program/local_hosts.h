// SPDX-License-Identifier: Apache-2.0
// A program for several hosts, run by this process alone (runtime/cluster/local_hosts.h).
#pragma once

#include <optional>
#include <vector>

#include "compiler/program/program.h"
#include "runtime/cluster/local_hosts.h"

namespace collage::program {

using runtime::LoadedHosts;
using runtime::LocalHosts;

/// What each host runs; constants of hosts become regions (join_host_constants). Empty: there is one host.
std::vector<runtime::HostPart> host_parts(Program& program);

/// Expects a program with parts. Returns nullopt after an error.
std::optional<LoadedHosts> load_hosts(Program& program, int threads, support::Diagnostics& diags,
                                      const runtime::LoadOptions& options = {});

}  // namespace collage::program
