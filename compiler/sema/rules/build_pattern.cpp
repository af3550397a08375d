// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/build_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/sema/rules/pattern_shape.h"
#include "runtime/core/text.h"

namespace collage::sema {
namespace {

using ir::ExprType;
using ir::OpDef;
using ir::Pattern;
using support::Code;
using support::Span;
using syntax::DefAst;
using syntax::PatternAst;
using syntax::Word;

/// `f?(e, …)` holds `e` twice, so nested optionals double their size each, and `def`s what they use.
constexpr int kMaxPatternNodes = 10'000;
/// Deeper than any pattern without `def`s can be written.
constexpr int kMaxPatternDepth = 400;
constexpr int kMaxDefDepth = 16;
constexpr int kMaxRepeat = 64;
/// `*`
constexpr int kAnyNumber = 16;

/// Captures that every derivation binds.
using Bound = std::set<int>;

/// A `def` whose body is being built. Arguments are patterns of the caller.
struct Frame {
  const DefAst& def;
  Frame* caller;
  std::string prefix;  ///< of names local to the body; has a dot, so that it differs from every written name
  int depth = 1;
  std::map<std::string, const PatternAst*> args = {};
  std::map<std::string, int> uses = {};    ///< of each parameter
  std::map<std::string, int> shared = {};  ///< parameters used more than once -> capture of what was built for them
};

bool is_value(const PatternAst& ast, std::string_view name) {
  return ast.kind == PatternAst::Kind::Value && ast.capture->text == name;
}

class PatternBuilder {
 public:
  PatternBuilder(const PatternScope& scope, support::Diagnostics& diags) : scope_(scope), diags_(diags) {}

  std::optional<BuiltPattern> run(const std::vector<PatternAst>& patterns) {
    Bound bound;
    for (const PatternAst& ast : patterns) count(ast, &written_);
    bool ok = true;
    for (const PatternAst& ast : patterns) {
      Pattern built;
      bool is_built = build(ast, &built, &bound);
      ok = ok && is_built && !failed_;
      if (is_built && !failed_ && least_operators(built) == 0) {
        ok = diags_.error(Code::BadPattern, ast.span, "the pattern can match without any operator");
      }
      result_.others.push_back(std::move(built));
    }
    if (!ok || !connect()) return std::nullopt;
    for (size_t i = 0; i < result_.captures.size(); ++i) {
      result_.captures[i].may_be_absent = bound.count(static_cast<int>(i)) == 0;
    }
    return std::move(result_);
  }

  bool check_body(const DefAst& def) {
    std::vector<PatternAst> any(def.params.size());
    PatternAst call;
    call.kind = PatternAst::Kind::Op;
    call.span = def.name.span;
    for (PatternAst& arg : any) arg.capture = Word{"_", def.name.span};
    call.operands = std::move(any);
    Bound bound;
    Pattern built;
    return build_call(call, def, &built, &bound) && !failed_;
  }

 private:
  /// Counts how often each name is written. (`build` visits an optional twice.)
  static void count(const PatternAst& ast, std::map<std::string, int>* written) {
    if (ast.capture) ++(*written)[ast.capture->text];
    if (ast.rest) ++(*written)[ast.rest->text];
    for (const Word& result : ast.results) ++(*written)[result.text];
    for (const PatternAst& operand : ast.operands) count(operand, written);
    for (const PatternAst& choice : ast.choices) count(choice, written);
  }

  /// Orders the patterns such that each but the first shares a name with an earlier one.
  bool connect() {
    std::vector<Pattern> waiting = std::move(result_.others);
    result_.others.clear();
    result_.root = std::move(waiting.front());
    waiting.erase(waiting.begin());
    std::vector<int> names = ir::certain_captures(result_.root);
    while (!waiting.empty()) {
      auto next = std::find_if(waiting.begin(), waiting.end(), [&](const Pattern& pattern) {
        std::vector<int> here = ir::certain_captures(pattern);
        return std::find_first_of(here.begin(), here.end(), names.begin(), names.end()) != here.end();
      });
      if (next == waiting.end()) {
        return diags_
            .error(Code::UnconnectedPattern, waiting.front().span, "this pattern shares no name with the others")
            .note("patterns of one match meet in values that all of its forms name");
      }
      std::vector<int> here = ir::certain_captures(*next);
      names.insert(names.end(), here.begin(), here.end());
      result_.others.push_back(std::move(*next));
      waiting.erase(next);
    }
    return true;
  }

