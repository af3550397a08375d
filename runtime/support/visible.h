// SPDX-License-Identifier: Apache-2.0
// Characters of foreign texts that a terminal obeys instead of showing them: control characters move the cursor or
// start lines that look like messages, others turn the order of letters round or take no room. Names of models have
// none (importer and scanner see to it), and what programs print shows those of all other texts (print.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace collage::support {

enum class Lines { Hide, Keep };

/// The text with `\x1b` in place of a control character of C0, and of a byte that is not UTF-8; with `\u202e`, as JSON
/// writes it, in place of DEL, C1, and what has no width or a direction of its own: a document of JSON stays one.
/// `Keep`: line ends and tabs stay.
std::string visible(std::string_view text, Lines lines = Lines::Hide);

/// The text with `?` in place of each of those, but for line ends and tabs.
std::string masked(std::string_view text);

/// Bytes of the character with which a text begins that is not empty, at least 1.
size_t first_character(std::string_view text);
/// Whether that is one of those.
bool begins_hidden(std::string_view text);

}  // namespace collage::support
