// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/built_without.h"

namespace collage::runtime {

std::string built_without(std::string_view component, std::string_view option) {
  std::string text("Collage was built without ");
  text.append(component).append(" (CMake option COLLAGE_WITH_").append(option).append(")");
  return text;
}

}  // namespace collage::runtime
