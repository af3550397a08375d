// SPDX-License-Identifier: Apache-2.0
// A partition as a folder that shows what it computes, without the model that it comes from:
//
//     model.ir              the partition as a placed model, its weights beside it
//     rules/                the rule files
//     input_0.npy, …        what it reads
//     run.sh                collagec model.ir -r rules --check --input x=input_0.npy
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/input/requests.h"
#include "compiler/driver/input/rule_files.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/placement.h"

namespace collage::driver {

struct Reproducer {
  const Request& request;  ///< options that change what is compiled are repeated
  const RuleFiles& rules;
  const ir::Graph& graph;
  const ir::Partition& partition;
  std::vector<ir::Tensor> inputs;  ///< by boundary input
};

/// Writes the folder, which must not exist or be empty. Returns the command that runs it, nullopt after an error.
std::optional<std::string> write_reproducer(const Reproducer& what, const std::string& folder,
                                            support::Diagnostics& diags);

}  // namespace collage::driver
