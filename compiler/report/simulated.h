// SPDX-License-Identifier: Apache-2.0
// Which backends of a table of times are simulated: their times come out of rule files, predicted and measured.
#pragma once

#include <string>
#include <vector>

#include "compiler/request/activate.h"

namespace collage::driver {

/// Returns whether no device runs its partitions.
bool is_simulated(const ir::Backend& backend);

/// `simulated   npu, dsp: …`, a line below the table; empty where none is.
std::string simulated_line(const std::vector<std::string>& simulated);
/// The same line for the activations that are simulated among the names shown.
std::string simulated_line(const std::vector<Activation>& activations, const std::vector<std::string>& shown);

}  // namespace collage::driver
