// SPDX-License-Identifier: Apache-2.0
// `--memory npu[0]=4MiB`: a device has no more memory than that, whatever its rule file says. `npu=4MiB` is for all of
// its instances; so is `host=64GiB` for all hosts of a cluster, and `host[0]` is the first of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/place/problem/memory_limit.h"
#include "compiler/plan/targets.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// `4MiB`, `4 MiB`, `4096`.
std::optional<size_t> parse_size(std::string_view text);

/// One limit for each instance that is named. Returns nullopt after an error.
std::optional<std::vector<place::MemoryLimit>> read_memory_caps(const std::vector<std::string>& options,
                                                                const plan::PlanTargets& targets,
                                                                support::Diagnostics& diags);

/// Devices have the smaller of what they had and the cap.
void apply_memory_caps(const std::vector<place::MemoryLimit>& caps, plan::PlanTargets& targets);

}  // namespace collage::request
