// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_rule.h"

#include <algorithm>
#include <cmath>

#include "compiler/sema/model/build_format.h"
#include "compiler/sema/rules/build_backend.h"
#include "compiler/sema/rules/build_clauses.h"
#include "compiler/sema/rules/build_lowering.h"
#include "compiler/sema/rules/build_pattern.h"
#include "compiler/sema/rules/build_tests.h"
#include "compiler/sema/rules/check_expr.h"
#include "compiler/sema/rules/expand_named.h"

namespace collage::sema {
namespace {

using ir::ExprType;
using ir::Unit;
using support::Code;
using support::Diagnostics;
using syntax::RuleAst;
using syntax::Word;

constexpr size_t kMostVariants = 1024;

/// Rejects `packed "name"`, which is not supported: no backend exchanges such values with another.
bool check_packed(const std::vector<syntax::FormatItemAst>& items, support::Diagnostics& diags) {
  bool ok = true;
  for (const syntax::FormatItemAst& item : items) {
    if (!item.packed_for) continue;
    ok = diags.error(Code::NotYetSupported, item.packed_for->span, "a packed format does not work yet");
  }
  return ok;
}

class RuleBuilder {
 public:
  RuleBuilder(const RuleAst& ast, const RuleContext& context, Word member)
      : ast_(ast),
        context_(context),
        diags_(context.diags),
        member_(std::move(member)),
        named_(&context.named, /*is_local=*/true) {
    if (ast.variable) variable_ = ast.variable->text;
  }

  std::optional<ir::Rule> run() {
    auto occurrences = pattern();
    if (!occurrences) return std::nullopt;
    bool ok = add_lets(ast_.lets, &named_);
    ok = build_needs(ast_.needs, &rule_.needs, diags_) && ok;
    ok = build_knobs(ast_.knobs, rule_, &knobs_, diags_) && ok;
    ok = clauses() && ok;
    ok = inners() && ok;
    ok = formats(ast_.formats, scope(), &rule_.formats) && check_same_as(rule_.formats) && ok;
    ok = splits() && ok;
    ok = cost(ast_.costs, scope(&knobs_), &rule_) && ok;
    ok = energy() && ok;
    ok = precision() && ok;
    ok = lowering() && ok;
    ok = kernels() && ok;
    for (const syntax::TestAst& test : ast_.tests) {
      auto built = build_rule_test(test, rule_, diags_);
      ok = ok && built;
      if (built) rule_.tests.push_back(std::move(*built));
    }
    if (!ok) return std::nullopt;
    warn_unused(*occurrences);
    named_.warn_unused(diags_);
    return std::move(rule_);
  }

  /// Builds a `deny`, whose tree has only a pattern and a condition.
  std::optional<ir::Deny> run_deny(const syntax::MessageAst& reason) {
    auto occurrences = pattern();
    if (!occurrences) return std::nullopt;
    ir::Deny deny;
    bool ok = clauses();
    ok = build_message(reason, scope(), &deny.reason, diags_) && ok;
    rule_.kernels.emplace_back();
    deny.pattern = std::move(rule_);
    if (!ok) return std::nullopt;
    return deny;
  }

 private:
  /// Builds the pattern; returns how often each capture occurs in it.
  std::optional<std::vector<int>> pattern() {
    rule_.family = ast_.name.text;
    rule_.name = ast_.variable ? ast_.name.text + "." + member_.text : ast_.name.text;
    rule_.span = ast_.name.span;
    if (!once(ast_.matches, "match") || !once(ast_.costs, "cost") || !once(ast_.energies, "energy") ||
        !once(ast_.lowerings, "lower"))
      return std::nullopt;
    if (ast_.matches.empty()) {
      return diags_.error(Code::IncompleteRule, ast_.name.span, "rule `{}` has no `match`", ast_.name.text);
    }
    auto built = build_pattern(ast_.matches[0].patterns, {context_.defs, variable_, member_}, diags_);
    if (!built) return std::nullopt;
    rule_.root = std::move(built->root);
    rule_.others = std::move(built->others);
    rule_.captures = std::move(built->captures);
    capture_ops_ = std::move(built->capture_ops);
    return std::move(built->occurrences);
  }

