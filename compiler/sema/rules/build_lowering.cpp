// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_lowering.h"

#include "compiler/sema/rules/build_semantics.h"
#include "runtime/core/joined.h"
#include "runtime/encodings/encodings.h"

namespace collage::sema {
namespace {

using ir::LoweringKind;
using ir::RuntimeKind;
using support::Code;
using syntax::ExprAst;
using syntax::Word;

/// The kinds that rules of the runtime may write: "`host_jit`, `inline`, `c`".
std::string kinds_of(RuntimeKind runtime) {
  std::string text;
  for (std::string_view word : ir::lowering_words()) {
    if (ir::runs(runtime, *ir::find_lowering(word))) text += (text.empty() ? "`" : ", `") + std::string(word) + "`";
  }
  return text;
}

class LoweringBuilder {
 public:
  LoweringBuilder(const ExprScope& scope, support::Diagnostics& diags) : scope_(scope), diags_(diags) {}

  std::optional<ir::Lowering> run(const syntax::LowerAst& ast) {
    lowering_.symbol = ast.symbol.text;
    lowering_.span = ast.span;
    if (ast.symbol.text.empty()) return diags_.error(Code::BadLowering, ast.symbol.span, "a lowering needs a name");
    bool ok = kind(ast);
    for (const syntax::LowerArgAst& arg : ast.args) ok = argument(arg) && ok;
    if (!ok) return std::nullopt;
    if (scope_.named != nullptr) {
      const NamedParts::FoundSemantics found = scope_.named->find_semantics(lowering_.symbol);
      if (found.ast != nullptr) {
        lowering_.meaning = build_meaning(found, ast, given_, scope_, diags_);
        if (!lowering_.meaning) return std::nullopt;
        for (const auto& param : found.ast->params) {
          lowering_.parameters.push_back({param.name.text, param.may_be_absent});
        }
      }
    }
    return std::move(lowering_);
  }

 private:
  bool kind(const syntax::LowerAst& ast) {
    RuntimeKind runtime = scope_.backend->runtime;
    lowering_.kind = ir::default_lowering(runtime);
    if (!ast.kind) return true;
    const std::string& word = ast.kind->text;
    std::optional<LoweringKind> found = ir::find_lowering(word);
    if (!found) {
      std::vector<std::string_view> words = ir::lowering_words();
      return diags_.error(Code::LoweringKind, ast.kind->span, "there is no kind of lowering `{}`", word)
          .did_you_mean(support::closest(word, {words.begin(), words.end()}));
    }
    lowering_.kind = *found;
    if (ir::runs(runtime, *found)) return true;
    return diags_
        .error(Code::LoweringKind, ast.kind->span, "backend `{}` cannot lower by `{}`", scope_.backend->name, word)
        .note("its runtime is `{}`: {}", ir::name_of(runtime), kinds_of(runtime));
  }

  bool argument(const syntax::LowerArgAst& ast) {
    bool is_encode = ast.value.kind == ExprAst::Kind::Call && ast.value.text == "encode";
    const ExprAst& named = is_encode && !ast.value.args.empty() ? ast.value.args[0] : ast.value;
    ir::LoweringArg built;
    std::optional<ir::Expr> checked = is_encode ? encoded(ast.value, &built) : plain(ast.value, &built);
    if (!checked) return false;
    if (!ast.name && named.kind != ExprAst::Kind::Name) {
      return diags_.error(Code::BadLowering, ast.value.span, "this argument needs a name")
          .note("write `name = {}`", diags_.sources().text(ast.value.span));
    }
    Word name = ast.name ? *ast.name : Word{named.text, ast.value.span};
    built.name = name.text;
    built.span = ast.value.span;
    for (const ir::LoweringArg& other : lowering_.args) {
      if (other.name != built.name) continue;
      return diags_.error(Code::BadLowering, name.span, "two arguments are called `{}`", built.name);
    }
    given_.push_back({built.name, &named, std::move(*checked)});
    lowering_.args.push_back(std::move(built));
    return true;
  }

  std::optional<ir::Expr> plain(const ExprAst& ast, ir::LoweringArg* built) {
    ExprScope scope = scope_;
    scope.allows_operands = ast.kind == ExprAst::Kind::Name;
    std::optional<ir::Expr> value = check_expr(ast, scope, diags_);
    if (!value) return std::nullopt;
    if (value->kind == ir::Expr::Kind::Capture) {
      built->capture = value->capture;
    } else {
      built->value = value;
    }
    return value;
  }

  /// `encode(w, "OHWI", "bf16")` => capture w, chain `OHWI+bf16`
  std::optional<ir::Expr> encoded(const ExprAst& ast, ir::LoweringArg* built) {
    if (!ir::is_device(lowering_.kind) && lowering_.kind != LoweringKind::Plugin) {
      return diags_.error(Code::BadEncoding, ast.text_span, "`{}` lowerings take constants as they are",
                          ir::name_of(lowering_.kind));
    }
    if (ast.args.size() < 2) {
      return diags_.error(Code::BadEncoding, ast.span, "`encode` wants a constant and encodings")
          .note("as in `encode(w, \"OHWI\")`");
    }
    std::optional<ir::Expr> constant = check_expr(ast.args[0], scope_, diags_);
    if (!constant) return std::nullopt;
    if (constant->kind != ir::Expr::Kind::Capture || constant->type != ir::ExprType::Value) {
      return diags_.error(Code::BadEncoding, ast.args[0].span, "`encode` wants a value that the pattern names");
    }
    built->capture = constant->capture;
    for (size_t i = 1; i < ast.args.size(); ++i) {
      const ExprAst& name = ast.args[i];
      if (name.kind != ExprAst::Kind::String || !runtime::is_known_encoding(name.text)) {
        auto error = name.kind == ExprAst::Kind::String
                         ? diags_.error(Code::BadEncoding, name.span, "there is no encoding `{}`", name.text)
                         : diags_.error(Code::BadEncoding, name.span, "an encoding is written as a string");
        error.did_you_mean(support::closest(name.text, runtime::encoding_names()));
        return std::nullopt;
      }
      runtime::add_to_list(built->encoding, name.text, "+");
    }
    return constant;
  }

  const ExprScope& scope_;
  support::Diagnostics& diags_;
  ir::Lowering lowering_;
  std::vector<LoweredArgument> given_;
};

}  // namespace

std::optional<ir::Lowering> build_lowering(const syntax::LowerAst& ast, const ExprScope& scope,
                                           support::Diagnostics& diags) {
  return LoweringBuilder(scope, diags).run(ast);
}

}  // namespace collage::sema
