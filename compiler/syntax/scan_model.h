// SPDX-License-Identifier: Apache-2.0
// Text of a model -> its tokens and comments, for an editor's questions while a statement is half written. Broken text
// has tokens too; bytes that form no token are left out.
#pragma once

#include <string>
#include <vector>

#include "runtime/support/source_manager.h"

namespace collage::syntax {

struct ModelToken {
  enum class Kind {
    Name,     ///< keywords that may be names too
    Keyword,  ///< reserved
    Value,    ///< `%x`
    Symbol,   ///< `@p0`
    Number,   ///< a time too: `8us`
    String,
    Sign,    ///< `(`, `->`, `=`, `_`, …
    Comment  ///< `// …`, without the end of its line
  };
  Kind kind = Kind::Name;
  support::Span span;
  std::string name{};  ///< of a value or symbol, without sigil and quotes
};

struct ModelKeyword {
  std::string_view spelling;
  bool may_be_name = false;
  std::string_view text;  ///< documentation
};

/// The rows of grammar/model_keywords.def.
const std::vector<ModelKeyword>& model_keywords();
/// Returns null if the word is not a keyword.
const ModelKeyword* find_model_keyword(std::string_view word);

/// Returns the tokens in the order of the text; none for a file of more than 1 GiB.
std::vector<ModelToken> scan_model(const support::SourceManager& sources, support::FileId file);

}  // namespace collage::syntax