  template <typename Statement>
  bool once(const std::vector<Statement>& statements, std::string_view keyword, std::string_view kernel = {}) {
    if (statements.size() < 2) return true;
    return diags_
        .error(Code::DuplicateName, statements[1].span, "{} `{}` has two `{}`", kernel.empty() ? "rule" : "kernel",
               kernel.empty() ? ast_.name.text : kernel, keyword)
        .note(statements[0].span, "the first is here");
  }

  ExprScope scope(const std::vector<ir::Knob>* knobs = nullptr) {
    ExprScope scope;
    scope.backend = &context_.backend;
    scope.captures = &rule_.captures;
    scope.capture_ops = &capture_ops_;
    scope.variable = variable_;
    scope.member = member_.text;
    scope.knobs = knobs;
    scope.defs = &context_.defs;
    scope.named = &named_;
    scope.tables = &context_.tables;
    scope.used_captures = &used_;
    scope.used_attrs = context_.used_attrs;
    scope.used_knobs = &used_knobs_;
    return scope;
  }

  /// Builds the clauses. Those with a knob belong to the kernels, since they hold only for some of its values.
  bool clauses() {
    bool ok = true;
    std::vector<ir::Clause> all;
    for (const syntax::WhereAst& ast : ast_.clauses) {
      ok = build_clause(ast.condition, ast.reason, scope(&knobs_), &all, diags_) && ok;
    }
    ok = build_workspaces(ast_.workspaces, scope(&knobs_), &all, diags_) && ok;
    for (ir::Clause& clause : all) {
      std::vector<ir::Clause>& target = ir::refers_to_knobs(clause.condition) ? knob_clauses_ : rule_.clauses;
      target.push_back(std::move(clause));
    }
    return ok;
  }

  bool inners() {
    bool ok = true;
    for (const syntax::InnerAst& ast : ast_.inners) {
      ir::Inner inner;
      inner.capture = find_capture(ast.name, Code::UnknownName);
      inner.span = ast.name.span;
      ok = ok && inner.capture >= 0;
      if (ast.uses) {
        double uses = ast.uses->value;
        if (uses != std::floor(uses) || uses < 1 || uses > 1000 || !ast.uses->unit.empty()) {
          ok = diags_.error(Code::BadLiteral, ast.uses->span, "`uses` must be an integer from 1 to 1000");
        } else {
          inner.uses = static_cast<int>(uses);
        }
      }
      rule_.inners.push_back(inner);
    }
    return ok;
  }

  /// Index of the capture, or -1 and an error.
  int find_capture(const Word& word, Code code) {
    int capture = rule_.find_capture(word.text);
    if (capture < 0) {
      std::vector<std::string> names;
      for (const ir::Capture& c : rule_.captures) names.push_back(c.name);
      diags_.error(code, word.span, "the pattern has no `{}`", word.text)
          .did_you_mean(support::closest(word.text, names));
      return -1;
    }
    if (rule_.captures[static_cast<size_t>(capture)].type == ExprType::Values) {
      diags_.error(code, word.span, "`{}` stands for several operands, which only a `lower` takes", word.text)
          .note("`format _: …` is about operands that no other clause names");
      return -1;
    }
    used_.insert(capture);
    return capture;
  }

  /// Adds `let`s, which see the names of the pattern and may not repeat them.
  bool add_lets(const std::vector<syntax::NamedExprAst>& lets, NamedParts* named) {
    bool ok = true;
    for (const syntax::NamedExprAst& let : lets) {
      int capture = rule_.find_capture(let.name.text);
      if (capture < 0) continue;
      ok = diags_.error(Code::DuplicateName, let.name.span, "`{}` is declared twice", let.name.text)
               .note(rule_.captures[static_cast<size_t>(capture)].span, "the first is here");
    }
    return named->add(lets, diags_) && ok;
  }

  /// The capture that a word means: in the body of a `def kernel` its argument.
  Word resolve(const Word& word, const ExprScope& scope) {
    const ExprFrame::Argument* given = find_argument(scope, word.text);
    if (given == nullptr) return word;
    return {given->ast->kind == syntax::ExprAst::Kind::Name ? given->ast->text : word.text, word.span};
  }

