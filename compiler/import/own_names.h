// SPDX-License-Identifier: Apache-2.0
// Names of values in bodies. A graph inside a node may use a name that the graph around it has too, even for a value
// that only a later node defines: the body's own value hides that one. After the renaming here, no body defines a name
// of a graph around it, and every reader of a model may go by names alone.
//
//     y = If(c) {w = Neg(x), outputs: w}  w = Relu(y)  =>  y = If(c) {w.1 = Neg(x), outputs: w.1}  w = Relu(y)
#pragma once

#include <functional>
#include <string>

#include "compiler/import/proto.h"

namespace collage::import {

/// Renames what bodies define under the name of a value of a graph around them.
void give_own_names(onnx::GraphProto& graph);

/// Gives each value that a body of the node defines, or a body inside that one, the name that `own_name` makes of its
/// name. Expects that no body, also outside of the node, has one of these names yet.
void rename_bodies(onnx::NodeProto& node, const std::function<std::string(const std::string&)>& own_name);

}  // namespace collage::import
