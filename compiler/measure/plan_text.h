// SPDX-License-Identifier: Apache-2.0
// A whole placed model for the measuring process, and plans that are timed beside each other as one message.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/placement/placement.h"

namespace collage::measure {

/// The placed model in the model language, with random numbers for weights as in `candidate_text`.
std::string plan_text(const ir::Graph& graph, const ir::Placement& placement);

/// A message that asks for the times of these plans. No text of a candidate reads like it.
std::string plans_message(const std::vector<std::string>& plans);
/// Nothing: the message is of another kind.
std::optional<std::vector<std::string>> parse_plans_message(std::string_view message);

}  // namespace collage::measure
