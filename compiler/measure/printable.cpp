// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/printable.h"

#include "runtime/support/visible.h"

namespace collage::measure {

std::string printable(std::string_view text, size_t most) {
  std::string made;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, support::first_character(text));
    const std::string_view shown = support::begins_hidden(text) ? " " : character;
    text.remove_prefix(character.size());
    if (made.size() + shown.size() > most) return made + "...";
    made += shown;
  }
  return made;
}

}  // namespace collage::measure