  bool build(const PatternAst& ast, Pattern* out, Bound* bound) {
    if (++nodes_ > kMaxPatternNodes || depth_ >= kMaxPatternDepth) {
      if (!failed_) {
        diags_.error(Code::BadPattern, written_at(ast), "{}",
                     nodes_ > kMaxPatternNodes
                         ? fmt::format("the pattern has more than {} forms and parts", kMaxPatternNodes)
                         : fmt::format("the pattern is nested more than {} deep", kMaxPatternDepth));
      }
      failed_ = true;
      return false;
    }
    ++depth_;
    bool ok = build_part(ast, out, bound);
    --depth_;
    return ok;
  }

  bool build_part(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->span = ast.span;
    switch (ast.kind) {
      case PatternAst::Kind::Value: return build_value(ast, out, bound);
      case PatternAst::Kind::Op:
        if (ast.optional) return build_optional(ast, out, bound);
        if (const DefAst* def = called(ast)) return build_call(ast, *def, out, bound);
        if (ast.repeat && ast.rest) {
          return diags_.error(Code::BadRepetition, ast.rest->span,
                              "`{}` would name operands of several operators: this one repeats", ast.rest->text);
        }
        return ast.repeat ? build_repeat(ast, out, bound) : build_op(ast, out, bound);
      case PatternAst::Kind::Alternatives: return build_alternatives(ast, out, bound);
      case PatternAst::Kind::Via: return build_via(ast, out, bound);
    }
    return false;
  }

  bool build_value(const PatternAst& ast, Pattern* out, Bound* bound) {
    const std::string& name = ast.capture->text;
    if (frame_ != nullptr && frame_->args.count(name) != 0) return build_argument(ast, out, bound);
    out->kind = Pattern::Kind::Value;
    out->is_const = ast.is_const;
    out->may_be_absent = ast.may_be_absent;
    if (name == "none") {
      out->is_absent = true;
      out->may_be_absent = true;
      return true;
    }
    if (name == "_") return true;
    if (ir::find_op(name) != nullptr || scope_.defs.find(name) != nullptr) {
      std::string_view what = ir::find_op(name) != nullptr ? "an operator" : "a `def`";
      return diags_.error(Code::BadPattern, ast.span, "`{}` is {}: write its operands", name, what)
          .note("`{}(..)` takes any operands", name);
    }
    out->capture = capture(*ast.capture, ExprType::Value, {});
    if (out->capture < 0) return false;
    if (!ast.may_be_absent) bound->insert(out->capture);
    return true;
  }

  /// Builds the argument of a parameter, which is a pattern of the caller. A parameter used more than once is one
  /// value.
  bool build_argument(const PatternAst& ast, Pattern* out, Bound* bound) {
    Frame* frame = frame_;
    const std::string& param = ast.capture->text;
    const PatternAst& arg = *frame->args.at(param);
    bool is_once = frame->uses[param] < 2 || is_value(arg, "none");
    auto shared = frame->shared.find(param);
    if (!is_once && shared != frame->shared.end() && bound->count(shared->second) != 0) {
      out->capture = shared->second;
      out->is_const = ast.is_const;
      return true;
    }
    PatternAst merged = arg;
    merged.is_each = false;
    if (arg.kind == PatternAst::Kind::Value) {
      merged.is_const = arg.is_const || ast.is_const;
      merged.may_be_absent = arg.may_be_absent || ast.may_be_absent;
    } else if (ast.is_const) {
      return diags_.error(Code::BadDef, arg.span, "`{}` takes a constant as `{}`", frame->def.name.text, param)
          .note(ast.span, "it is used as one here");
    }
    frame_ = frame->caller;
    bool ok = build(merged, out, bound);
    frame_ = frame;
    if (!ok || is_once) return ok;
    if (out->capture < 0 && !name_root(out, frame->prefix + param, ast.capture->span, param, bound)) return false;
    frame->shared[param] = out->capture;
    return true;
  }

