// SPDX-License-Identifier: Apache-2.0
// What stopped the rules of a backend at a node, as lines for people: equal reasons of several rules are one line, the
// members of a family one name.
//
//     conv, conv_act (2)  grouped convolution (rules/npu.rules:19, 38)
//     conv_clip           `%c` is read by Mul, need Clip (rules/onednn.rules:60)
#pragma once

#include <string>
#include <vector>

#include "compiler/match/refusals.h"
#include "runtime/support/source_manager.h"

namespace collage::driver {

/// In the order of `misses`, each indented by two.
std::vector<std::string> refusal_lines(const ir::Backend& backend, const std::vector<match::NearMiss>& misses,
                                       const support::SourceManager& sources);

}  // namespace collage::driver
