// SPDX-License-Identifier: Apache-2.0
// The words of `-t`: backends, each followed by its attributes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/request/activate.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// `npu,lanes=16,onednn` => npu with 16 lanes, and onednn. Sets the attributes in `all`. Returns for each of `all`
/// whether it is named; nullopt after an error.
std::optional<std::vector<bool>> read_targets(const std::vector<std::string>& targets, std::vector<Activation>& all,
                                              support::Diagnostics& diags);

}  // namespace collage::request