  bool build_op(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Op;
    out->takes_rest = ast.takes_rest;
    bool ok = build_operands(ast, out, bound);
    ok = resolve_ops(ast, out, true) && ok;
    if (!ok || !check_arity(*out, diags_)) return false;
    leave_out_further_operands(out);
    return name_results(ast, out, bound) && (!ast.rest || name_rest(*ast.rest, ast, out, bound)) &&
           (!ast.capture || name_op(*ast.capture, out, bound));
  }

  bool build_operands(const PatternAst& ast, Pattern* out, Bound* bound) {
    bool ok = true;
    for (size_t i = 0; i < ast.operands.size(); ++i) {
      const PatternAst& operand = ast.operands[i];
      if (operand.is_each && (i + 1 < ast.operands.size() || ast.takes_rest)) {
        ok = diags_.error(Code::BadPattern, operand.span,
                          "`each` stands for all further operands, so it must be the last");
        continue;
      }
      bool repeats = operand.is_each || (ast.repeat && i > 0);
      repeated_ += repeats ? 1 : 0;
      Pattern built;
      ok = build(operand, &built, bound) && ok;
      repeated_ -= repeats ? 1 : 0;
      out->last_is_each = operand.is_each;
      out->operands.push_back(std::move(built));
    }
    return ok;
  }

  /// The place in the rule, not in a `def`, of what is being built.
  Span written_at(const PatternAst& ast) const { return frame_ != nullptr ? outermost_call_ : ast.span; }

  /// `Relu{1, 3}(e, …)`
  bool build_repeat(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Repeat;
    out->takes_rest = ast.takes_rest;
    if (ast.operands.empty() || ast.operands[0].is_each) {
      return diags_.error(Code::BadRepetition, ast.span,
                          "a repeated operator needs an operand, which its first one reads");
    }
    bool ok = read_bounds(*ast.repeat, out);
    ok = build_operands(ast, out, bound) && ok;
    ok = resolve_ops(ast, out, true) && ok;
    if (out->last_is_each) {
      ok = diags_.error(Code::BadRepetition, ast.operands.back().span,
                        "the operands of a repeated operator must be written");
    }
    if (!ok || !check_arity(*out, diags_)) return false;
    leave_out_further_operands(out);
    return !ast.capture || name_choice(*ast.capture, out, bound);
  }

  /// `via elementwise{0, 4}(e)`
  bool build_via(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Via;
    if (ast.operands.size() != 1 || ast.takes_rest || ast.rest || ast.operands[0].is_each) {
      return diags_.error(Code::BadRepetition, ast.span, "`via` takes one operand, the end of the path");
    }
    bool ok = read_bounds(*ast.repeat, out);
    ok = resolve_ops(ast, out, false) && ok;
    out->operands.emplace_back();
    Pattern end;
    ok = build(ast.operands[0], &end, bound) && ok;
    out->operands.back() = std::move(end);
    return ok && (!ast.capture || name_choice(*ast.capture, out, bound));
  }

  bool read_bounds(const syntax::RepeatAst& ast, Pattern* out) {
    out->at_most = kAnyNumber;
    if (ast.bounds.empty()) return true;
    for (const syntax::NumberAst& bound : ast.bounds) {
      bool is_count = bound.unit.empty() && bound.value == std::floor(bound.value) && bound.value >= 0;
      if (is_count && bound.value <= kMaxRepeat) continue;
      return diags_.error(Code::BadRepetition, bound.span, "a bound must be an integer from 0 to {}", kMaxRepeat);
    }
    out->at_least = static_cast<int>(ast.bounds.front().value);
    out->at_most = static_cast<int>(ast.bounds.back().value);
    if (out->at_most == 0) return diags_.error(Code::BadRepetition, ast.span, "this repeats zero times");
    if (out->at_least <= out->at_most) return true;
    return diags_.error(Code::BadRepetition, ast.span, "at least {} and at most {}", out->at_least, out->at_most);
  }

  /// The `def` with parameters that an operator pattern calls, or null.
  const DefAst* called(const PatternAst& ast) const {
    if (ast.ops.size() != 1 || ast.ops[0].text == scope_.variable) return nullptr;
    const DefAst* def = scope_.defs.find(ast.ops[0].text);
    return def != nullptr && def->has_params ? def : nullptr;
  }

