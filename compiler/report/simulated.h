// SPDX-License-Identifier: Apache-2.0
// What is said where models of chips take part: no device runs their partitions. Their predicted times come out of rule
// files, and where the plan runs, reference kernels take their place, so that its time says nothing of any device.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/report/report.h"
#include "compiler/request/activate.h"
#include "runtime/core/duration.h"

namespace collage::report {

/// Those of the shown backends that are models of chips.
std::vector<std::string> models_among(const std::vector<request::Activation>& activations,
                                      const std::vector<std::string>& shown);

/// What of a placement's predicted time is on models of chips.
struct ModelShare {
  std::vector<std::string> models{};  ///< empty: nothing is
  runtime::Duration cost{};
};
ModelShare share_of_models(const ir::Placement& placement, const std::vector<BackendRow>& backends);

/// `13.4 ms of it on npu, a model of a chip: no device runs it`; empty where nothing is.
std::string to_string(const ModelShare& share);

/// How a command leaves the models out: "without `--simulated`, or with `-t host,onednn`".
std::string without_models(const std::vector<request::Activation>& activations, bool allows_simulated);

/// `simulated   npu, dsp: …`, a line below tables of times, and how to do without; empty where no model is shown.
std::string simulated_line(const std::vector<request::Activation>& activations, const std::vector<std::string>& shown,
                           bool allows_simulated);

/// What is said below the measured time of a plan in which `models` have so many operators: that it is no latency.
/// Empty where there is no model.
std::string no_latency_text(const std::vector<std::string>& models, size_t ops, const std::string& without);

}  // namespace collage::report
