// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_semantics.h"

#include <algorithm>

#include "compiler/sema/rules/build_template.h"

namespace collage::sema {
namespace {

using ir::ExprType;
using ir::TemplateOperand;
using support::Code;
using syntax::SemanticsAst;
using syntax::Word;

class MeaningBuilder {
 public:
  MeaningBuilder(const SemanticsAst& declared, const syntax::LowerAst& use, const std::vector<LoweredArgument>& args,
                 support::Diagnostics& diags)
      : declared_(declared), use_(use), args_(args), diags_(diags) {}

  std::optional<ir::Template> run(const ExprScope& inner) {
    if (!check_arguments()) return std::nullopt;
    TemplateScope scope;
    scope.operand = [this](const Word& word) { return operand(word); };
    scope.operator_name = [this](const Word& word, std::optional<ir::Expr>* text) { return operator_name(word, text); };
    scope.is_void = [this](const syntax::ExprAst& ast) { return mentions_missing(ast); };
    scope.expressions = inner;
    scope.what = "kernel";
    scope.code = Code::BadSemantics;
    support::Diagnostics::NoteOnErrors note(
        diags_, use_.span, fmt::format("in the semantics of `{}`, asked for here", declared_.symbol.text));
    std::optional<ir::Template> built = build_template(declared_.meaning, scope, diags_);
    if (built) built->leaves_out_absent_attrs = true;
    return built;
  }

 private:
  const LoweredArgument* find(std::string_view name) const {
    auto at = std::find_if(args_.begin(), args_.end(), [&](const LoweredArgument& arg) { return arg.name == name; });
    return at == args_.end() ? nullptr : &*at;
  }

  bool is_param(std::string_view name) const {
    return std::any_of(declared_.params.begin(), declared_.params.end(),
                       [&](const SemanticsAst::Param& param) { return param.name.text == name; });
  }

  bool check_arguments() {
    bool ok = true;
    for (const SemanticsAst::Param& param : declared_.params) {
      if (param.may_be_absent || find(param.name.text) != nullptr) continue;
      ok = diags_
               .error(Code::BadSemantics, use_.span, "`{}` is not given its `{}`", declared_.symbol.text,
                      param.name.text)
               .note(param.name.span, "its semantics need it; `{}?` may be missing", param.name.text);
    }
    for (const LoweredArgument& arg : args_) {
      if (is_param(arg.name)) continue;
      std::vector<std::string> known;
      for (const SemanticsAst::Param& param : declared_.params) known.push_back(param.name.text);
      ok = diags_
               .error(Code::BadSemantics, arg.ast->span, "`{}` takes no argument `{}`", declared_.symbol.text, arg.name)
               .did_you_mean(support::closest(arg.name, known), arg.name)
               .note(declared_.symbol.span, "its semantics are here");
    }
    return ok;
  }

  std::optional<TemplateOperand> operand(const Word& word) {
    const LoweredArgument* given = find(word.text);
    if (given == nullptr && is_param(word.text)) return TemplateOperand{};
    if (given == nullptr) {
      return diags_.error(Code::UnknownName, word.span, "`{}` is no parameter of `{}`", word.text,
                          declared_.symbol.text);
    }
    if (given->checked.kind == ir::Expr::Kind::Capture) {
      const bool is_rest = given->checked.type == ExprType::Values;
      return TemplateOperand{is_rest ? TemplateOperand::Kind::Rest : TemplateOperand::Kind::Capture,
                             given->checked.capture};
    }
    return diags_
        .error(Code::BadSemantics, given->ast->span, "`{}` of `{}` is an operand: this is no value of the pattern",
               word.text, declared_.symbol.text)
        .note(word.span, "it is read here");
  }

  bool operator_name(const Word& word, std::optional<ir::Expr>* text) {
    const LoweredArgument* given = find(word.text);
    if (given == nullptr) return true;
    *text = given->checked;
    if (given->checked.type == ExprType::String) return true;
    return diags_
        .error(Code::BadSemantics, given->ast->span, "`{}` of `{}` names an operator: this is no string", word.text,
               declared_.symbol.text)
        .note(word.span, "it is used here");
  }

  /// Does it speak of a parameter that this `lower` gives nothing for?
  bool mentions_missing(const syntax::ExprAst& ast) const {
    std::vector<Word> names;
    collect_names(ast, &names);
    return std::any_of(names.begin(), names.end(),
                       [&](const Word& name) { return is_param(name.text) && find(name.text) == nullptr; });
  }

  const SemanticsAst& declared_;
  const syntax::LowerAst& use_;
  const std::vector<LoweredArgument>& args_;
  support::Diagnostics& diags_;
};

}  // namespace

std::optional<ir::Template> build_meaning(const NamedParts::FoundSemantics& found, const syntax::LowerAst& use,
                                          const std::vector<LoweredArgument>& args, const ExprScope& caller,
                                          support::Diagnostics& diags) {
  return MeaningBuilder(*found.ast, use, args, diags).run(enter_semantics(found, args, caller));
}

}  // namespace collage::sema