  bool build_call(const PatternAst& ast, const DefAst& def, Pattern* out, Bound* bound) {
    const std::string& name = def.name.text;
    if (scope_.defs.is_broken(name)) return false;
    Frame frame{def, frame_, fmt::format("{}.{}.", name, ++calls_), frame_ ? frame_->depth + 1 : 1};
    if (frame.depth > kMaxDefDepth) {
      return diags_.error(Code::BadDef, written_at(ast), "`def`s use each other more than {} deep", kMaxDefDepth);
    }
    auto misuse = [&](const Span& span, std::string_view what) {
      return diags_.error(Code::BadDef, span, "{}", what).note(def.name.span, "it is declared here");
    };
    if (ast.operands.size() != def.params.size()) {
      return misuse(ast.span, fmt::format("`{}` takes {}, this has {}", name,
                                          runtime::counted(def.params.size(), "argument"), ast.operands.size()));
    }
    if (ast.takes_rest || ast.rest) return misuse(ast.span, fmt::format("`..` is no argument of `{}`", name));
    if (ast.repeat) return misuse(ast.repeat->span, fmt::format("`{}` is a sub-pattern: only operators repeat", name));
    if (!ast.results.empty()) {
      return misuse(ast.span, fmt::format("`{}` is a sub-pattern: only operators have results to name", name));
    }
    for (size_t i = 0; i < def.params.size(); ++i) {
      if (ast.operands[i].is_each)
        return misuse(ast.operands[i].span, fmt::format("`each` is no argument of `{}`", name));
      frame.args[def.params[i].text] = &ast.operands[i];
    }
    count(def.body, &frame.uses);
    if (frame_ == nullptr) outermost_call_ = ast.span;
    frame_ = &frame;
    bool ok = build(def.body, out, bound);
    frame_ = frame.caller;
    if (!ok || !ast.capture) return ok;
    const std::optional<Word> word = resolve_name(*ast.capture, frame_);
    if (!word) return false;
    return word->text == "_" || name_root(out, word->text, word->span, ast.capture->text, bound);
  }

  /// The name that a name before `=` has in the rule. In the body of a `def`, a parameter has the name of its argument;
  /// any other name is local.
  std::optional<Word> resolve_name(const Word& word, Frame* frame) {
    if (frame == nullptr || word.text == "_") return word;
    auto at = frame->args.find(word.text);
    if (at == frame->args.end()) return Word{frame->prefix + word.text, word.span};
    const PatternAst& arg = *at->second;
    bool is_name = arg.kind == PatternAst::Kind::Value && !arg.is_const && !arg.may_be_absent && !is_value(arg, "none");
    if (is_name) return resolve_name(*arg.capture, frame->caller);
    diags_.error(Code::BadDef, arg.span, "`{}` of `{}` takes a name", word.text, frame->def.name.text)
        .note(word.span, "it names an operator here");
    return std::nullopt;
  }

  bool name_op(const Word& written, Pattern* out, Bound* bound) {
    const std::optional<Word> word = resolve_name(written, frame_);
    if (!word) return false;
    if (word->text == "_") return true;
    out->capture = add_capture(word->text, word->span, written.text, ExprType::Node, out->ops);
    return out->capture >= 0 && binds_one_node(out->capture, written, bound);
  }

  /// `(a, _) = Split(x)`
  bool name_results(const PatternAst& ast, Pattern* out, Bound* bound) {
    for (const OpDef* op : out->ops) {
      auto most = static_cast<size_t>(op->max_outputs);
      if (ast.results.size() <= most) continue;
      return diags_.error(Code::BadResults, ast.results[most].span, "`{}` has at most {}, this names {}", op->name,
                          runtime::counted(most, "result"), ast.results.size());
    }
    for (const Word& written : ast.results) {
      const std::optional<Word> word = resolve_name(written, frame_);
      if (!word) return false;
      out->results.push_back(-1);
      if (word->text == "_") continue;
      int index = add_capture(word->text, word->span, written.text, ExprType::Node, out->ops);
      if (index < 0 || !binds_one_node(index, written, bound)) return false;
      out->results.back() = index;
    }
    return true;
  }

