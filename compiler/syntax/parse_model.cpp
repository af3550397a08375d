// SPDX-License-Identifier: Apache-2.0
#include "compiler/syntax/parse_model.h"

#include "compiler/syntax/model_lexer.h"
#include "runtime/support/text_limit.h"

namespace collage::syntax {

std::optional<ModelAst> parse_model(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags, OnErrors errors) {
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
  ModelLexer lexer(state);
  bool accepted = grammar::model::parser(lexer.handle(), state, model).parse() == 0;
  if (!accepted || (state.errors > 0 && errors == OnErrors::Fail)) return std::nullopt;
  return model;
}

}  // namespace collage::syntax
