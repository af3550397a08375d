// SPDX-License-Identifier: Apache-2.0
// Text of a model -> its syntax tree. The generated parser is seen by the implementation only.
#pragma once

#include <optional>

#include "compiler/syntax/model_ast.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/source_manager.h"

namespace collage::syntax {

enum class OnErrors {
  Fail,
  LeaveOut  ///< statements with a syntax error are left out
};

/// Returns nullopt if the text has a syntax error, or is no model at all; each statement is read on its own, so there
/// may be several diagnostics.
std::optional<ModelAst> parse_model(const support::SourceManager& sources, support::FileId file,
                                    support::Diagnostics& diags, OnErrors errors = OnErrors::Fail);

}  // namespace collage::syntax
