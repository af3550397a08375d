// SPDX-License-Identifier: Apache-2.0
// The automaton against matching rule by rule, on random models and random rules, seed by seed: `match_backend` finds
// what `match_rule` finds for each rule alone, in the order of roots, with the same bindings and costs, and refuses
// the same but for patterns that are about something else.
//
// COLLAGE_RANDOM_ROUNDS multiplies the number of cases.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "compiler/match/automaton.h"
#include "compiler/match/matcher.h"
#include "compiler/sema/model/build_graph.h"
#include "compiler/sema/rules/build_rules.h"
#include "compiler/syntax/parse_rules.h"

namespace collage {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<uint64_t>(count)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string pick(const std::vector<std::string>& items) {
    return items[static_cast<size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

const std::vector<std::string> kUnary = {"Relu", "Sigmoid", "Abs"};
const std::vector<std::string> kBinary = {"Add", "Mul", "Sub"};
const std::vector<std::string> kVariadic = {"Max", "Concat"};

/// All values are f32[4] but for those of Concat, which nothing reads but Neg; Clip has operands that may be left out,
/// Split several results.
std::string random_model(Random& random) {
  std::vector<std::string> values = {"x", "z", "k"};
  std::string body = "  %k = const splat 0.5 : f32[4]\n  %s = const 0.5 : f32[]\n";
  auto value = [&] {
    size_t window = random.chance(60) ? std::min<size_t>(4, values.size()) : values.size();
    return "%" + values[values.size() - 1 - static_cast<size_t>(random.below(static_cast<int>(window)))];
  };
  std::vector<std::string> outputs;
  int nodes = 4 + random.below(12);
  for (int i = 0; i < nodes; ++i) {
    std::string name = fmt::format("v{}", i);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2: body += fmt::format("  %{} = {}({})\n", name, random.pick(kUnary), value()); break;
      case 3:
      case 4: body += fmt::format("  %{} = {}({}, {})\n", name, random.pick(kBinary), value(), value()); break;
      case 5: {
        std::string operands = value();
        for (int more = random.below(3); more > 0; --more) operands += ", " + value();
        if (random.chance(40)) {
          body += fmt::format("  %{0}c = Concat({1}) {{axis = 0}}\n  %{0}n = Neg(%{0}c)\n", name, operands);
          continue;
        }
        body += fmt::format("  %{} = Max({})\n", name, operands);
        break;
      }
      case 6: {
        const char* bounds[] = {"", ", %s", ", _, %s", ", %s, %s"};
        body += fmt::format("  %{} = Clip({}{})\n", name, value(), bounds[random.below(4)]);
        break;
      }
      default:
        body += fmt::format("  %{0}, %{0}b = Split({1}) {{axis = 0}} : f32[2], f32[2]\n", name, value());
        body += fmt::format("  %{0}j = Concat(%{0}{1}, %{0}) {{axis = 0}}\n", name, random.chance(50) ? "b" : "");
        values.push_back(name + "j");
        continue;
    }
    values.push_back(name);
    if (random.chance(15)) outputs.push_back(name);
  }
  if (outputs.empty() && values.size() > 3) outputs.push_back(values.back());
  std::string results;
  for (const std::string& output : outputs) {
    if (output != "k") results += (results.empty() ? "%" : ", %") + output + ": f32[4]";
  }
  return fmt::format("model @random(%x: f32[4], %z: f32[4]) -> ({}) {{\n{}}}\n", results, body);
}

class PatternMaker {
 public:
  explicit PatternMaker(Random& random) : random_(random) {}

  std::string run() { return "root = " + op(2 + random_.below(3)); }

 private:
  std::string operand(int depth) {
    if (depth <= 0 || random_.chance(35)) return leaf();
    if (random_.chance(12)) {
      return fmt::format("via {}{{{}, {}}}({})", random_.pick({"elementwise", "broadcast", "any_op", "(Relu | Max)"}),
                         random_.below(2), 1 + random_.below(3), operand(depth - 1));
    }
    if (random_.chance(15)) return fmt::format("({} | {})", op(depth - 1), random_.chance(50) ? "p" : op(depth - 1));
    return (random_.chance(25) ? fmt::format("n{} = ", ++names_) : "") + op(depth);
  }

  std::string leaf() {
    switch (random_.below(7)) {
      case 0: return "_";
      case 1: return "a";
      case 2: return "b";
      case 3: return fmt::format("c{}: const", ++names_);
      default: return fmt::format("v{}", ++names_);
    }
  }

  std::string op(int depth) {
    std::string question = random_.chance(20) ? "?" : "";
    switch (random_.below(12)) {
      case 8:
        return fmt::format("{}{{{}, {}}}({})", random_.pick({"Relu", "elementwise", "any_op"}), random_.below(2),
                           1 + random_.below(3), operand(depth - 1));
      case 9:
        return fmt::format("{}{{1, 2}}({}, {})", random_.pick(kBinary), operand(depth - 1),
                           random_.pick({"_", "_: const"}));
      case 10:
        return fmt::format("{}({}each {})", random_.pick(kVariadic),
                           random_.chance(40) ? operand(depth - 1) + ", " : "",
                           random_.pick({"_", "Relu(_)", "elementwise{0, 2}(_)", "_: const", "(Relu(_) | Add(_, _))"}));
      case 11: return fmt::format("pair({}, {})", operand(depth - 1), random_.pick({"a", "_"}));
      case 0: return fmt::format("(Relu | Sigmoid){}({})", question, operand(depth - 1));
      case 1:
      case 2: return fmt::format("{}{}({})", random_.pick(kUnary), question, operand(depth - 1));
      case 3:
        return "Clip(" + operand(depth - 1) + random_.pick({"", ", lo?", ", lo?: const, hi?", ", none, _", ", .."}) +
               ")";
      case 4: return fmt::format("{}({}, {})", random_.pick(kVariadic), operand(depth - 1), operand(depth - 1));
      case 5: return fmt::format("{}({}, ..)", random_.pick(kVariadic), operand(depth - 1));
      case 6: return fmt::format("Concat(Split({}, ..), ..)", operand(depth - 2));
      default:
        return fmt::format("{}{}({}, {})", random_.pick(kBinary), question, operand(depth - 1), operand(depth - 1));
    }
  }

