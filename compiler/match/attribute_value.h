// SPDX-License-Identifier: Apache-2.0
// Attributes of a node as rules see them: what is written, or the default where nothing is.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/ops/op_def.h"

namespace collage::match {

/// Returns nullopt if the node has no such attribute, or neither a value nor a default for it. Defaults that depend on
/// the operands are worked out: `strides` of a 2-D convolution is [1, 1], its `kernel_shape` that of the weights.
/// `pads` are those that `auto_pad` stands for.
std::optional<runtime::AttrValue> attribute_or_default(const ir::Graph& graph, ir::NodeId node, std::string_view name);

}  // namespace collage::match
