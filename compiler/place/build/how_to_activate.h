// SPDX-License-Identifier: Apache-2.0
// The hint of messages about a backend that rule files declare and that takes no part.
#pragma once

#include <fmt/format.h>

#include <string>

#include "compiler/ir/rules/rule_set.h"

namespace collage::place {

/// `` `-t npu` lets it take part ``
inline std::string how_to_activate(const ir::Backend& backend) {
  if (!is_simulated(backend)) return fmt::format("`-t {}` lets it take part", backend.name);
  return fmt::format("a model of a chip, which `-t {}` or `--simulated` lets take part", backend.name);
}

}  // namespace collage::place