  bool formats(const std::vector<syntax::FormatItemAst>& items, const ExprScope& scope,
               std::vector<ir::FormatClause>* built) {
    bool ok = true;
    for (const syntax::FormatItemAst& item : items) {
      ir::FormatClause format;
      format.span = item.value.span.to(item.same_as ? item.same_as->span : item.format.back().span);
      const bool is_of_others = item.value.text == "_";
      if (!is_of_others) format.capture = find_capture(resolve(item.value, scope), Code::BadFormat);
      ok = ok && (is_of_others || format.capture >= 0);
      if (item.same_as) {
        format.same_as = find_capture(resolve(*item.same_as, scope), Code::BadFormat);
        ok = ok && format.same_as >= 0;
      } else {
        auto layout = build_memory_layout(item.format, /*takes_any=*/!is_of_others, diags_);
        ok = ok && layout;
        if (layout) {
          format.any = layout->any;
          format.layout = layout->layout;
          format.storage = layout->storage;
        }
      }
      for (const ir::FormatClause& other : *built) {
        if (other.capture != format.capture || (format.capture < 0 && !is_of_others)) continue;
        ok = diags_.error(Code::DuplicateName, item.value.span, "`{}` has two formats", item.value.text)
                 .note(other.span, "the first is here");
      }
      built->push_back(std::move(format));
    }
    return ok;
  }

  /// Rejects `x: as y, y: as x`.
  bool check_same_as(const std::vector<ir::FormatClause>& formats) {
    for (const ir::FormatClause& start : formats) {
      const ir::FormatClause* at = &start;
      for (size_t steps = 0; at != nullptr && at->same_as >= 0; ++steps) {
        if (steps > formats.size()) {
          return diags_.error(Code::BadFormat, start.span, "this format refers to itself");
        }
        auto next = std::find_if(formats.begin(), formats.end(),
                                 [&](const ir::FormatClause& f) { return f.capture == at->same_as; });
        if (next == formats.end() && start.capture < 0) {
          return diags_.error(Code::BadFormat, start.span, "`{}` has no format that others could follow",
                              rule_.captures[static_cast<size_t>(at->same_as)].name);
        }
        at = next == formats.end() ? nullptr : &*next;
      }
    }
    return true;
  }

  bool splits() {
    bool ok = true;
    for (const syntax::SplitAst& ast : ast_.splits) {
      ir::SplitClause split;
      split.capture = find_capture(ast.name, Code::UnknownName);
      split.device = ast.device.text;
      split.device_span = ast.device.span;
      bool is_right = split.capture >= 0 && is_node(split.capture, ast.name);
      ok = check_split_device(ast.device) && is_right && ok;
      for (const Word& word : ast.axes) {
        split.span = word.span;
        std::optional<ir::SplitAxis> axis = ir::find_split_axis(word.text);
        if (!axis) {
          ok = diags_.error(Code::SplitAxis, word.span, "unknown axis `{}`", word.text)
                   .did_you_mean(support::closest(word.text, ir::split_axis_names()))
                   .note("the axes are {}", fmt::join(ir::split_axis_names(), ", "));
          continue;
        }
        split.axis = *axis;
        ok = (!is_right || check_split(split, word)) && ok;
        rule_.splits.push_back(split);
      }
    }
    return ok;
  }

  bool is_node(int capture, const Word& word) {
    if (rule_.captures[static_cast<size_t>(capture)].type == ExprType::Node) return true;
    return diags_.error(Code::BadSplit, word.span, "`{}` is a value: only an operator can be split", word.text)
        .note(rule_.captures[static_cast<size_t>(capture)].span, "it stands for an operand here");
  }

  bool check_split_device(const Word& word) {
    const std::vector<ir::DeviceDecl>& devices = context_.backend.devices;
    if (devices.empty() && word.text == "host") return true;  // over the hosts of a cluster, if there is one
    auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d.name == word.text; });
    if (device == devices.end()) {
      std::vector<std::string> names;
      for (const ir::DeviceDecl& known : devices) names.push_back(known.name);
      return diags_
          .error(Code::SplitDevices, word.span, "backend `{}` has no device `{}`", context_.backend.name, word.text)
          .did_you_mean(support::closest(word.text, names));
    }
    return true;  // how many there are may be for a cluster to say: check_rule_set
  }

  bool check_split(const ir::SplitClause& split, const Word& word) {
    for (const ir::OpDef* op : capture_ops_[static_cast<size_t>(split.capture)]) {
      if (ir::can_split(*op, split.axis)) continue;
      return diags_.error(Code::SplitAxis, word.span, "`{}` cannot be cut along {}", op->name, word.text);
    }
    for (const ir::SplitClause& other : rule_.splits) {
      if (other.axis != split.axis || other.capture != split.capture || other.device != split.device) continue;
      return diags_.error(Code::BadSplit, word.span, "the rule is split along {} twice", word.text)
          .note(other.span, "the first is here");
    }
    return true;
  }

