// SPDX-License-Identifier: Apache-2.0
// The hint of messages about a backend that rule files declare and that takes no part.
#pragma once

#include <fmt/format.h>

#include <string>

#include "compiler/ir/rules/rule_set.h"

namespace collage::ir {

/// `` `-t npu` lets it take part ``; of a model of a chip also that it is one, and the other way.
inline std::string how_to_activate(const Backend& backend) {
  if (!is_simulated(backend)) return fmt::format("`-t {}` lets it take part", backend.name);
  return fmt::format("a model of a chip, which `-t {}` or `--simulated` lets take part", backend.name);
}

}  // namespace collage::ir
