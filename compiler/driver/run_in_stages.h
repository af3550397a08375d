// SPDX-License-Identifier: Apache-2.0
// Commands on a model that only the values of a run fix the shapes of (compiler/stages/): it runs, and what is asked of
// stages (stage_commands.h) is done for each that the run has made. Without inputs only the first stage is known.
#pragma once

#include <memory>

#include "compiler/driver/commands.h"
#include "compiler/driver/stage_clock.h"
#include "compiler/request/model_source.h"
#include "compiler/request/requests.h"
#include "compiler/request/rule_files.h"

namespace collage::driver {

struct StagedCommand {
  const request::Request& request;
  const Output& output;
  support::SourceManager& sources;
  support::Diagnostics& diags;
  StageClock& clock;
  const runner::WorkListener& listener;
  const request::ModelSource& source;
  const request::Specialised& model;
  std::shared_ptr<const request::RuleFiles> rules;
  bool runs = true;  ///< false: no inputs are given
};

/// Whether all that is asked for can be done stage by stage. False after an error, which names the first node that
/// needs values.
bool may_run_in_stages(const request::Request& request, const request::Specialisation& to,
                       const request::ModelSource& source, support::Diagnostics& diags);

void run_in_stages(const StagedCommand& command);

}  // namespace collage::driver