  /// `priced`: the rule, or a kernel of it.
  template <typename Priced>
  bool cost(const std::vector<syntax::CostAst>& asts, const ExprScope& scope, Priced* priced) {
    if (asts.empty()) return true;
    std::optional<CheckedCost> cost = check_cost(asts[0], scope, diags_);
    if (!cost) return false;
    priced->measured = cost->measured;
    priced->cost_program = std::move(cost->program);
    priced->cost = std::move(cost->formula);
    return true;
  }

  bool energy() {
    if (ast_.energies.empty()) return true;
    rule_.energy = check_expr_of(ast_.energies[0], scope(&knobs_), ir::ExprType::Number, ir::Unit::Energy,
                                 "the energy of a match", diags_);
    return rule_.energy.has_value();
  }

  /// Its own, or that of the backend's devices.
  bool precision() {
    const ir::Backend& backend = context_.backend;
    if (!ast_.precisions.empty() && !ir::is_device(backend.runtime)) {
      return diags_
          .error(Code::BadDevice, ast_.precisions[0].span, "`runtime {}` computes in the dtypes of the model",
                 name_of(backend.runtime))
          .note("`precision` is about kernels of a device");
    }
    if (!backend.devices.empty()) rule_.precision = backend.devices.front().precision;
    return build_precision(ast_.precisions, &rule_.precision, diags_);
  }

  bool lowering() {
    rule_.lowering.kind = ir::default_lowering(context_.backend.runtime);
    rule_.lowering.symbol = ast_.name.text;
    return ast_.lowerings.empty() || lowering(ast_.lowerings[0], scope(&knobs_), &rule_.lowering);
  }

  bool lowering(const syntax::LowerAst& ast, const ExprScope& scope, ir::Lowering* built) {
    auto lowering = build_lowering(ast, scope, diags_);
    if (!lowering) return false;
    *built = std::move(*lowering);
    if (!built->meaning || (rule_.others.empty() && rule_.root.results.empty())) return true;
    return diags_
        .error(Code::BadSemantics, built->span, "`{}` computes one result, this rule has several", built->symbol)
        .note(built->meaning->span, "its semantics are here");
  }

  /// Builds the kernels. A rule without `kernel` has one without a name.
  bool kernels() {
    bool ok = true;
    if (ast_.kernels.empty()) {
      ir::Kernel kernel;
      kernel.span = rule_.span;
      kernel.clauses = knob_clauses_;
      kernel.knobs = knobs_;
      kernel.cost = rule_.cost;
      kernel.measured = rule_.measured;
      kernel.cost_program = rule_.cost_program;
      kernel.lowering = rule_.lowering;
      kernel.formats = rule_.formats;
      rule_.kernels.push_back(std::move(kernel));
    }
    for (const syntax::KernelAst& ast : ast_.kernels) {
      for (const ir::Kernel& other : rule_.kernels) {
        if (other.name != ast.name.text) continue;
        ok = diags_.error(Code::DuplicateName, ast.name.span, "kernel `{}` is declared twice", ast.name.text)
                 .note(other.span, "the first is here");
      }
      ok = (ast.definition ? kernel_of_definition(ast) : kernel(ast, ast.name, std::nullopt)) && ok;
    }
    for (const ir::Kernel& kernel : rule_.kernels) ok = check_variants(kernel) && ok;
    return ok;
  }

  /// `kernel NAME(args)`: what `def kernel` says, with the arguments.
  bool kernel_of_definition(const syntax::KernelAst& use) {
    const syntax::KernelDefAst* definition = named_.find_kernel(use.definition->text);
    if (definition == nullptr) {
      return diags_.error(Code::UnknownName, use.definition->span, "there is no `def kernel {}`", use.definition->text)
          .did_you_mean(support::closest(use.definition->text, named_.kernel_names()))
          .note("a kernel of this rule alone has a body: `kernel {} {{ … }}`", use.name.text);
    }
    std::optional<ExprScope> inner = enter_kernel(*definition, use, scope(&knobs_), scope(), diags_);
    if (!inner) return false;
    Diagnostics::NoteOnErrors note(diags_, use.span, fmt::format("in kernel `{}`, used here", use.definition->text));
    return kernel(definition->body, use.name, *inner);
  }

