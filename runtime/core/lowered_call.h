// SPDX-License-Identifier: Apache-2.0
// What a rule's `lower` asks of its backend for one match, with all that was chosen: `lower "conv"(x, w, act, tile)`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/core/attributes.h"

namespace collage::runtime {

struct LoweredCall {
  std::string rule;                                           ///< `conv:winograd{tile=16}`
  std::string symbol;                                         ///< what the backend is asked for
  std::vector<std::pair<std::string, std::string>> operands;  ///< argument -> name of the value; those absent left out
  AttrMap attrs;                                              ///< arguments that are numbers, strings or lists
};

}  // namespace collage::runtime
