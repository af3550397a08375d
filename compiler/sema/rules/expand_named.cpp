// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/expand_named.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/text.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Diagnostics;
using syntax::ExprAst;
using syntax::Word;

/// `op(c) in {act}` in a body: an argument may name operators.
bool names_operators(const ExprAst& ast, const ExprScope& scope) {
  if (ast.kind != ExprAst::Kind::Name) return false;
  const std::string& word = !scope.variable.empty() && ast.text == scope.variable ? scope.member : ast.text;
  return ir::find_op(word) != nullptr || (scope.defs != nullptr && !scope.defs->operators(word).empty());
}

void measure(const ir::Expr& expr, int depth, ExprFrame::Argument* argument) {
  ++argument->parts;
  argument->depth = std::max(argument->depth, depth);
  for (const ir::Expr& arg : expr.args) measure(arg, depth + 1, argument);
}

bool bind_arguments(const std::vector<Word>& params, const std::vector<ExprAst>& args, std::string_view name,
                    support::Span use, const ExprScope& caller, ExprFrame* frame, Diagnostics& diags) {
  if (params.size() != args.size()) {
    return diags.error(Code::BadDef, use, "`{}` takes {}, this has {}", name,
                       runtime::counted(params.size(), "argument"), args.size());
  }
  bool ok = true;
  for (size_t i = 0; i < args.size(); ++i) {
    ExprFrame::Argument argument;
    argument.name = params[i].text;
    argument.ast = &args[i];
    if (!names_operators(args[i], caller)) {
      argument.checked = check_expr(args[i], caller, diags);
      ok = ok && argument.checked;
      if (argument.checked) measure(*argument.checked, 1, &argument);
    }
    frame->args.push_back(std::move(argument));
  }
  frame->caller = caller;
  return ok;
}

/// The frame of the `def kernel` around a `let`, if there is one.
std::shared_ptr<const ExprFrame> home_of(const ExprScope& scope) {
  if (scope.inside == nullptr || scope.inside->is_kernel) return scope.inside;
  return scope.inside->home;
}

}  // namespace

const ExprFrame::Argument* ExprFrame::find(std::string_view name) const {
  auto at = std::find_if(args.begin(), args.end(), [&](const Argument& arg) { return arg.name == name; });
  return at == args.end() ? nullptr : &*at;
}

const ExprFrame::Argument* find_argument(const ExprScope& scope, std::string_view name) {
  if (scope.inside == nullptr) return nullptr;
  if (const ExprFrame::Argument* own = scope.inside->find(name)) return own;
  return scope.inside->home != nullptr ? scope.inside->home->find(name) : nullptr;
}

std::optional<ExprScope> enter_expression(const NamedParts::FoundExpr& found, const ExprAst& ast,
                                          const ExprScope& caller, Diagnostics& diags) {
  for (const ExprFrame* frame = caller.inside.get(); frame != nullptr; frame = frame->caller.inside.get()) {
    if (frame->definition != found.ast) continue;
    return diags.error(Code::BadDef, ast.span, "`{}` would contain itself", found.ast->name.text)
        .note(found.ast->name.span, "it is declared here");
  }
  auto frame = std::make_shared<ExprFrame>();
  frame->definition = found.ast;
  if (!bind_arguments(found.ast->params, ast.args, found.ast->name.text, ast.span, caller, frame.get(), diags))
    return std::nullopt;
  ExprScope inner = caller;
  inner.named = found.table;
  if (found.table->is_local()) {
    frame->home = home_of(caller);
  } else {
    inner.captures = nullptr;
    inner.variable.clear();
    inner.member.clear();
  }
  inner.inside = std::move(frame);
  return inner;
}

std::optional<ExprScope> enter_kernel(const syntax::KernelDefAst& kernel, const syntax::KernelAst& use,
                                      const ExprScope& caller, ExprScope inner, Diagnostics& diags) {
  auto frame = std::make_shared<ExprFrame>();
  frame->definition = &kernel;
  frame->is_kernel = true;
  if (!bind_arguments(kernel.params, use.args, kernel.body.name.text, use.span, caller, frame.get(), diags))
    return std::nullopt;
  inner.captures = nullptr;
  inner.inside = std::move(frame);
  return inner;
}

ExprScope enter_semantics(const NamedParts::FoundSemantics& found, const std::vector<LoweredArgument>& args,
                          const ExprScope& caller) {
  auto frame = std::make_shared<ExprFrame>();
  frame->definition = found.ast;
  frame->caller = caller;
  for (const LoweredArgument& arg : args) {
    ExprFrame::Argument& made = frame->args.emplace_back();
    made.name = arg.name;
    made.ast = arg.ast;
    made.checked = arg.checked;
    measure(arg.checked, 1, &made);
  }
  ExprScope inner = caller;
  inner.named = found.table;
  inner.captures = nullptr;
  inner.knobs = nullptr;
  inner.variable.clear();
  inner.member.clear();
  inner.inside = std::move(frame);
  return inner;
}

std::optional<ir::Expr> expand_expression(const NamedParts::FoundExpr& found, const ExprAst& ast,
                                          const ExprScope& caller, bool elementwise, Diagnostics& diags) {
  std::optional<ExprScope> scope = enter_expression(found, ast, caller, diags);
  if (!scope) return std::nullopt;
  Diagnostics::NoteOnErrors note(diags, ast.span, fmt::format("in `{}`, used here", found.ast->name.text));
  if (elementwise) return check_elementwise(found.ast->value, *scope, diags);
  if (!found.ast->is_condition) return check_expr(found.ast->value, *scope, diags);
  return check_expr_of(found.ast->value, *scope, ir::ExprType::Bool, ir::Unit::None, "a condition", diags);
}

}  // namespace collage::sema
