// SPDX-License-Identifier: Apache-2.0
// Faults in the form of nodes, found before any of them is imported.
#pragma once

#include <string>

#include "compiler/import/proto.h"
#include "runtime/support/diagnostic.h"

namespace collage::import {

/// Reports each node with two attributes of one name, and each If without both branches; also those of functions and of
/// graphs inside nodes, and 20 at most. Returns whether there is none.
bool check_nodes(const onnx::ModelProto& model, const std::string& file, support::Diagnostics& diags);

}  // namespace collage::import
