// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/make_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "compiler/ir/graph/print_parts.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/lint/models/example_models.h"
#include "compiler/match/matcher.h"
#include "compiler/rules_tool/rewrite_tests.h"
#include "compiler/rules_tool/rule_tests.h"
#include "runtime/core/joined.h"

namespace collage::rules_tool {
namespace {

using ir::Graph;
using ir::RuleTest;
using ir::ValueId;

constexpr int kModelTries = 192;

/// A model as a test of a rule file has it.
class TestWriter {
 public:
  enum class Constants {
    Declared,  ///< floats are declared, `with w: const f32[8]`; their elements are random
    Written    ///< all stand in the model with their elements
  };

  TestWriter(const Graph& graph, Constants constants) : graph_(graph), constants_(constants) { choose_names(); }

  /// Returns nullopt for a constant or an attribute that has no short form.
  std::optional<RuleTest> write() {
    RuleTest test;
    for (ValueId id : graph_.value_ids()) {
      const ir::Value& value = graph_.value(id);
      if (value.producer.is_valid()) continue;
      const bool is_declared =
          !value.is_constant() || (constants_ == Constants::Declared && runtime::is_float(value.type.dtype));
      if (is_declared) {
        test.inputs.emplace_back(names_[id], value.type);
        if (value.is_constant()) test.constants.push_back(names_[id]);
        continue;
      }
      if (value.constant->form != ir::Constant::Form::Splat) return std::nullopt;
      add(&test, fmt::format("%{} = const splat {} : {}", names_[id], splat_text(value), to_string(value.type)));
    }
    for (ir::NodeId id : graph_.node_ids()) {
      const std::optional<std::string> text = node_text(graph_.node(id));
      if (!text) return std::nullopt;
      add(&test, *text);
    }
    return test;
  }

  std::vector<std::string> names_of(const std::vector<ir::NodeId>& nodes) {
    std::vector<std::string> names;
    for (ir::NodeId node : nodes) names.push_back(names_[graph_.first_output(node)]);
    return names;
  }

 private:
  static void add(RuleTest* test, const std::string& statement) { runtime::add_to_list(test->model, statement, " "); }

  static std::string splat_text(const ir::Value& value) {
    if (!runtime::is_float(value.type.dtype)) return fmt::format("{:.0f}", value.constant->splat);
    return runtime::to_string(runtime::AttrValue(value.constant->splat));
  }

  /// Names that `with` can declare: `v.1` => `v_1`.
  void choose_names() {
    std::set<std::string> taken;
    for (ValueId id : graph_.value_ids()) {
      std::string name = graph_.value(id).name;
      for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      }
      if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) name.insert(0, "v");
      while (!taken.insert(name).second) name += '_';
      names_[id] = name;
    }
  }

  std::optional<std::string> node_text(const ir::Node& node) {
    std::vector<std::string> results, operands, attrs;
    for (ValueId id : node.outputs) results.push_back(id.is_valid() ? "%" + names_[id] : "_");
    for (ValueId id : node.inputs) operands.push_back(id.is_valid() ? "%" + names_[id] : "_");
    for (const auto& [name, value] : node.attrs) {
      if (std::holds_alternative<ir::Tensor>(value)) return std::nullopt;
      attrs.push_back(name + " = " + to_string(value));
    }
    return fmt::format("{} = {}({}){}", fmt::join(results, ", "), node.op->name, fmt::join(operands, ", "),
                       attrs.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attrs, ", ")));
  }

  const Graph& graph_;
  Constants constants_;
  std::map<ValueId, std::string> names_;
};

std::string text_of_test(const RuleTest& test) {
  std::string text = fmt::format("test {} {}", test.expects_match ? "ok" : "no", ir::quoted(test.model));
  std::string inputs;
  for (const auto& [name, type] : test.inputs) {
    const bool is_constant = std::find(test.constants.begin(), test.constants.end(), name) != test.constants.end();
    runtime::add_to_list(inputs, fmt::format("{}: {}{}", name, is_constant ? "const " : "", to_string(type)));
  }
  if (!inputs.empty()) text += " with " + inputs;
  if (!test.nodes.empty()) text += fmt::format(" -> {{%{}}}", fmt::join(test.nodes, ", %"));
  if (!test.because.empty()) text += " because " + ir::quoted(test.because);
  return text;
}

