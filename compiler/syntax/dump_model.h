// SPDX-License-Identifier: Apache-2.0
// `--emit=ast`: the syntax tree of a model, one part per line, each with where it was written. Not read back.
#pragma once

#include <string>

#include "compiler/syntax/model_ast.h"
#include "runtime/support/source_manager.h"

namespace collage::syntax {

///     model @stem at 1:7
///       input %x f32[1, 8] at 1:12
///       op Relu (%x) -> %y at 2:8
std::string dump(const ModelAst& ast, const support::SourceManager& sources);

}  // namespace collage::syntax
