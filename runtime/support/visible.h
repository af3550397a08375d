// SPDX-License-Identifier: Apache-2.0
// Control characters of foreign texts. On a terminal they move the cursor or start lines that look like messages, so
// names of models have none (importer and scanner see to it), and messages show those of all other texts.
#pragma once

#include <string>
#include <string_view>

namespace collage::support {

enum class Lines { Hide, Keep };

/// The text with `\x1b` in place of a control character: C0, DEL, and C1 as UTF-8 has it. `Keep`: line ends and tabs
/// stay.
std::string visible(std::string_view text, Lines lines = Lines::Hide);

}  // namespace collage::support
