// SPDX-License-Identifier: Apache-2.0
// Text of a rule file -> its tokens and comments, for tools that work on the text as it stands: the formatter, and an
// editor's questions while a statement is half written. Broken text has tokens too; bytes that form no token are left
// out.
#pragma once

#include <vector>

#include "runtime/support/source_manager.h"

namespace collage::syntax {

struct RulesToken {
  enum class Kind {
    Name,     ///< keywords that may be names too
    Keyword,  ///< reserved
    Number,   ///< with its unit: `8 us`
    String,
    Sign,    ///< `(`, `->`, `==`, …
    Comment  ///< `// …`, without the end of its line
  };
  Kind kind = Kind::Name;
  support::Span span;
};

/// Returns the tokens in the order of the text; none for a file of more than 64 MiB.
std::vector<RulesToken> scan_rules(const support::SourceManager& sources, support::FileId file);

}  // namespace collage::syntax
