// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/kernel/window_layout.h"

#include "runtime/core/layout.h"

namespace collage::codegen {

bool has_channels_last(const ir::Node& node, const char* attribute) {
  return node.attrs.get_string(attribute, "") == runtime::kChannelsLast;
}

ir::Shape channels_first(const ir::Shape& shape) {
  ir::Shape logical = {shape.front(), shape.back()};
  logical.insert(logical.end(), shape.begin() + 1, shape.end() - 1);
  return logical;
}

}  // namespace collage::codegen
