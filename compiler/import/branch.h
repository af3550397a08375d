// SPDX-License-Identifier: Apache-2.0
// The branch of an If, made ready to be put in the place of the If.
#pragma once

#include <optional>
#include <string>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"

namespace collage::import {

/// A copy of `branch`, as many results of which as possible have the names of the results of `node`. All else that it
/// defines has names that no other value of the model has. Nothing, and an error at `place`, where it defines a name
/// twice.
std::optional<onnx::GraphProto> with_own_names(const onnx::GraphProto& branch, const onnx::NodeProto& node,
                                               const std::string& place, Emitter& emitter);

}  // namespace collage::import
