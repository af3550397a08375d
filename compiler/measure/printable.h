// SPDX-License-Identifier: Apache-2.0
// Texts of other programs, which may hold anything, in messages of this one.
#pragma once

#include <string>
#include <string_view>

namespace collage::measure {

/// The text in one line of at most so many bytes and `...`: a blank in place of each character that a terminal would
/// not show (support/visible.h), line ends among them.
std::string printable(std::string_view text, size_t most = 200);

}  // namespace collage::measure
