// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/parse_model.h"

#include "compiler/support/check.h"
#include "compiler/support/text_limit.h"
#include "model_parser.h"

// Of the generated scanner (`%option reentrant`, prefix `collage_model_`).
int collage_model_lex_init_extra(collage::grammar::model::ScanState* state, void** scanner);
struct yy_buffer_state* collage_model__scan_bytes(const char* bytes, int size, void* scanner);
int collage_model_lex_destroy(void* scanner);

namespace collage::syntax {
namespace {

/// Frees the scanner however the parse ends.
class Scanner {
 public:
  explicit Scanner(grammar::model::ScanState& state) {
    COLLAGE_CHECK(collage_model_lex_init_extra(&state, &handle_) == 0, "out of memory");
    collage_model__scan_bytes(state.text.data(), static_cast<int>(state.text.size()), handle_);
  }
  ~Scanner() { collage_model_lex_destroy(handle_); }
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace

std::optional<ModelAst> parse_model(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags) {
  grammar::model::ScanState state;
  state.file = file;
  state.text = sources.text(file);
  state.diags = &diags;
  if (state.text.size() > support::kMostTextBytes) {
    return diags.error(support::Code::SyntaxError, {file, 0, 0},
                       "the file has {} bytes, more than 1 GiB; constants belong in a .safetensors file",
                       state.text.size());
  }
  ModelAst model;
  Scanner scanner(state);
  bool accepted = grammar::model::parser(scanner.handle(), state, model).parse() == 0;
  if (!accepted || state.errors > 0) return std::nullopt;
  return model;
}

}  // namespace collage::syntax