  /// `base`: the scope of its body; nullopt: that of the rule.
  bool kernel(const syntax::KernelAst& ast, const Word& name, std::optional<ExprScope> base) {
    ir::Kernel kernel;
    kernel.name = name.text;
    kernel.span = name.span;
    NamedParts named(base ? &context_.named : &named_, /*is_local=*/true);
    ExprScope own = base ? std::move(*base) : scope();
    own.named = &named;
    own.knobs = &kernel.knobs;
    kernel.knobs = knobs_;
    kernel.clauses = knob_clauses_;
    kernel.cost = rule_.cost;
    kernel.measured = rule_.measured;
    kernel.cost_program = rule_.cost_program;
    kernel.lowering = rule_.lowering;
    bool ok = once(ast.costs, "cost", kernel.name) && once(ast.lowerings, "lower", kernel.name);
    ok = add_lets(ast.lets, &named) && ok;
    ok = build_needs(ast.needs, &kernel.needs, diags_) && ok;
    ok = build_knobs(ast.knobs, rule_, &kernel.knobs, diags_) && ok;
    for (const syntax::WhereAst& where : ast.clauses) {
      ok = build_clause(where.condition, where.reason, own, &kernel.clauses, diags_) && ok;
    }
    ok = build_workspaces(ast.workspaces, own, &kernel.clauses, diags_) && ok;
    ok = cost(ast.costs, own, &kernel) && ok;
    if (!ast.lowerings.empty()) ok = lowering(ast.lowerings[0], own, &kernel.lowering) && ok;
    ok = kernel_formats(ast, own, &kernel) && ok;
    named.warn_unused(diags_);
    rule_.kernels.push_back(std::move(kernel));
    return ok;
  }

  bool kernel_formats(const syntax::KernelAst& ast, const ExprScope& scope, ir::Kernel* kernel) {
    bool ok = check_packed(ast.formats, diags_) && formats(ast.formats, scope, &kernel->formats);
    const size_t own = kernel->formats.size();
    for (const ir::FormatClause& inherited : rule_.formats) {
      bool is_restated =
          std::any_of(kernel->formats.begin(), kernel->formats.begin() + static_cast<std::ptrdiff_t>(own),
                      [&](const ir::FormatClause& clause) { return clause.capture == inherited.capture; });
      if (!is_restated) kernel->formats.push_back(inherited);
    }
    kernel->format_group = static_cast<int>(rule_.kernels.size());
    for (const ir::Kernel& other : rule_.kernels) {
      bool is_like = std::equal(kernel->formats.begin(), kernel->formats.end(), other.formats.begin(),
                                other.formats.end(), ir::is_same);
      if (is_like) kernel->format_group = std::min(kernel->format_group, other.format_group);
    }
    return ok && check_same_as(kernel->formats);
  }

  bool check_variants(const ir::Kernel& kernel) {
    size_t variants = 1;
    for (const ir::Knob& knob : kernel.knobs) {
      variants *= std::max<size_t>(knob.values.size(), 1);
      if (variants <= kMostVariants) continue;
      return diags_.error(Code::BadKnob, knob.span, "the knobs have more than {} combinations", kMostVariants)
          .note("all of them are tried for each match");
    }
    for (const ir::Knob& knob : kernel.knobs) {
      if (used_knobs_.insert(knob.name).second) {
        diags_.warning(Code::UnusedName, knob.span, "knob `{}` is never used", knob.name);
      }
    }
    return true;
  }

  bool names_root(int capture) const {
    auto names = [capture](const ir::Pattern& root) {
      return root.capture == capture ||
             std::find(root.results.begin(), root.results.end(), capture) != root.results.end();
    };
    return names(rule_.root) || std::any_of(rule_.others.begin(), rule_.others.end(), names);
  }

