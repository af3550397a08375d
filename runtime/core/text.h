// SPDX-License-Identifier: Apache-2.0
// Text in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collage::runtime {

/// The pieces between separators, empty ones too: `a,,b` => a, "", b. Empty text is one empty piece.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace collage::runtime
