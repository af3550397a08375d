// SPDX-License-Identifier: Apache-2.0
// What a `test ok` says of its match besides the nodes.
//
//     -> {%c} by wide{tile = 16}, cost <= 2 us, lower "conv(x = %x, tile = 16)", format x: NHWC
#pragma once

#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/matcher.h"

namespace collage::rules_tool {

/// Returns what the match is instead; empty if the expectation holds.
std::string found_instead(const ir::Graph& graph, const ir::Backend& backend, const match::Match& match,
                          const ir::Expectation& expected);

/// What the match asks its runtime for: `conv(x = %x, w = encode(%w, "OHWI"), tile = 16)`.
std::string call_text(const ir::Graph& graph, const ir::Backend& backend, const match::Match& match);

}  // namespace collage::rules_tool
