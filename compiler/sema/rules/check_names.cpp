// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/expr_checker.h"

namespace collage::sema {

using ir::Expr;
using ir::ExprType;
using ir::Unit;
using support::Code;
using syntax::ExprAst;
using Checked = std::optional<Expr>;

Checked ExprChecker::argument(const ExprFrame::Argument& argument, const ExprAst& ast) {
  if (!argument.checked) {
    return diags_.error(Code::ExpressionType, ast.span, "`{}` stands for an operator here", ast.text);
  }
  const ExprScope& caller =
      scope_.inside->find(ast.text) == &argument ? scope_.inside->caller : scope_.inside->home->caller;
  if (!elementwise_) {
    if (!has_room(argument.parts, argument.depth, ast.span)) return std::nullopt;
    return argument.checked;
  }
  ExprScope own = caller;
  own.budget = scope_.budget;
  return ExprChecker(own, diags_, true).check(*argument.ast);
}

Checked ExprChecker::named(const NamedParts::FoundExpr& found, const ExprAst& ast) {
  bool is_call = ast.kind == ExprAst::Kind::Call;
  if (is_call != found.ast->has_params) {
    return diags_
        .error(Code::BadDef, ast.span, "`{}` {}", ast.text,
               is_call ? "takes no arguments" : "takes arguments, and stands without them here")
        .note(found.ast->name.span, "it is declared here");
  }
  return expand_expression(found, ast, scope_, elementwise_, diags_);
}

Checked ExprChecker::name(const ExprAst& ast) {
  if (const ExprFrame::Argument* given = find_argument(scope_, ast.text)) return argument(*given, ast);
  if (scope_.captures != nullptr) {
    for (size_t i = 0; i < scope_.captures->size(); ++i) {
      const ir::Capture& capture = (*scope_.captures)[i];
      if (capture.name != ast.text) continue;
      if (capture.type == ExprType::Values && !scope_.allows_operands) {
        return diags_
            .error(Code::ExpressionType, ast.span, "`{}` stands for several operands, which only a `lower` takes",
                   ast.text)
            .note(capture.span, "it is named here");
      }
      Expr expr = leaf(ast, Expr::Kind::Capture, capture.type);
      expr.capture = static_cast<int>(i);
      if (scope_.used_captures != nullptr) scope_.used_captures->insert(expr.capture);
      return expr;
    }
  }
  std::string word = !scope_.variable.empty() && ast.text == scope_.variable ? scope_.member : ast.text;
  const auto dtype = runtime::parse_dtype(word);
  const auto of_dtype = [&] {
    Expr expr = leaf(ast, Expr::Kind::DType, ExprType::DType);
    expr.dtype = *dtype;
    return expr;
  };
  if (word != ast.text || ast.text == scope_.variable) {
    if (dtype) return of_dtype();
    Expr expr = leaf(ast, Expr::Kind::String, ExprType::String);
    expr.text = word;
    return expr;
  }
  if (word == "true" || word == "false") {
    Expr expr = leaf(ast, Expr::Kind::Bool, ExprType::Bool);
    expr.number = word == "true" ? 1 : 0;
    return expr;
  }
  if (scope_.knobs != nullptr) {
    for (const ir::Knob& knob : *scope_.knobs) {
      if (knob.name != word) continue;
      Expr expr = leaf(ast, Expr::Kind::Knob, knob.type);
      expr.unit = knob.unit;
      if (scope_.used_knobs != nullptr) scope_.used_knobs->insert(word);
      return expr;
    }
  }
  if (scope_.named != nullptr) {
    if (auto found = scope_.named->find_expr(word); found.ast != nullptr) return named(found, ast);
  }
  if (const ir::AttrDecl* attr = scope_.backend != nullptr ? scope_.backend->find_attr(word) : nullptr) {
    Expr expr = leaf(ast, Expr::Kind::BackendAttr, attr->type);
    expr.unit = attr->unit;
    if (scope_.used_attrs != nullptr) scope_.used_attrs->insert(word);
    return expr;
  }
  // What the file declares has the first say: an attribute `bf16` is older than the dtype.
  if (dtype) return of_dtype();
  if (const ir::NamedMemory* memory = scope_.backend != nullptr ? scope_.backend->find_memory(word) : nullptr)
    return size_of(*memory, ast);
  if (const ir::QuantityDef* quantity = ir::find_quantity(word); quantity != nullptr) {
    if (is_allowed(*quantity)) {
      if (quantity->scope == ir::QuantityDef::Scope::WithScratch) note_scratch();
      return quantity_of(*quantity, ast);
    }
    if (quantity->scope == ir::QuantityDef::Scope::WithScratch) return lacks_scratch(ast.span, word);
  }
  if (word == "backend_version") return leaf(ast, Expr::Kind::BackendVersion, ExprType::Number);
  if (word == "library_version") return leaf(ast, Expr::Kind::LibraryVersion, ExprType::String);
  auto error = diags_.error(Code::UnknownName, ast.span, "unknown name `{}`", word);
  if (ir::find_function(word) != nullptr) {
    error.note("`{}` is a function: `{}(…)`", word, word);
  } else {
    error.did_you_mean(support::closest(word, names()));
  }
  return std::nullopt;
}

Expr ExprChecker::size_of(const ir::NamedMemory& memory, const ExprAst& ast) {
  if (scope_.used_attrs != nullptr) scope_.used_attrs->insert(kMemoryUse + memory.name);
  Expr expr = without_text(ast, Expr::Kind::Number, ExprType::Number);
  expr.number = memory.bytes;
  expr.unit = Unit::Bytes;
  return expr;
}

bool ExprChecker::is_allowed(const ir::QuantityDef& quantity) const {
  switch (quantity.scope) {
    case ir::QuantityDef::Scope::Everywhere: return true;
    case ir::QuantityDef::Scope::InPolicy: return scope_.allows_launch;
    case ir::QuantityDef::Scope::AsSum: return false;
    case ir::QuantityDef::Scope::WithScratch: return has_scratch();
  }
  return false;
}

bool ExprChecker::has_scratch() const {
  return scope_.backend != nullptr && scope_.backend->scratch_bytes();
}

void ExprChecker::note_scratch() const {
  if (scope_.used_attrs != nullptr) scope_.used_attrs->insert(kScratchUse);
}

Checked ExprChecker::lacks_scratch(support::Span span, std::string_view word) {
  return diags_.error(Code::UnknownName, span, "`{}` needs a scratch, and no device of this backend has one", word)
      .note("`scratch 512 KiB` in the device");
}

Expr ExprChecker::quantity_of(const ir::QuantityDef& quantity, const ExprAst& ast) {
  Expr expr = leaf(ast, Expr::Kind::Quantity, ExprType::Number);
  expr.text = quantity.name;
  expr.quantity = quantity.id;
  expr.unit = quantity.unit;
  return expr;
}

std::vector<std::string> ExprChecker::names() const {
  std::vector<std::string> all = {"backend_version", "library_version"};
  for (const ir::QuantityDef& quantity : ir::all_quantities()) {
    if (is_allowed(quantity)) all.emplace_back(quantity.name);
  }
  if (scope_.knobs != nullptr) {
    for (const ir::Knob& knob : *scope_.knobs) all.push_back(knob.name);
  }
  if (scope_.captures != nullptr) {
    for (const ir::Capture& capture : *scope_.captures) all.push_back(capture.name);
  }
  if (scope_.backend != nullptr) {
    for (const ir::AttrDecl& attr : scope_.backend->attrs) all.push_back(attr.name);
    if (!scope_.backend->devices.empty()) {
      for (const ir::NamedMemory& memory : scope_.backend->devices.front().memories) all.push_back(memory.name);
    }
  }
  if (!scope_.variable.empty()) all.push_back(scope_.variable);
  if (scope_.inside != nullptr) {
    for (const ExprFrame::Argument& argument : scope_.inside->args) all.push_back(argument.name);
  }
  if (scope_.named != nullptr) {
    for (std::string& name : scope_.named->expr_names()) all.push_back(std::move(name));
  }
  return all;
}

Checked ExprChecker::member(const ExprAst& ast) {
  Checked object = check(ast.args[0]);
  if (!object) return std::nullopt;
  if (object->kind != Expr::Kind::Capture || object->type != ExprType::Node) {
    return diags_
        .error(Code::ExpressionType, ast.args[0].span, "only a node has attributes, this is {}",
               with_article(describe(*object)))
        .note("name the node in the pattern: `c = Conv(…)`");
  }
  std::optional<ExprType> type;
  for (const ir::OpDef* op : (*scope_.capture_ops)[static_cast<size_t>(object->capture)]) {
    const ir::AttrDef* attr = op->find_attr(ast.text);
    if (attr == nullptr) {
      std::vector<std::string> known;
      for (const ir::AttrDef& def : op->attrs) known.emplace_back(def.name);
      return diags_.error(Code::UnknownName, ast.text_span, "`{}` has no attribute `{}`", op->name, ast.text)
          .did_you_mean(support::closest(ast.text, known));
    }
    std::optional<ExprType> this_type = type_of(attr->kind);
    if (!this_type) {
      return diags_.error(Code::ExpressionType, ast.text_span,
                          "attribute `{}` of `{}` is no number, string or list of numbers", ast.text, op->name);
    }
    if (type && *type != *this_type) {
      return diags_.error(Code::ExpressionType, ast.text_span,
                          "attribute `{}` differs in type among the operators of this node", ast.text);
    }
    type = this_type;
  }
  if (!type) return std::nullopt;
  Expr expr = leaf(ast, Expr::Kind::Attribute, *type);
  expr.args.push_back(std::move(*object));
  return expr;
}

std::optional<ExprType> ExprChecker::type_of(ir::AttrKind kind) {
  switch (kind) {
    case ir::AttrKind::Int:
    case ir::AttrKind::Float: return ExprType::Number;
    case ir::AttrKind::String: return ExprType::String;
    case ir::AttrKind::Ints:
    case ir::AttrKind::Floats: return ExprType::Numbers;
    case ir::AttrKind::Strings:
    case ir::AttrKind::Tensor: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace collage::sema
