// SPDX-License-Identifier: Apache-2.0
// Prepares a graph inside a node, such as the branch of an If, to replace it or a part of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"

namespace collage::import {

/// Returns a copy of `body` whose inputs are the values `operands`, and whose results are named `results` where
/// possible; an empty name is unwanted. All other names that it defines begin with `prefix` and are unique in the
/// model. Returns nullopt, after an error at `place`, if it defines a name twice. Expects as many operands as the body
/// has, and no more results.
std::optional<onnx::GraphProto> with_own_names(const onnx::GraphProto& body, const std::vector<std::string>& operands,
                                               const std::vector<std::string>& results, const std::string& place,
                                               Emitter& emitter, const std::string& prefix = "");

}  // namespace collage::import
