// SPDX-License-Identifier: Apache-2.0
// Texts that the C interface gives away.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "compiler/api/guarded.h"
#include "compiler/compilation/report_of.h"

namespace collage::api {

/// A copy that `collage_text_free` frees.
inline char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

inline char* copy_of(const std::optional<std::string>& text) {
  return text ? copy_of(*text) : nullptr;
}

/// The text that `make` gives; null where it gives none.
template <typename Make>
char* text_of(CompilerState& state, Make&& make) {
  return guarded<char*>(state, nullptr, [&] { return copy_of(std::optional<std::string>(make())); });
}

/// The same of what may take long.
template <typename Make>
char* long_text_of(CompilerState& state, Make&& make) {
  return stoppable<char*>(state, nullptr, [&]() -> char* {
    const std::optional<std::string> text = make();
    return state.stops ? nullptr : copy_of(text);
  });
}

/// The text that `make` gives of a placement; null where it gives none.
template <typename Make>
char* text_of(const collage_placement* placement, Make&& make) {
  if (placement == nullptr) return nullptr;
  const PlacedModel& placed = *placement->placed;
  return text_of(*placed.state, [&]() -> std::optional<std::string> { return make(placed); });
}

template <typename Make>
char* long_text_of(const collage_placement* placement, Make&& make) {
  if (placement == nullptr) return nullptr;
  PlacedModel& placed = *placement->placed;
  return long_text_of(*placed.state, [&]() -> std::optional<std::string> { return make(placed); });
}

inline report::Report report_of(const PlacedModel& placed) {
  return compilation::report_of(*placed.compilation, *placed.candidates, placed.placement,
                                placed.found ? &*placed.found : nullptr, placed.state->sources);
}

}  // namespace collage::api
