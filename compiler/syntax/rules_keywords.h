// SPDX-License-Identifier: Apache-2.0
// Keywords of the rule language as a table: the rows of grammar/rules_keywords.def.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace collage::syntax {

/// Kinds of blocks that hold statements, as bits of a set.
enum RulesBlock : unsigned {
  Nowhere = 0,
  InFile = 1,
  InBackend = 2,
  InDevice = 4,
  InRule = 8,
  InKernel = 16,
  InPartition = 32,
  InPhase = 64,
  InSwitch = 256,
  InCluster = 512,
  InHost = 1024,
  Patterns = 128  ///< no block: the braces of the statement hold bounds, `Relu{1, 3}(x)`
};

struct Keyword {
  enum class Use {
    Reserved,
    MayBeName,
    Contextual  ///< the scanner tells by what follows whether it is the keyword or a name
  };
  std::string_view spelling;
  Use use = Use::Reserved;
  unsigned starts = Nowhere;  ///< blocks in which it starts a statement
  RulesBlock opens = Nowhere;
  std::string_view inside;  ///< words that may follow in its statement, with blanks between them
  std::string_view text;    ///< documentation

  bool may_be_name() const { return use == Use::MayBeName; }
  bool is_contextual() const { return use == Use::Contextual; }
  /// A word that may be a name starts a statement only where the tokens after it say so; the scanner says so of one
  /// that is contextual.
  bool starts_statement() const { return starts != Nowhere && !may_be_name(); }
};

/// Blocks whose statements can come next where these are open, as a `}` may be missing. Outside of blocks all of them,
/// so that a misspelt head does not hide what its block holds.
constexpr unsigned blocks_to_continue(unsigned open) {
  return open == Nowhere ? ~0U : open | InFile;
}

/// In the order of the rows.
inline constexpr auto kKeywords = [] {
  using enum Keyword::Use;
  return std::to_array<Keyword>({
#define KEYWORD(token, spelling, use, starts, opens, inside, text) {spelling, use, starts, opens, inside, text},
#include "grammar/rules_keywords.def"
#undef KEYWORD
  });
}();

/// Sorted by spelling.
inline constexpr auto kKeywordsBySpelling = [] {
  std::array<const Keyword*, kKeywords.size()> sorted{};
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i] = &kKeywords[i];
  std::sort(sorted.begin(), sorted.end(), [](const Keyword* a, const Keyword* b) { return a->spelling < b->spelling; });
  return sorted;
}();

/// Returns null if the word is not a keyword.
inline const Keyword* find_keyword(std::string_view word) {
  auto at = std::lower_bound(kKeywordsBySpelling.begin(), kKeywordsBySpelling.end(), word,
                             [](const Keyword* keyword, std::string_view w) { return keyword->spelling < w; });
  return at != kKeywordsBySpelling.end() && (*at)->spelling == word ? *at : nullptr;
}

}  // namespace collage::syntax
