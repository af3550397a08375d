// SPDX-License-Identifier: Apache-2.0
// The generated scanner of the model language as an object: made for one text, freed however its use ends.
#pragma once

#include "model_parser.h"
#include "runtime/support/check.h"

// Functions of the generated scanner (`%option reentrant`, prefix `collage_model_`).
int collage_model_lex_init_extra(collage::grammar::model::ScanState* state, void** scanner);
struct yy_buffer_state* collage_model__scan_bytes(const char* bytes, int size, void* scanner);
int collage_model_lex_destroy(void* scanner);

namespace collage::syntax {

class ModelLexer {
 public:
  explicit ModelLexer(grammar::model::ScanState& state) {
    COLLAGE_CHECK(collage_model_lex_init_extra(&state, &handle_) == 0, "out of memory");
    collage_model__scan_bytes(state.text.data(), static_cast<int>(state.text.size()), handle_);
  }
  ~ModelLexer() { collage_model_lex_destroy(handle_); }
  ModelLexer(const ModelLexer&) = delete;
  ModelLexer& operator=(const ModelLexer&) = delete;
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace collage::syntax
