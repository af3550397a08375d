// SPDX-License-Identifier: Apache-2.0
// Names that patterns may call besides operators: the built-in classes, and the `def`s of a file or backend.
//
//     def act = Relu | Sigmoid                       a class of operators
//     def dense(x, w) = Add(MatMul(x, w: const), _)  a sub-pattern
//
// A backend's table is nested in that of its file. Every `def` in a table is checked; a `def` with an error stays in
// it, so that its uses are not reported again.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/ops/op_def.h"
#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

class PatternDefs {
 public:
  explicit PatternDefs(const PatternDefs* outer = nullptr) : outer_(outer) {}

  /// Adds definitions, which may use each other in any order. Returns false after errors.
  bool add(const std::vector<syntax::DefAst>& defs, support::Diagnostics& diags);

  /// Finds a definition by name. Returns null if there is none.
  const syntax::DefAst* find(std::string_view name) const;
  bool is_broken(std::string_view name) const;

  /// An operator of a class. `is_listed`: the class names it; false: it comes from a built-in class.
  struct Member {
    const ir::OpDef* op;
    bool is_listed;
  };
  /// The operators that `name` stands for: an operator, a built-in class, or a `def` without parameters that is not
  /// broken. Empty if there is no such name.
  std::vector<Member> operators(std::string_view name) const;
  /// All names that a pattern may call, for suggestions.
  std::vector<std::string> names() const;

 private:
  struct Entry {
    syntax::DefAst def;
    bool is_broken = false;
  };
  enum class Visit { Open, Done };
  bool declare(const syntax::DefAst& def, support::Diagnostics& diags);
  bool check(Entry* entry, std::map<const Entry*, Visit>* visits, support::Diagnostics& diags);
  bool check_uses(Entry* entry, std::map<const Entry*, Visit>* visits, support::Diagnostics& diags);
  bool check_class(const syntax::DefAst& def, support::Diagnostics& diags) const;
  const Entry* entry(std::string_view name) const;

  const PatternDefs* outer_;
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
};

/// Operators of a built-in class: `any_op`, or a fusion kind of RFC 62. Empty if there is no such class.
std::vector<const ir::OpDef*> built_in_class(std::string_view name);

}  // namespace collage::sema