  /// `rest = ..`, `rest = each P`
  bool name_rest(const Word& written, const PatternAst& ast, Pattern* out, Bound* bound) {
    const std::optional<Word> word = resolve_name(written, frame_);
    if (!word) return false;
    const auto first = static_cast<int>(ast.operands.size()) - (out->last_is_each ? 1 : 0);
    for (const OpDef* op : out->ops) {
      if (first == 0 || ir::commuting_operands(*op, static_cast<size_t>(first) + 1) < 2) continue;
      return diags_
          .error(Code::BadPattern, written.span, "operands of `{}` may stand in any order: `{}` could be any of them",
                 op->name, written.text)
          .note("`{} = ..` alone stands for all of them", written.text);
    }
    if (word->text == "_") return true;
    out->rest = add_capture(word->text, word->span, written.text, ExprType::Values, {}, first);
    return out->rest >= 0 && binds_one_node(out->rest, written, bound);
  }

  bool binds_one_node(int capture, const Word& written, Bound* bound) {
    bool is_new = bound->insert(capture).second;
    if (!is_new && nodes_bound_.count(capture) != 0) {
      return diags_.error(Code::DuplicateName, written.span, "`{}` names two nodes of one match", written.text);
    }
    nodes_bound_.insert(capture);
    return true;
  }

  bool resolve_ops(const PatternAst& ast, Pattern* out, bool has_operands) {
    bool ok = true;
    for (const Word& written : ast.ops) {
      const Word& word = !scope_.variable.empty() && written.text == scope_.variable ? scope_.member : written;
      const DefAst* def = scope_.defs.find(word.text);
      if (def != nullptr && scope_.defs.is_broken(word.text)) return false;
      if (def != nullptr && def->has_params) {
        ok = diags_.error(Code::BadDef, word.span, "`{}` is a sub-pattern, not an operator", word.text)
                 .note(def->name.span, "it is declared here");
        continue;
      }
      std::vector<PatternDefs::Member> members = scope_.defs.operators(word.text);
      if (members.empty()) {
        std::string_view what = def != nullptr ? "class without operators" : "unknown operator";
        ok = diags_.error(Code::UnknownOperator, word.span, "{} `{}`", what, word.text)
                 .did_you_mean(support::closest(word.text, scope_.defs.names()));
        continue;
      }
      size_t before = out->ops.size();
      for (const PatternDefs::Member& member : members) {
        // A built-in class stands for its operators that can have these operands.
        if (!member.is_listed && has_operands && !takes_operands(*member.op, *out)) continue;
        if (std::find(out->ops.begin(), out->ops.end(), member.op) == out->ops.end()) out->ops.push_back(member.op);
      }
      if (out->ops.size() == before && before == 0) {
        ok = diags_.error(Code::BadPattern, ast.span, "no operator of `{}` has these operands", word.text);
      }
    }
    return ok;
  }

  /// `f?(e, …)` => Optional{f(e, …), e}
  bool build_optional(const PatternAst& ast, Pattern* out, Bound* bound) {
    if (ast.operands.empty()) {
      return diags_.error(Code::BadPattern, ast.span,
                          "an optional operator needs an operand, which stands where it is absent");
    }
    out->kind = Pattern::Kind::Optional;
    PatternAst plain = ast;
    plain.optional = false;
    plain.capture.reset();
    out->choices.resize(2);
    Bound with = *bound;
    Bound without = *bound;
    std::set<int> nodes_before = nodes_bound_;
    bool ok = build(plain, &out->choices[0], &with);
    std::set<int> nodes_with = nodes_bound_;
    nodes_bound_ = nodes_before;
    ok = ok && build(ast.operands[0], &out->choices[1], &without);
    nodes_bound_.insert(nodes_with.begin(), nodes_with.end());
    if (!ok) return false;
    std::set_intersection(with.begin(), with.end(), without.begin(), without.end(),
                          std::inserter(*bound, bound->end()));
    return !ast.capture || name_choice(*ast.capture, out, bound);
  }

  bool build_alternatives(const PatternAst& ast, Pattern* out, Bound* bound) {
    out->kind = Pattern::Kind::Alternatives;
    std::optional<Bound> common;
    std::set<int> nodes_before = nodes_bound_;
    std::set<int> nodes_after = nodes_bound_;
    for (const PatternAst& choice : ast.choices) {
      Bound here = *bound;
      nodes_bound_ = nodes_before;
      Pattern built;
      if (!build(choice, &built, &here)) return false;
      nodes_after.insert(nodes_bound_.begin(), nodes_bound_.end());
      out->choices.push_back(std::move(built));
      if (!common) {
        common = here;
      } else {
        Bound both;
        std::set_intersection(common->begin(), common->end(), here.begin(), here.end(),
                              std::inserter(both, both.end()));
        common = std::move(both);
      }
    }
    nodes_bound_ = std::move(nodes_after);
    *bound = std::move(*common);
    return !ast.capture || name_choice(*ast.capture, out, bound);
  }