  /// Warns about unused names in the pattern, which may be mistakes. The name of a result is documentation, as are
  /// names of operands if the lowering has no argument list.
  void warn_unused(const std::vector<int>& occurrences) {
    auto lists_args = [](const auto& statement) {
      return !statement.lowerings.empty() && statement.lowerings[0].has_args;
    };
    bool has_args = lists_args(ast_) || std::any_of(ast_.kernels.begin(), ast_.kernels.end(), lists_args);
    for (size_t i = 0; i < rule_.captures.size(); ++i) {
      const ir::Capture& capture = rule_.captures[i];
      bool is_used = used_.count(static_cast<int>(i)) != 0 || occurrences[i] > 1 || capture.name.starts_with('_');
      bool is_exempt = names_root(static_cast<int>(i)) || (capture.type != ExprType::Node && !has_args);
      if (is_used || is_exempt) continue;
      auto warning = diags_.warning(Code::UnusedName, capture.span, "`{}` is never used", capture.name);
      if (capture.type == ExprType::Value)
        warning.note("`_` takes any value without naming it, `_: const` any constant");
    }
  }

  const RuleAst& ast_;
  const RuleContext& context_;
  support::Diagnostics& diags_;
  std::string variable_;
  Word member_;
  NamedParts named_;  ///< its `let`s
  ir::Rule rule_;
  std::vector<std::vector<const ir::OpDef*>> capture_ops_;
  std::set<int> used_;
  std::vector<ir::Knob> knobs_;           ///< the rule's, shared by all kernels
  std::vector<ir::Clause> knob_clauses_;  ///< the rule's clauses with a knob
  std::set<std::string> used_knobs_;
};

struct LossRow {
  std::string_view name;
  std::string_view meaning;
  bool ir::Loss::*flag = nullptr;  ///< null: nothing tests for it
};

constexpr LossRow kLossRows[] = {
    {"denormals", "denormal numbers count as 0", nullptr},
    {"inf", "an infinity may become a finite number", &ir::Loss::inf},
    {"nan", "a NaN may become a number", &ir::Loss::nan},
};

}  // namespace

bool build_deny(const syntax::DenyAst& ast, const RuleContext& context, std::vector<ir::Deny>* denies) {
  syntax::RuleAst rule;
  rule.name = {"deny", ast.span};
  rule.matches.push_back(ast.match);
  if (ast.condition) rule.clauses.push_back({*ast.condition, std::nullopt});
  auto deny = RuleBuilder(rule, context, rule.name).run_deny(ast.reason);
  if (!deny) return false;
  deny->span = ast.span;
  denies->push_back(std::move(*deny));
  return true;
}

bool build_loss(const syntax::LossAst& ast, const RuleContext& context, std::vector<ir::Loss>* losses) {
  std::string reason;
  ir::Loss loss;
  for (size_t i = 0; i < ast.lost.size(); ++i) {
    const Word& word = ast.lost[i];
    const auto row = std::find_if(std::begin(kLossRows), std::end(kLossRows),
                                  [&](const LossRow& known) { return known.name == word.text; });
    if (row == std::end(kLossRows)) {
      std::vector<std::string> names;
      for (const LossRow& known : kLossRows) names.emplace_back(known.name);
      return context.diags.error(Code::UnknownName, word.span, "`{}` is no kind of special value", word.text)
          .did_you_mean(support::closest(word.text, names));
    }
    reason += (i == 0 ? "" : ", ") + std::string(row->meaning);
    if (row->flag != nullptr) loss.*row->flag = true;
  }
  syntax::RuleAst rule;
  rule.name = {"numerics", ast.span};
  rule.matches.push_back(ast.match);
  syntax::MessageAst message;
  message.texts = {reason};
  auto deny = RuleBuilder(rule, context, rule.name).run_deny(message);
  if (!deny) return false;
  deny->span = ast.span;
  static_cast<ir::Deny&>(loss) = std::move(*deny);
  losses->push_back(std::move(loss));
  return true;
}

bool build_rule(const syntax::RuleAst& ast, const RuleContext& context, std::vector<ir::Rule>* rules) {
  if (!check_packed(ast.formats, context.diags)) return false;
  bool ok = true;
  std::vector<Word> members = ast.members;
  if (!ast.variable) members.push_back({"", ast.name.span});
  for (size_t i = 0; i < members.size(); ++i) {
    auto first = std::find_if(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
                              [&](const Word& m) { return m.text == members[i].text; });
    if (first != members.begin() + static_cast<std::ptrdiff_t>(i)) {
      ok = context.diags.error(Code::DuplicateName, members[i].span, "`{}` is listed twice", members[i].text)
               .note(first->span, "the first is here");
      continue;
    }
    auto rule = RuleBuilder(ast, context, members[i]).run();
    ok = ok && rule;
    if (rule) rules->push_back(std::move(*rule));
  }
  return ok;
}

}  // namespace collage::sema
