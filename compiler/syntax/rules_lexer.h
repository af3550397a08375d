// SPDX-License-Identifier: Apache-2.0
// The generated scanner of the rule language as an object: made for one text, freed however its use ends.
#pragma once

#include "rules_parser.h"
#include "runtime/support/check.h"

// Functions of the generated scanner (`%option reentrant`, prefix `collage_rules_`).
int collage_rules_lex_init_extra(collage::grammar::rules::ScanState* state, void** scanner);
struct yy_buffer_state* collage_rules__scan_bytes(const char* bytes, int size, void* scanner);
int collage_rules_lex_destroy(void* scanner);

namespace collage::syntax {

class RulesLexer {
 public:
  /// Reads `state.text` from `state.end` on.
  explicit RulesLexer(grammar::rules::ScanState& state) {
    COLLAGE_CHECK(collage_rules_lex_init_extra(&state, &handle_) == 0, "out of memory");
    std::string_view text = state.text.substr(state.end);
    collage_rules__scan_bytes(text.data(), static_cast<int>(text.size()), handle_);
  }
  ~RulesLexer() { collage_rules_lex_destroy(handle_); }
  RulesLexer(const RulesLexer&) = delete;
  RulesLexer& operator=(const RulesLexer&) = delete;
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace collage::syntax
