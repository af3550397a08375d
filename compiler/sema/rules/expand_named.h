// SPDX-License-Identifier: Apache-2.0
// Uses of what has a name (`named_parts.h`): the scope in which a body is checked for one use.
//
//     def where aligned(x, n) = dim(x, 1) % n == 0
//     where aligned(a, lanes)        =>   `dim(x, 1) % n == 0` with x: the capture `a`, n: the attribute `lanes`
//
// An argument is checked where it is written, a body where it stands: it sees its parameters, what the definitions
// around it are called, the backend's attributes and quantities, and in a rule the names of its pattern. A mistake in a
// body is shown there, with the use in a note.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/sema/rules/check_expr.h"

namespace collage::sema {

/// Arguments of one use.
struct ExprFrame {
  struct Argument {
    std::string name;
    const syntax::ExprAst* ast = nullptr;
    std::optional<ir::Expr> checked;  ///< nothing: the name of an operator or class
    size_t parts = 0;                 ///< of it
    int depth = 0;
  };
  std::vector<Argument> args;
  ExprScope caller;
  const void* definition = nullptr;
  bool is_kernel = false;
  std::shared_ptr<const ExprFrame> home;  ///< of a `let` in a `def kernel`: that kernel's

  const Argument* find(std::string_view name) const;
};

/// Returns the scope of the body of `found` for the use `ast`, a name or a call; nullopt after an error.
std::optional<ExprScope> enter_expression(const NamedParts::FoundExpr& found, const syntax::ExprAst& ast,
                                          const ExprScope& caller, support::Diagnostics& diags);

/// Returns `inner` as it is for the body of a kernel that `use` asks for with arguments out of `caller`.
std::optional<ExprScope> enter_kernel(const syntax::KernelDefAst& kernel, const syntax::KernelAst& use,
                                      const ExprScope& caller, ExprScope inner, support::Diagnostics& diags);

/// An argument of a `lower`.
struct LoweredArgument {
  std::string name;
  const syntax::ExprAst* ast = nullptr;
  ir::Expr checked;
};

/// Returns the scope of what a kernel computes, `semantics`, for a `lower` out of `caller` that gives it `args`.
ExprScope enter_semantics(const NamedParts::FoundSemantics& found, const std::vector<LoweredArgument>& args,
                          const ExprScope& caller);

/// The argument that stands for a name in a body; null if the name is no parameter.
const ExprFrame::Argument* find_argument(const ExprScope& scope, std::string_view name);

/// Checks the definition's body for this use; errors in it name the use.
std::optional<ir::Expr> expand_expression(const NamedParts::FoundExpr& found, const syntax::ExprAst& ast,
                                          const ExprScope& caller, bool elementwise, support::Diagnostics& diags);

}  // namespace collage::sema
