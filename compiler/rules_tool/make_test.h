// SPDX-License-Identifier: Apache-2.0
// The `test` that a rule or a rewrite lacks, from a model that is searched for: an example to start from, which holds.
//
//     rule conv { match c = Conv(x, w: const) where dim(x, 1) % 8 == 0 else "{dim(x, 1)} channels" … }
//         => test ok "%c = Conv(%x, %w)" with x: f32[1, 8, 8, 8], w: const f32[8, 8, 1, 1] -> {%c}
//         => test no "%c = Conv(%x, %w)" with x: f32[1, 7, 8, 8], w: const f32[7, 7, 1, 1] because "7 channels"
#pragma once

#include <optional>
#include <string>

#include "compiler/ir/rules/rule_set.h"
#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

/// `first`: index of the rule, or of the first member of its family. `expects_match`: a `test ok`, else a `test no`.
/// Returns nullopt where no such model is found within a bounded number of tries.
std::optional<std::string> make_rule_test(support::SourceManager& sources, const ir::Backend& backend, size_t first,
                                          bool expects_match);

/// Returns a `test ok`, or nullopt as above.
std::optional<std::string> make_rewrite_test(support::SourceManager& sources, const ir::Backend& backend,
                                             const ir::Rewrite& rewrite);

}  // namespace collage::rules_tool
