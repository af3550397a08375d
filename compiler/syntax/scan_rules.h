// SPDX-License-Identifier: Apache-2.0
// Text of a rule file -> its tokens and comments, for tools that work on the text as it stands: the formatter, and an
// editor's questions while a statement is half written. Broken text has tokens too; what is none is left out.
#pragma once

#include <vector>

#include "compiler/support/source_manager.h"

namespace collage::syntax {

struct RulesToken {
  enum class Kind {
    Name,
    Keyword,
    Number,  ///< with its unit: `8 us`
    String,
    Sign,    ///< `(`, `->`, `==`, …
    Comment  ///< `// …`, without the end of its line
  };
  Kind kind = Kind::Name;
  support::Span span;
};

/// In the order of the text. A file of more than 64 MiB has none.
std::vector<RulesToken> scan_rules(const support::SourceManager& sources, support::FileId file);

}  // namespace collage::syntax