  Random& random_;
  int names_ = 0;
};

bool build(support::SourceManager& sources, support::Diagnostics& diags, const std::string& text, ir::RuleSet* rules) {
  support::FileId file = sources.add("random.rules", text);
  auto ast = syntax::parse_rules(sources, file, diags);
  return ast && sema::build_rules(*ast, sources, file, *rules, diags);
}

std::string rules_file(const std::string& rules, bool taps) {
  return fmt::format(
      "rules 1\ndef pair(p, q) = (Add | Mul)(Relu?(p), (q | Sigmoid(p)))\n"
      "backend b {{\n  runtime host_jit\n{}  partition {{ limit taps {} }}\n}}\n",
      rules, taps ? "yes" : "no");
}

/// A random pattern may name two nodes alike, match without an operator, or share no name with a second one: those are
/// left out.
std::string random_rules(Random& random) {
  std::string text;
  int rules = 1 + random.below(12);
  for (int i = 0; i < rules; ++i) {
    std::string rule =
        fmt::format("  rule r{} {{\n    match {}{}\n", i, PatternMaker(random).run(),
                    random.pick({"", "", "", ", Exp?(Max(root, ..))", ", (s, _) = Split(root)", ", any_op(root, ..)"}));
    if (random.chance(40)) rule += "    where not is_output(root) else \"an output\"\n";
    rule += "    cost bytes / (1 GB/s)\n  }\n";
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    ir::RuleSet alone;
    if (build(sources, diags, rules_file(rule, true), &alone)) text += rule;
  }
  return rules_file(text, random.chance(60));
}

using MatchText =
    std::tuple<int, std::vector<ir::NodeId>, std::vector<match::Binding>, std::vector<ir::ValueId>, double>;
using RefusalText = std::tuple<int, match::Refusal::Kind, int, std::string>;

class MatcherRandom : public ::testing::Test {
 protected:
  void check(uint64_t seed) {
    Random random(seed);
    std::string model_text = random_model(random), rules_text = random_rules(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + model_text + rules_text);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    auto model = sema::load_model_text(sources, sources.add("random.ir", model_text), "", diags);
    ASSERT_TRUE(model) << diags.render();
    ir::RuleSet rules;
    ASSERT_TRUE(build(sources, diags, rules_text, &rules)) << diags.render();
    const ir::Backend& backend = rules.backends.at(0);
    std::map<ir::NodeId, std::vector<MatchText>> by_root;
    std::map<ir::NodeId, std::vector<RefusalText>> refusals;
    for (size_t rule = 0; rule < backend.rules.size(); ++rule) {
      match::MatchReport report;
      collect(match::match_rule(model->graph, backend, static_cast<int>(rule), {}, &report), report, &by_root,
              &refusals);
    }
    match::MatchReport report;
    std::map<ir::NodeId, std::vector<MatchText>> found;
    std::map<ir::NodeId, std::vector<RefusalText>> found_refusals;
    std::vector<match::Match> all = match::match_backend(model->graph, backend, {}, &report);
    EXPECT_TRUE(
        std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.roots[0] < b.roots[0]; }));
    collect(all, report, &found, &found_refusals);
    EXPECT_EQ(found, by_root);
    EXPECT_EQ(found_refusals, refusals);
    count_automaton(model->graph, backend, all.size());
  }

  static void collect(const std::vector<match::Match>& matches, const match::MatchReport& report,
                      std::map<ir::NodeId, std::vector<MatchText>>* by_root,
                      std::map<ir::NodeId, std::vector<RefusalText>>* refusals) {
    for (const match::Match& m : matches) {
      (*by_root)[m.roots[0]].emplace_back(m.rule, m.nodes, m.bindings, m.results, m.cost);
    }
    for (const match::Refusal& r : report.refusals) {
      if (r.kind != match::Refusal::Kind::Structure) {
        (*refusals)[r.root].emplace_back(r.rule, r.kind, r.clause, r.message);
      }
    }
  }

  void count_automaton(const ir::Graph& graph, const ir::Backend& backend, size_t matches) {
    match::PatternAutomaton automaton(backend.rules);
    for (int state : automaton.run(graph)) told_ += automaton.rules_at(state).size();
    pairs_ += graph.node_count() * backend.rules.size();
    matches_ += matches;
  }

  size_t told_ = 0;  ///< (rule, node) pairs that the automaton leaves
  size_t pairs_ = 0;
  size_t matches_ = 0;
};

TEST_F(MatcherRandom, AutomatonAgreesWithRuleByRule) {
  const char* text = std::getenv("COLLAGE_RANDOM_ROUNDS");
  uint64_t cases = 2000 * static_cast<uint64_t>(text ? std::max(1, std::atoi(text)) : 1);
  for (uint64_t seed = 1; seed <= cases && !HasFailure(); ++seed) check(seed);
  EXPECT_GT(matches_, cases);
  // It leaves few pairs that do not match.
  EXPECT_LT(told_, pairs_ / 10);
}

}  // namespace
}  // namespace collage
