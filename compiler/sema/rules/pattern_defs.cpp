// SPDX-License-Identifier: Apache-2.0
#include "compiler/sema/rules/pattern_defs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "compiler/sema/rules/build_pattern.h"

namespace collage::sema {
namespace {

using ir::FusionKind;
using support::Code;
using syntax::DefAst;
using syntax::PatternAst;
using syntax::Word;

constexpr std::string_view kAnyOperator = "any_op";
constexpr std::array<std::pair<std::string_view, FusionKind>, 6> kKinds = {{{"elementwise", FusionKind::Elementwise},
                                                                            {"broadcast", FusionKind::Broadcast},
                                                                            {"injective", FusionKind::Injective},
                                                                            {"reduction", FusionKind::Reduce},
                                                                            {"contraction", FusionKind::OutFusable},
                                                                            {"opaque", FusionKind::Opaque}}};

bool is_plain_name(const PatternAst& ast) {
  return ast.kind == PatternAst::Kind::Value && !ast.is_const && !ast.may_be_absent && ast.capture->text != "_" &&
         ast.capture->text != "none";
}

/// `Relu | Clip`: the names of a class; nullopt if the body is not a class.
std::optional<std::vector<Word>> class_names(const PatternAst& body) {
  std::vector<Word> names;
  bool is_class = true;
  auto add = [&](const PatternAst& ast) {
    is_class = is_class && is_plain_name(ast);
    if (is_class) names.push_back(*ast.capture);
  };
  if (body.kind == PatternAst::Kind::Alternatives && !body.capture) {
    for (const PatternAst& choice : body.choices) add(choice);
  } else {
    add(body);
  }
  if (!is_class) return std::nullopt;
  return names;
}

void collect_calls(const PatternAst& ast, std::vector<Word>* calls) {
  calls->insert(calls->end(), ast.ops.begin(), ast.ops.end());
  for (const PatternAst& operand : ast.operands) collect_calls(operand, calls);
  for (const PatternAst& choice : ast.choices) collect_calls(choice, calls);
}

void collect_names(const PatternAst& ast, std::set<std::string>* names) {
  if (ast.capture) names->insert(ast.capture->text);
  for (const Word& result : ast.results) names->insert(result.text);
  for (const PatternAst& operand : ast.operands) collect_names(operand, names);
  for (const PatternAst& choice : ast.choices) collect_names(choice, names);
}

bool check_params(const DefAst& def, support::Diagnostics& diags) {
  bool ok = true;
  std::set<std::string> used;
  collect_names(def.body, &used);
  std::map<std::string, support::Span> seen;
  for (const Word& param : def.params) {
    auto [first, is_new] = seen.emplace(param.text, param.span);
    if (!is_new) {
      ok = diags.error(Code::DuplicateName, param.span, "`{}` is declared twice", param.text)
               .note(first->second, "the first is here");
    } else if (used.count(param.text) == 0) {
      diags.warning(Code::UnusedName, param.span, "`{}` is never used", param.text);
    }
  }
  return ok;
}

}  // namespace

std::vector<const ir::OpDef*> built_in_class(std::string_view name) {
  std::vector<const ir::OpDef*> ops;
  for (const ir::OpDef* op : ir::all_ops()) {
    bool belongs = name == kAnyOperator || std::any_of(kKinds.begin(), kKinds.end(), [&](const auto& kind) {
                     return kind.first == name && kind.second == op->kind;
                   });
    if (belongs) ops.push_back(op);
  }
  return ops;
}

const PatternDefs::Entry* PatternDefs::entry(std::string_view name) const {
  auto at = entries_.find(name);
  if (at != entries_.end()) return at->second.get();
  return outer_ ? outer_->entry(name) : nullptr;
}

const DefAst* PatternDefs::find(std::string_view name) const {
  const Entry* found = entry(name);
  return found ? &found->def : nullptr;
}

bool PatternDefs::is_broken(std::string_view name) const {
  const Entry* found = entry(name);
  return found != nullptr && found->is_broken;
}

std::vector<PatternDefs::Member> PatternDefs::operators(std::string_view name) const {
  if (const ir::OpDef* op = ir::find_op(name)) return {{op, true}};
  std::vector<Member> members;
  for (const ir::OpDef* op : built_in_class(name)) members.push_back({op, false});
  const Entry* found = entry(name);
  if (found == nullptr || found->def.has_params || found->is_broken) return members;
  auto names = class_names(found->def.body);
  if (!names) return members;
  for (const Word& part : *names) {
    for (Member member : operators(part.text)) {
      auto same = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.op == member.op; });
      if (same == members.end()) {
        members.push_back(member);
      } else {
        same->is_listed = same->is_listed || member.is_listed;
      }
    }
  }
  return members;
}

