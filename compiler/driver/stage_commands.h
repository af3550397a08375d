// SPDX-License-Identifier: Apache-2.0
// Commands on single stages of a model that runs in stages: each is a model by itself, whose inputs a run has given.
//
//     --emit, why, why-not                              texts one after another, each below the name of its stage
//     verify-costs, profile, trace, bisect              on the values that the stage had in its last run
//     --save-placement, --certificate, --report, -o …   a file for each stage: a.ir => a.stage2.ir
//     compare                                           a table for each stage, and one of the sums
//
// Stages with little work, which the reference kernels run, are not placed: only what is known before is shown.
#pragma once

#include <vector>

#include "compiler/driver/run_in_stages.h"
#include "compiler/stages/graph_runner.h"

namespace collage::driver {

bool asks_about_stages(const request::Request& request);

/// Fails where `--place`, `--forbid` or `--together` names no node of any stage, or where no two nodes of `--together`
/// are in one; a warning where some of them are. False after an error.
bool check_constraints(const request::Settings& settings, const std::vector<stages::KeptStage>& stages,
                       support::Diagnostics& diags);

void work_on_stages(const StagedCommand& command, const std::vector<stages::KeptStage>& stages);

}  // namespace collage::driver
