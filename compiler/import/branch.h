// SPDX-License-Identifier: Apache-2.0
// Prepares the branch of an If to replace the If.
#pragma once

#include <optional>
#include <string>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"

namespace collage::import {

/// Returns a copy of `branch` whose results are named as those of `node` where possible. All other names that it
/// defines are unique in the model. Returns nullopt, after an error at `place`, if it defines a name twice.
std::optional<onnx::GraphProto> with_own_names(const onnx::GraphProto& branch, const onnx::NodeProto& node,
                                               const std::string& place, Emitter& emitter);

}  // namespace collage::import
