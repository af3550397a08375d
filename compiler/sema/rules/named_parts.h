// SPDX-License-Identifier: Apache-2.0
// What rule text gives names to besides patterns: expressions (`let`), conditions (`def where`), kernels (`def
// kernel`), and what kernels compute (`semantics`).
//
//     let cycles(work, width) = work / width                    cost cycles(macs, lanes) * 1 ns
//     def where aligned(x) = dim(x, 1) % 8 == 0 else "…"        where aligned(x)
//     def kernel wide(x, w) { cost … lower "wide"(x, w) }       kernel wide(a, b)
//
// Tables nest: that of a kernel in that of its rule, of the backend, of the file. A use means what the body would mean
// there, with the arguments for the parameters (`expand_named.h`).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/syntax/rules_ast.h"
#include "runtime/support/diagnostic.h"

namespace collage::sema {

/// What a name means in every expression, as `a function`; empty if a file may declare it.
std::string_view meaning_of_name(std::string_view name);

class NamedParts {
 public:
  /// `is_local`: of a rule or kernel, whose names of the pattern its bodies see.
  explicit NamedParts(const NamedParts* outer = nullptr, bool is_local = false) : outer_(outer), is_local_(is_local) {}

  /// Each adds definitions, which may use each other in any order. Returns false after errors.
  bool add(const std::vector<syntax::NamedExprAst>& expressions, support::Diagnostics& diags);
  bool add(const std::vector<syntax::KernelDefAst>& kernels, support::Diagnostics& diags);
  bool add(const std::vector<syntax::SemanticsAst>& semantics, support::Diagnostics& diags);
  bool add(const syntax::DefinitionsAst& definitions, support::Diagnostics& diags);

  struct FoundExpr {
    const syntax::NamedExprAst* ast = nullptr;
    const NamedParts* table = nullptr;  ///< in which it stands
  };
  /// Finds an expression or condition, here or further out, and marks it as used.
  FoundExpr find_expr(std::string_view name) const;
  /// Returns null if there is no such kernel.
  const syntax::KernelDefAst* find_kernel(std::string_view name) const;
  struct FoundSemantics {
    const syntax::SemanticsAst* ast = nullptr;
    const NamedParts* table = nullptr;  ///< in which it stands
  };
  /// Finds what the kernel with this symbol computes, here or further out, and marks it as used.
  FoundSemantics find_semantics(std::string_view symbol) const;
  bool is_local() const { return is_local_; }
  std::vector<std::string> expr_names() const;
  std::vector<std::string> kernel_names() const;
  /// Warns about what stands in this table and was not found since.
  void warn_unused(support::Diagnostics& diags) const;

 private:
  const NamedParts* outer_;
  bool is_local_;
  std::map<std::string, syntax::NamedExprAst, std::less<>> expressions_;
  std::map<std::string, syntax::KernelDefAst, std::less<>> kernels_;
  std::map<std::string, syntax::SemanticsAst, std::less<>> semantics_;
  mutable std::set<std::string, std::less<>> used_;
};

}  // namespace collage::sema
