// SPDX-License-Identifier: Apache-2.0
// Names of the model language as they are written after their sigil: `x`, `"odd name"`.
#pragma once

#include <string>
#include <string_view>

namespace collage::support {

/// The language's PLAIN: letters, digits and `_.$-`, with single slashes before or between them. Only such a name
/// stands without quotes.
bool is_plain_name(std::string_view name);

/// The text in quotes, with escapes.
std::string quoted(std::string_view text);

/// The name itself if it is plain, else in quotes: `a//b` => `"a//b"`.
std::string written_name(std::string_view name);

}  // namespace collage::support
