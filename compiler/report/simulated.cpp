// SPDX-License-Identifier: Apache-2.0
#include "compiler/report/simulated.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/report/summary_line.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"

namespace collage::report {
namespace {

/// `npu, a model of a chip`, `npu, dsp, models of chips`
std::string names_text(const std::vector<std::string>& models) {
  return fmt::format("{}, {}", fmt::join(models, ", "), models.size() == 1 ? "a model of a chip" : "models of chips");
}

}  // namespace

std::vector<std::string> models_among(const std::vector<request::Activation>& activations,
                                      const std::vector<std::string>& shown) {
  std::vector<std::string> models;
  for (const request::Activation& activation : activations) {
    const ir::Backend& backend = *activation.active.backend;
    if (is_simulated(backend) && std::find(shown.begin(), shown.end(), backend.name) != shown.end())
      models.push_back(backend.name);
  }
  return models;
}

ModelShare share_of_models(const ir::Placement& placement, const std::vector<BackendRow>& backends) {
  ModelShare share;
  for (const BackendRow& row : backends) {
    if (!row.is_simulated) continue;
    bool is_used = false;
    for (const ir::Partition& partition : placement.partitions) {
      if (partition.backend != row.backend) continue;
      share.cost += partition.cost;
      is_used = true;
    }
    if (is_used) share.models.push_back(row.backend);
  }
  return share;
}

std::string to_string(const ModelShare& share) {
  if (share.models.empty()) return "";
  return fmt::format("{} of it on {}: no device runs {}", human(share.cost), names_text(share.models),
                     share.models.size() == 1 ? "it" : "them");
}

std::string without_models(const std::vector<request::Activation>& activations, bool allows_simulated) {
  std::string real = "host";
  for (const request::Activation& activation : activations) {
    const ir::Backend& backend = *activation.active.backend;
    const bool is_real = activation.absent.empty() && !is_simulated(backend) && backend.name != "host";
    if (is_real) runtime::add_to_list(real, backend.name, ",");
  }
  return fmt::format("{}with `-t {}`", allows_simulated ? "without `--simulated`, or " : "", real);
}

std::string simulated_line(const std::vector<request::Activation>& activations, const std::vector<std::string>& shown,
                           bool allows_simulated) {
  const std::vector<std::string> models = models_among(activations, shown);
  if (models.empty()) return "";
  return fmt::format(
      "{:<{}}{}: times of these are what rule files state; no device runs them, and measured times are no latencies. "
      "Times of this machine: {}\n",
      "simulated", kLabelColumns, fmt::join(models, ", "), without_models(activations, allows_simulated));
}

std::string no_latency_text(const std::vector<std::string>& models, size_t ops, const std::string& without) {
  if (models.empty()) return "";
  return fmt::format("no latency: reference kernels ran {} in place of {}. A latency of this machine: {}",
                     runtime::counted(ops, "operator"), names_text(models), without);
}

}  // namespace collage::report