std::vector<std::string> PatternDefs::names() const {
  std::vector<std::string> names = outer_ ? outer_->names() : ir::op_names();
  if (outer_ == nullptr) {
    names.emplace_back(kAnyOperator);
    for (const auto& kind : kKinds) names.emplace_back(kind.first);
  }
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

bool PatternDefs::declare(const DefAst& def, support::Diagnostics& diags) {
  const std::string& name = def.name.text;
  if (ir::find_op(name) != nullptr) {
    return diags.error(Code::DuplicateName, def.name.span, "`{}` is an operator", name);
  }
  if (!built_in_class(name).empty()) {
    return diags.error(Code::DuplicateName, def.name.span, "`{}` is a built-in class of operators", name);
  }
  if (const DefAst* first = find(name)) {
    return diags.error(Code::DuplicateName, def.name.span, "`{}` is declared twice", name)
        .note(first->name.span, "the first is here");
  }
  entries_.emplace(name, std::make_unique<Entry>(Entry{def, false}));
  return true;
}

bool PatternDefs::add(const std::vector<DefAst>& defs, support::Diagnostics& diags) {
  bool ok = true;
  std::vector<Entry*> added;
  for (const DefAst& def : defs) {
    if (declare(def, diags)) {
      added.push_back(entries_.find(def.name.text)->second.get());
    } else {
      ok = false;
    }
  }
  std::map<const Entry*, Visit> visits;
  for (Entry* entry : added) ok = check(entry, &visits, diags) && ok;
  return ok;
}

/// Checks a `def` after those that it uses.
bool PatternDefs::check(Entry* entry, std::map<const Entry*, Visit>* visits, support::Diagnostics& diags) {
  auto [visit, is_new] = visits->emplace(entry, Visit::Open);
  if (!is_new) return !entry->is_broken;
  bool ok = check_uses(entry, visits, diags);
  if (ok && entry->def.has_params) ok = check_params(entry->def, diags) && check_def(entry->def, *this, diags);
  if (ok && !entry->def.has_params) ok = check_class(entry->def, diags);
  entry->is_broken = entry->is_broken || !ok;
  (*visits)[entry] = Visit::Done;
  return !entry->is_broken;
}

bool PatternDefs::check_uses(Entry* entry, std::map<const Entry*, Visit>* visits, support::Diagnostics& diags) {
  std::vector<Word> calls;
  collect_calls(entry->def.body, &calls);
  if (auto names = class_names(entry->def.body); names && !entry->def.has_params) calls = *names;
  for (const Word& call : calls) {
    auto at = entries_.find(call.text);
    if (at == entries_.end()) continue;
    Entry* used = at->second.get();
    auto visit = visits->find(used);
    if (visit != visits->end() && visit->second == Visit::Open) {
      used->is_broken = true;
      return diags.error(Code::BadDef, call.span, "`{}` would contain itself", used->def.name.text)
          .note(used->def.name.span, "it is declared here");
    }
    // Earlier ones are already checked.
    if (visit == visits->end() && !used->is_broken) check(used, visits, diags);
    if (used->is_broken) return false;
  }
  return true;
}

bool PatternDefs::check_class(const DefAst& def, support::Diagnostics& diags) const {
  auto members = class_names(def.body);
  if (!members) {
    return diags
        .error(Code::BadDef, def.body.span, "a `def` without parameters is a class, so names of operators stand here")
        .note("a sub-pattern has parameters: `def {}(x) = …`", def.name.text);
  }
  bool ok = true;
  for (const Word& member : *members) {
    const DefAst* used = find(member.text);
    if (used != nullptr && used->has_params) {
      ok = diags.error(Code::BadDef, member.span, "`{}` is a sub-pattern, not an operator", member.text)
               .note(used->name.span, "it is declared here");
    } else if (used == nullptr && operators(member.text).empty()) {
      ok = diags.error(Code::UnknownOperator, member.span, "unknown operator or class `{}`", member.text)
               .did_you_mean(support::closest(member.text, names()));
    }
  }
  return ok;
}

}  // namespace collage::sema
