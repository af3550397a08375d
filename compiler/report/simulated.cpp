// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/simulated.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/rules/runtimes.h"

namespace collage::driver {

bool is_simulated(const ir::Backend& backend) {
  return ir::is_device(backend.runtime) && ir::name_of(backend.runtime) == "sim";
}

std::string simulated_line(const std::vector<std::string>& simulated) {
  if (simulated.empty()) return "";
  return fmt::format("{:<12}{}: times of these are what rule files state; no device runs them\n", "simulated",
                     fmt::join(simulated, ", "));
}

std::string simulated_line(const std::vector<Activation>& activations, const std::vector<std::string>& shown) {
  std::vector<std::string> simulated;
  for (const Activation& activation : activations) {
    const ir::Backend& backend = *activation.active.backend;
    if (is_simulated(backend) && std::find(shown.begin(), shown.end(), backend.name) != shown.end())
      simulated.push_back(backend.name);
  }
  return simulated_line(simulated);
}

}  // namespace collage::driver