/// Writes the model as a test with each form of its constants, until one holds.
std::optional<std::string> first_that_holds(const Graph& graph, const std::vector<ir::NodeId>& nodes,
                                            const std::string& because, bool expects_match,
                                            const std::function<bool(const RuleTest&)>& holds) {
  for (TestWriter::Constants form : {TestWriter::Constants::Declared, TestWriter::Constants::Written}) {
    TestWriter writer(graph, form);
    std::optional<RuleTest> test = writer.write();
    if (!test) continue;
    test->expects_match = expects_match;
    test->nodes = writer.names_of(nodes);
    test->because = because;
    if (holds(*test)) return text_of_test(*test);
  }
  return std::nullopt;
}

/// The message of a clause that refuses the rule; empty where none does.
std::string clause_message(const match::MatchReport& report) {
  for (const match::Refusal& refusal : report.refusals) {
    if (refusal.kind == match::Refusal::Kind::Clause && refusal.clause >= 0) return refusal.message;
  }
  return "";
}

void change_compared(ir::Expr* expr) {
  using Kind = ir::Expr::Kind;
  if (expr->kind == Kind::DType) expr->dtype = expr->dtype == ir::DType::F32 ? ir::DType::F64 : ir::DType::F32;
  const bool has_attribute = std::any_of(expr->args.begin(), expr->args.end(),
                                         [](const ir::Expr& arg) { return arg.kind == Kind::Attribute; });
  for (ir::Expr& arg : expr->args) {
    if (expr->kind == Kind::Binary && has_attribute && arg.kind == Kind::Number) {
      arg.number += 1;
      if (arg.whole) ++*arg.whole;
    }
    change_compared(&arg);
  }
}

/// The backend with a rule that asks for other attributes and dtypes, so that models are searched for that the rule
/// refuses: `c.group == 1 and dtype(x) == f32` => `c.group == 2 and dtype(x) == f64`.
ir::Backend with_other_conditions(const ir::Backend& backend, size_t rule) {
  ir::Backend changed = backend;
  for (ir::Clause& clause : changed.rules[rule].clauses) change_compared(&clause.condition);
  return changed;
}

}  // namespace

std::optional<std::string> make_rule_test(support::SourceManager& sources, const ir::Backend& backend, size_t first,
                                          bool expects_match) {
  std::optional<std::string> made;
  ir::Backend trial = backend;
  const auto holds = [&](const RuleTest& test) {
    trial.rules[first].tests = {test};
    support::Diagnostics unheard(sources);
    return RuleTests(sources, trial, first, unheard).holds(0, trial, unheard);
  };
  const auto look = [&](const Graph& graph) {
    match::MatchReport report;
    const std::vector<match::Match> matches = match::match_rule(graph, backend, static_cast<int>(first), {}, &report);
    if (matches.empty() == expects_match) return false;
    const std::string because = expects_match ? "" : clause_message(report);
    if (!expects_match && because.empty()) return false;
    made = first_that_holds(graph, expects_match ? matches.front().nodes : std::vector<ir::NodeId>(), because,
                            expects_match, holds);
    return made.has_value();
  };
  const auto index = static_cast<int>(first);
  const bool found = lint::search_models(backend, index, kModelTries, look);
  if (!found && !expects_match) lint::search_models(with_other_conditions(backend, first), index, kModelTries, look);
  return made;
}

std::optional<std::string> make_rewrite_test(support::SourceManager& sources, const ir::Backend& backend,
                                             const ir::Rewrite& rewrite) {
  std::optional<std::string> made;
  const ir::Backend patterns = match::with_patterns(backend, {rewrite.from});
  ir::Rewrite trial = rewrite;
  const auto holds = [&](const RuleTest& test) {
    trial.from.tests = {test};
    support::Diagnostics unheard(sources);
    return test_rewrite(sources, backend, trial, unheard).failed == 0;
  };
  lint::search_models(patterns, 0, kModelTries, [&](const Graph& graph) {
    match::MatchReport report;
    if (match::match_rule(graph, patterns, 0, {}, &report).empty()) return false;
    made = first_that_holds(graph, {}, "", /*expects_match=*/true, holds);
    return made.has_value();
  });
  return made;
}

}  // namespace collage::rules_tool
