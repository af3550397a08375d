// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/model/build_graph.h"

#include "compiler/sema/model/model_builder.h"
#include "compiler/syntax/parse_model.h"

namespace collage::sema {

std::optional<Model> build_graph(const syntax::ModelAst& ast, const std::string& model_dir, support::Diagnostics& diags,
                                 const support::FileAccess& access, Elements elements) {
  return ModelBuilder(ast, model_dir, access, diags, elements).build();
}

std::vector<NamedType> infer_types(const syntax::ModelAst& ast, const std::string& model_dir,
                                   support::Diagnostics& diags, const support::FileAccess& access) {
  return ModelBuilder(ast, model_dir, access, diags).types();
}

std::optional<Model> load_model_text(const support::SourceManager& sources, support::FileId file,
                                     const std::string& model_dir, support::Diagnostics& diags,
                                     const support::FileAccess& access) {
  std::optional<syntax::ModelAst> ast = syntax::parse_model(sources, file, diags);
  if (!ast) return std::nullopt;
  return build_graph(*ast, model_dir, diags, access);
}

}  // namespace collage::sema
