// SPDX-License-Identifier: Apache-2.0
// Syntax tree of a model -> Graph and Placement: names resolved, types inferred and checked, constants made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/sema/model/elements.h"
#include "compiler/syntax/model_ast.h"
#include "runtime/support/diagnostic.h"
#include "runtime/support/file_access.h"
#include "runtime/support/source_manager.h"

namespace collage::sema {

struct Model {
  ir::Graph graph;
  ir::Placement placement;  ///< empty unless the text has partitions; verified
};

/// Searches files of constants in `model_dir`; `access` says which others may be read. Returns nullopt after one or
/// more errors.
std::optional<Model> build_graph(const syntax::ModelAst& ast, const std::string& model_dir, support::Diagnostics& diags,
                                 const support::FileAccess& access = {}, Elements elements = Elements::Needed);

/// What a name denotes, by where it is defined.
struct NamedType {
  support::Span name;
  ir::TensorType type;
};

/// Types of the values of a model, in the order of the text, as far as they can be inferred: what is wrong is reported
/// as `build_graph` does, and the rest goes on. For editors, which ask at every key: large constants, and floats in
/// files, are not made, and weights files need not exist.
std::vector<NamedType> infer_types(const syntax::ModelAst& ast, const std::string& model_dir,
                                   support::Diagnostics& diags, const support::FileAccess& access = {});

/// Parses the text and builds the model, which has no open dimension.
std::optional<Model> load_model_text(const support::SourceManager& sources, support::FileId file,
                                     const std::string& model_dir, support::Diagnostics& diags,
                                     const support::FileAccess& access = {});

}  // namespace collage::sema
