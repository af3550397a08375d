// SPDX-License-Identifier: Apache-2.0
// Comments of both languages, `// …` to the end of the line, which the generated scanners skip.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/support/span.h"

namespace collage::syntax {

/// Returns those between two tokens of a file, without the blanks at their ends.
std::vector<support::Span> comments_between(std::string_view text, support::FileId file, uint32_t begin, uint32_t end);

}  // namespace collage::syntax
