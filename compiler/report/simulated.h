// SPDX-License-Identifier: Apache-2.0
// What is said where models of chips take part: no device runs their partitions. Their predicted times come out of rule
// files, and where the plan runs, reference kernels take their place, so that its time says nothing of any device.
#pragma once

#include <string>
#include <vector>

#include "compiler/request/activate.h"
#include "runtime/core/duration.h"

namespace collage::driver {

/// Those of the shown backends that are models of chips.
std::vector<std::string> models_among(const std::vector<Activation>& activations,
                                      const std::vector<std::string>& shown);

/// `13.4 ms of it on npu, a model of a chip: no device runs it`, a part of what is predicted. Empty where `models` is.
std::string share_of_models(const std::vector<std::string>& models, runtime::Duration cost);

/// How a command leaves the models out: "without `--simulated`, or with `-t host,onednn`".
std::string without_models(const std::vector<Activation>& activations, bool allows_simulated);

/// `simulated   npu, dsp: …`, a line below tables of times, and how to do without; empty where no model is shown.
std::string simulated_line(const std::vector<Activation>& activations, const std::vector<std::string>& shown,
                           bool allows_simulated);

/// What is said below the measured time of a plan in which `models` have so many operators: that it is no latency.
/// Empty where there is no model.
std::string no_latency_text(const std::vector<std::string>& models, size_t ops, const std::string& without);

}  // namespace collage::driver
