// SPDX-License-Identifier: Apache-2.0
// A partition as a folder that shows what it computes, without the model that it comes from:
//
//     model.ir              the partition as a placed model, its weights beside it
//     rules/                the rule files, what they include and their tables, as they lie to each other
//     input_0.npy, …        what it reads; `.pb` where a .npy file has no such dtype
//     run.sh                collagec check model.ir -r rules/npu.rules --input x=input_0.npy
//
// `run.sh` runs `$COLLAGEC` where it is set. Plug-ins beside their rule files are copied; others, and programs that
// price rules, stay where they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/request/requests.h"
#include "compiler/request/rule_files.h"

namespace collage::driver {

struct Reproducer {
  const request::Request& request;  ///< options that change what is compiled are repeated
  const request::RuleFiles& rules;
  const ir::Graph& graph;
  const ir::Partition& partition;
  std::vector<ir::Tensor> inputs;  ///< by boundary input
};

/// Writes the folder, which must not exist or be empty. Returns the command that runs it; nullopt after an error, then
/// everything is as it was before.
std::optional<std::string> write_reproducer(const Reproducer& what, const std::string& folder,
                                            support::Diagnostics& diags);

}  // namespace collage::driver
