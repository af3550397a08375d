// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/named_parts.h"

#include "compiler/ir/rules/functions.h"
#include "runtime/core/dtype.h"

namespace collage::sema {
namespace {

using support::Code;
using support::Diagnostics;
using syntax::ExprAst;
using syntax::Word;

void collect_names(const ExprAst& ast, std::set<std::string>* names) {
  if (ast.kind == ExprAst::Kind::Name || ast.kind == ExprAst::Kind::Call) names->insert(ast.text);
  for (const ExprAst& arg : ast.args) collect_names(arg, names);
}

bool check_params(const std::vector<Word>& params, Diagnostics& diags) {
  bool ok = true;
  std::map<std::string, support::Span> seen;
  for (const Word& param : params) {
    auto [first, is_new] = seen.emplace(param.text, param.span);
    if (is_new) continue;
    ok = diags.error(Code::DuplicateName, param.span, "`{}` is declared twice", param.text)
             .note(first->second, "the first is here");
  }
  return ok;
}

void warn_unused_params(const syntax::NamedExprAst& ast, Diagnostics& diags) {
  std::set<std::string> names;
  collect_names(ast.value, &names);
  if (ast.reason) {
    for (const ExprAst& hole : ast.reason->holes) collect_names(hole, &names);
  }
  for (const Word& param : ast.params) {
    if (names.count(param.text) == 0) diags.warning(Code::UnusedName, param.span, "`{}` is never used", param.text);
  }
}

}  // namespace

std::string_view meaning_of_name(std::string_view name) {
  if (ir::find_function(name) != nullptr) return "a function";
  if (ir::find_quantity(name) != nullptr) return "a quantity";
  if (runtime::parse_dtype(name)) return "a dtype";
  if (name == "true" || name == "false") return "a truth value";
  return "";
}

bool NamedParts::add(const std::vector<syntax::NamedExprAst>& expressions, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::NamedExprAst& ast : expressions) {
    const std::string& name = ast.name.text;
    if (std::string_view meaning = meaning_of_name(name); !meaning.empty()) {
      ok = diags.error(Code::DuplicateName, ast.name.span, "`{}` is {}", name, meaning);
    } else if (FoundExpr first = find_expr(name); first.ast != nullptr) {
      ok = diags.error(Code::DuplicateName, ast.name.span, "`{}` is declared twice", name)
               .note(first.ast->name.span, "the first is here");
    } else if (check_params(ast.params, diags)) {
      warn_unused_params(ast, diags);
      expressions_.emplace(name, ast);
      used_.erase(name);
    } else {
      ok = false;
    }
  }
  return ok;
}

bool NamedParts::add(const std::vector<syntax::KernelDefAst>& kernels, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::KernelDefAst& ast : kernels) {
    const Word& name = ast.body.name;
    if (const syntax::KernelDefAst* first = find_kernel(name.text)) {
      ok = diags.error(Code::DuplicateName, name.span, "kernel `{}` is declared twice", name.text)
               .note(first->body.name.span, "the first is here");
    } else if (check_params(ast.params, diags)) {
      kernels_.emplace(name.text, ast);
      used_.erase("kernel " + name.text);
    } else {
      ok = false;
    }
  }
  return ok;
}

bool NamedParts::add(const std::vector<syntax::SemanticsAst>& semantics, Diagnostics& diags) {
  bool ok = true;
  for (const syntax::SemanticsAst& ast : semantics) {
    const std::string& symbol = ast.symbol.text;
    std::vector<Word> params;
    for (const syntax::SemanticsAst::Param& param : ast.params) params.push_back(param.name);
    if (FoundSemantics first = find_semantics(symbol); first.ast != nullptr) {
      ok = diags.error(Code::DuplicateName, ast.symbol.span, "the semantics of `{}` are declared twice", symbol)
               .note(first.ast->symbol.span, "the first is here");
    } else if (check_params(params, diags)) {
      semantics_.emplace(symbol, ast);
      used_.erase("semantics " + symbol);
    } else {
      ok = false;
    }
  }
  return ok;
}

bool NamedParts::add(const syntax::DefinitionsAst& definitions, Diagnostics& diags) {
  bool ok = add(definitions.expressions, diags);
  ok = add(definitions.kernels, diags) && ok;
  return add(definitions.semantics, diags) && ok;
}

NamedParts::FoundSemantics NamedParts::find_semantics(std::string_view symbol) const {
  if (auto at = semantics_.find(symbol); at != semantics_.end()) {
    used_.insert("semantics " + std::string(symbol));
    return {&at->second, this};
  }
  return outer_ != nullptr ? outer_->find_semantics(symbol) : FoundSemantics{};
}

NamedParts::FoundExpr NamedParts::find_expr(std::string_view name) const {
  if (auto at = expressions_.find(name); at != expressions_.end()) {
    used_.emplace(name);
    return {&at->second, this};
  }
  return outer_ != nullptr ? outer_->find_expr(name) : FoundExpr{};
}

const syntax::KernelDefAst* NamedParts::find_kernel(std::string_view name) const {
  if (auto at = kernels_.find(name); at != kernels_.end()) {
    used_.insert("kernel " + std::string(name));
    return &at->second;
  }
  return outer_ != nullptr ? outer_->find_kernel(name) : nullptr;
}

std::vector<std::string> NamedParts::expr_names() const {
  std::vector<std::string> names = outer_ != nullptr ? outer_->expr_names() : std::vector<std::string>();
  for (const auto& [name, ast] : expressions_) names.push_back(name);
  return names;
}

std::vector<std::string> NamedParts::kernel_names() const {
  std::vector<std::string> names = outer_ != nullptr ? outer_->kernel_names() : std::vector<std::string>();
  for (const auto& [name, ast] : kernels_) names.push_back(name);
  return names;
}

void NamedParts::warn_unused(Diagnostics& diags) const {
  for (const auto& [name, ast] : expressions_) {
    if (used_.count(name) == 0) diags.warning(Code::UnusedName, ast.name.span, "`{}` is never used", name);
  }
  for (const auto& [name, ast] : kernels_) {
    if (used_.count("kernel " + name) == 0)
      diags.warning(Code::UnusedName, ast.body.name.span, "kernel `{}` is never used", name);
  }
  for (const auto& [symbol, ast] : semantics_) {
    if (used_.count("semantics " + symbol) == 0)
      diags.warning(Code::UnusedName, ast.symbol.span, "no `lower` asks for `{}`", symbol);
  }
}

}  // namespace collage::sema