  /// Names an optional, alternatives or a repetition: a node if every choice is one.
  bool name_choice(const Word& written, Pattern* out, Bound* bound) {
    const std::optional<Word> word = resolve_name(written, frame_);
    if (!word) return false;
    return word->text == "_" || name_root(out, word->text, word->span, written.text, bound);
  }

  /// Names the root of the built pattern, which may have another name already.
  bool name_root(Pattern* out, const std::string& name, Span span, const std::string& written, Bound* bound) {
    std::vector<const OpDef*> ops;
    ExprType type = is_node(*out, &ops) ? ExprType::Node : ExprType::Value;
    if (out->capture >= 0) {
      Pattern named;
      named.kind = Pattern::Kind::Alternatives;
      named.span = out->span;
      named.choices.push_back(std::move(*out));
      *out = std::move(named);
    }
    out->capture = add_capture(name, span, written, type, ops);
    if (out->capture < 0) return false;
    bool may_be_absent = out->kind == Pattern::Kind::Value && out->may_be_absent;
    if (!may_be_absent) bound->insert(out->capture);
    return true;
  }

  int capture(const Word& word, ExprType type, const std::vector<const OpDef*>& ops) {
    std::string name = frame_ != nullptr ? frame_->prefix + word.text : word.text;
    return add_capture(name, word.span, word.text, type, ops);
  }

  /// Returns the index of the capture of this name; -1, after an error, if it cannot be one. A capture that is a node
  /// anywhere is a node where it is named alone, too. If it is a node in some alternatives and a value in others,
  /// `bound` distinguishes them, and it has the attributes of the node.
  int add_capture(const std::string& name, Span span, const std::string& written, ExprType type,
                  const std::vector<const OpDef*>& ops, int first_operand = -1) {
    if (repeated_ > 0) {
      diags_
          .error(Code::BadRepetition, span, "`{}` stands in a part that repeats, so it would name several values",
                 written)
          .note("`_` takes any value without naming it");
      return -1;
    }
    auto at = std::find_if(result_.captures.begin(), result_.captures.end(),
                           [&](const ir::Capture& c) { return c.name == name; });
    auto index = static_cast<size_t>(at - result_.captures.begin());
    if (at == result_.captures.end()) {
      result_.captures.push_back({name, type, false, span, first_operand});
      result_.capture_ops.push_back(ops);
      // Names inside a `def` are not visible in the rule.
      bool is_written = written_.count(name) != 0;
      result_.occurrences.push_back(is_written ? written_[name] : 2);
      return static_cast<int>(index);
    }
    if (at->first_operand != first_operand) {
      diags_.error(Code::DuplicateName, span, "`{}` names other operands, too", written)
          .note(at->span, "the first are here");
      return -1;
    }
    if (type == ExprType::Node) at->type = ExprType::Node;
    for (const OpDef* op : ops) {
      std::vector<const OpDef*>& known = result_.capture_ops[index];
      if (std::find(known.begin(), known.end(), op) == known.end()) known.push_back(op);
    }
    return static_cast<int>(index);
  }

  const PatternScope& scope_;
  support::Diagnostics& diags_;
  BuiltPattern result_;
  std::map<std::string, int> written_;
  std::set<int> nodes_bound_;  ///< captures that an operator before has in the same derivation
  Frame* frame_ = nullptr;     ///< the `def` whose body is being built
  Span outermost_call_;
  int calls_ = 0;
  int repeated_ = 0;  ///< number of repeated parts around the current one
  int nodes_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<BuiltPattern> build_pattern(const std::vector<PatternAst>& patterns, const PatternScope& scope,
                                          support::Diagnostics& diags) {
  return PatternBuilder(scope, diags).run(patterns);
}

bool check_def(const DefAst& def, const PatternDefs& defs, support::Diagnostics& diags) {
  return PatternBuilder({defs, "", {}}, diags).check_body(def);
}

}  // namespace collage::sema
