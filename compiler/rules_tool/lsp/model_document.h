// SPDX-License-Identifier: Apache-2.0
// A model as it stands in an editor: its words and what each is, from the tokens alone, and the types of its values as
// far as they can be inferred. Statements with a syntax error are left out of that, and what is not closed yet is
// closed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/rules_tool/lsp/positions.h"
#include "compiler/syntax/model_ast.h"
#include "compiler/syntax/scan_model.h"
#include "runtime/support/diagnostic.h"

namespace collage::rules_tool::lsp {

struct ModelWord {
  enum class Role {
    None,
    Keyword,
    Input,       ///< `%x` of the first ports
    Definition,  ///< `%y` before `=`
    Use,         ///< `%x` anywhere else
    ModelName,   ///< `@m`
    Partition,   ///< `@p0` after `partition`
    Member,      ///< `@p0` after `in`
    Operator,
    Attribute,
    DType,
    Dimension,  ///< a name in place of a size
    Place       ///< a device, a backend
  };
  syntax::ModelToken token;
  std::string_view text;
  Role role = Role::None;
  std::string_view op{};  ///< of a definition, attribute or operator: the word after `=` of its statement
};

class ModelDocument {
 public:
  ModelDocument(const std::string& uri, std::string text);

  std::string_view text() const { return sources_->text(file_); }
  const support::SharedText& shared_text() const { return sources_->shared_text(file_); }
  /// Without comments.
  const std::vector<ModelWord>& words() const { return words_; }
  /// The tokens that are no words of the text: its comments.
  const std::vector<support::Span>& comments() const { return comments_; }
  /// Index of the word that holds `offset`, or ends there; -1 where there is none.
  int word_at(uint32_t offset) const;
  /// The words that name the same: a value, a partition, the model, a dimension. In the order of the text; empty for
  /// other words.
  std::vector<const ModelWord*> same_name(const ModelWord& word) const;
  /// The word where the name is declared; null if it is not.
  const ModelWord* declaration_of(const ModelWord& word) const;

  const Json& diagnostics() const { return diagnostics_; }
  /// `f32[batch, 8]`; null where it could not be inferred.
  const std::string* type_of(const std::string& value) const;
  /// Types of the text before, for one that is no model at all at the moment.
  void keep_types_of(const ModelDocument& before);

 private:
  void find_words();
  void find_roles();
  void analyse(const std::string& uri);
  std::string closed_text() const;
  /// Finds the types. Reports what is wrong with all sizes that it tries for open dimensions.
  void infer(const syntax::ModelAst& ast, const std::string& folder, support::Diagnostics& diags);

  std::unique_ptr<support::SourceManager> sources_;
  support::FileId file_;
  std::vector<ModelWord> words_;
  std::vector<support::Span> comments_;
  Json diagnostics_;
  bool is_understood_ = false;  ///< the text is a model, but for some statements
  std::map<std::string, std::string> types_;
};

}  // namespace collage::rules_tool::lsp
