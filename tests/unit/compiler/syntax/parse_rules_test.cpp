// SPDX-License-Identifier: Apache-2.0
// Trees and spans of the rule language.
#include <fstream>
#include <sstream>

#include "compiler/syntax/rules_keywords.h"
#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

using syntax::ExprAst;
using syntax::PatternAst;

/// `(+ 1 (* 2 x))`
std::string show(const ExprAst& expr) {
  switch (expr.kind) {
    case ExprAst::Kind::Number: return fmt::format("{}{}", expr.number, expr.text);
    case ExprAst::Kind::String: return "\"" + expr.text + "\"";
    case ExprAst::Kind::Name: return expr.text;
    default: break;
  }
  std::string text = "(";
  if (expr.kind == ExprAst::Kind::Member) text += ".";
  if (expr.kind == ExprAst::Kind::Index) text += "at";
  if (expr.kind == ExprAst::Kind::List) text += "list";
  if (expr.kind == ExprAst::Kind::If) text += "if";
  text += expr.text;
  for (const ExprAst& arg : expr.args) text += " " + show(arg);
  return text + ")";
}

class RulesParse : public RulesFixture {
 public:
  std::string expression(const std::string& text) {
    auto ast = parse("rules 1 backend a { rule r { where " + text + " } }");
    return ast ? show(ast->backends.at(0).rules.at(0).clauses.at(0).condition) : diags.render();
  }
};

TEST_F(RulesParse, PrecedenceIsTheUsualOne) {
  EXPECT_EQ(expression("a + b * c == d and not e or f"), "(or (and (== (+ a (* b c)) d) (not e)) f)");
  EXPECT_EQ(expression("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression("-a * b"), "(* (- a) b)");
  EXPECT_EQ(expression("-c.strides[0] % 2"), "(% (- (at (.strides c) 0)) 2)");
  EXPECT_EQ(expression("not a == b"), "(not (== a b))");
  EXPECT_EQ(expression("a + 1 in {1, 2}"), "(in (+ a 1) (list 1 2))");
  EXPECT_EQ(expression("f() + g(1, [2, 3])"), "(+ (f) (g 1 (list 2 3)))");
}

TEST_F(RulesParse, UnitsBelongToNumbers) {
  EXPECT_EQ(expression("8 us"), "8us");
  EXPECT_EQ(expression("8us"), "8us");
  EXPECT_EQ(expression("4 GB/s"), "4GB/s");
  EXPECT_EQ(expression("4 GB / s"), "(/ 4GB s)");
  EXPECT_EQ(expression("4 GB/size"), "(/ 4GB size)");
  EXPECT_EQ(expression("1.5e3 MiB"), "1500MiB");
  EXPECT_EQ(expression("2 in {2}"), "(in 2 (list 2))");
  EXPECT_EQ(expression("s % 2"), "(% s 2)");
}

TEST_F(RulesParse, SpansAreThoseOfTheText) {
  auto ast = parse("rules 1\nbackend npu { rule r { where dim(x, 1) == 3 else \"is {dim(x, 1)}!\" } }");
  ASSERT_TRUE(ast) << diags.render();
  const syntax::WhereAst& where = ast->backends[0].rules[0].clauses[0];
  EXPECT_EQ(sources.text(ast->backends[0].name.span), "npu");
  EXPECT_EQ(sources.text(where.condition.span), "dim(x, 1) == 3");
  EXPECT_EQ(sources.text(where.condition.args[0].text_span), "dim");
  ASSERT_TRUE(where.reason);
  ASSERT_EQ(where.reason->holes.size(), 1u);
  EXPECT_EQ(sources.text(where.reason->holes[0].span), "dim(x, 1)");
  EXPECT_EQ(where.reason->texts, (std::vector<std::string>{"is ", "!"}));
}

TEST_F(RulesParse, PatternForms) {
  auto ast = parse("rules 1 backend a { rule r { match y = act?(c = (Conv | Gemm)(x, w: const, b?: const, ..)) } }");
  ASSERT_TRUE(ast) << diags.render();
  const PatternAst& act = ast->backends[0].rules[0].matches[0].patterns[0];
  EXPECT_TRUE(act.optional);
  EXPECT_EQ(act.capture->text, "y");
  EXPECT_EQ(act.ops.at(0).text, "act");
  const PatternAst& conv = act.operands.at(0);
  EXPECT_EQ(conv.capture->text, "c");
  EXPECT_EQ(conv.ops.size(), 2u);
  EXPECT_TRUE(conv.takes_rest);
  ASSERT_EQ(conv.operands.size(), 3u);
  EXPECT_TRUE(conv.operands[1].is_const);
  EXPECT_FALSE(conv.operands[1].may_be_absent);
  EXPECT_TRUE(conv.operands[2].may_be_absent);
}

TEST_F(RulesParse, GroupsKeepTheirChoicesApart) {
  auto ast = parse(
      "rules 1 backend a { rule r { match z = (A(x) | B(x) | C(x)) } rule s { match (A(x) | B(x)) | y = (C(x) | D(x)) "
      "} }");
  ASSERT_TRUE(ast) << diags.render();
  EXPECT_EQ(ast->backends[0].rules[0].matches[0].patterns[0].choices.size(), 3u);
  const PatternAst& second = ast->backends[0].rules[1].matches[0].patterns[0];
  ASSERT_EQ(second.choices.size(), 3u);
  EXPECT_EQ(second.choices[2].capture->text, "y");
}

TEST_F(RulesParse, EscapesInStrings) {
  auto ast = parse(R"(rules 1 backend a { rule r { where x else "a\"\{b\}\\" test ok """x "y" z""" -> {%y} } })");
  ASSERT_TRUE(ast) << diags.render();
  const syntax::RuleAst& rule = ast->backends[0].rules[0];
  EXPECT_EQ(rule.clauses[0].reason->texts.at(0), "a\"{b}\\");
  EXPECT_EQ(rule.tests[0].model.text, "x \"y\" z");
}

TEST_F(RulesParse, AnErrorDoesNotHideTheNext) {
  EXPECT_FALSE(
      parse("rules 1\nbackend a {\n  attr = 3\n  rule r { match y = \n cost 1 s }\n  limit 3\n}\nbackend { }\nbackend "
            "b { rule r { tset } }"));
  EXPECT_EQ(diags.error_count(), 5u) << diags.render();
}

/// A file that holds `text` in a block of this kind; empty for the blocks of phases, whose items are no statements.
std::string in_block(unsigned block, const std::string& text) {
  switch (block) {
    case syntax::InFile: return "rules 1 " + text;
    case syntax::InBackend: return "rules 1 backend a { " + text + " }";
    case syntax::InDevice: return "rules 1 backend a { device d { " + text + " } }";
    case syntax::InRule: return "rules 1 backend a { rule r { " + text + " } }";
    case syntax::InKernel: return "rules 1 backend a { rule r { kernel k { " + text + " } } }";
    case syntax::InPartition: return "rules 1 backend a { partition { " + text + " } }";
    default: return "";
  }
}

TEST_F(RulesParse, ReadingGoesOnAtEveryWordThatStartsAStatement) {
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    if (!keyword.starts_statement() || keyword.is_contextual()) continue;
    for (unsigned block = syntax::InFile; block <= syntax::InPartition; block *= 2) {
      if ((keyword.starts & block) == 0) continue;
      std::string text = in_block(block, fmt::format("= {} =", keyword.spelling));
      size_t before = diags.error_count();
      EXPECT_FALSE(parse(text));
      EXPECT_EQ(diags.error_count() - before, 2u) << text;
    }
  }
}

TEST_F(RulesParse, AWordThatStartsAStatementElsewhereIsPartOfTheError) {
  EXPECT_FALSE(parse("rules 1 backend a { device d { link host latency = energy 3 pJ queue = } }"));
  EXPECT_EQ(diags.error_count(), 2u) << diags.render();
  EXPECT_FALSE(parse("rules 1 backend a { deny = where x because \"y\" }"));
  EXPECT_EQ(diags.error_count(), 3u) << diags.render();
}

TEST_F(RulesParse, EveryWordIsANameAfterADotOrThePercentOfAName) {
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    std::string word(keyword.spelling);
    EXPECT_EQ(expression("c." + word), "(." + word + " c)");
    auto ast = parse(in_block(syntax::InRule, "test ok \"\" with %" + word + ": f32[1] -> {%a, %" + word + "}"));
    ASSERT_TRUE(ast) << diags.render();
    const syntax::TestAst& test = ast->backends[0].rules[0].tests[0];
    EXPECT_EQ(test.inputs.at(0).name.text, word);
    EXPECT_EQ(test.nodes->at(1).text, word);
  }
}

TEST_F(RulesParse, APercentThatDividesMakesNoNames) {
  EXPECT_EQ(expression("a % max(b, 2)"), "(% a (max b 2))");
  EXPECT_EQ(expression("f(a)%b"), "(% (f a) b)");
  EXPECT_FALSE(parse(in_block(syntax::InRule, "where a % cost 1 s")));
  EXPECT_NE(diags.render().find("unexpected `cost`"), std::string::npos) << diags.render();
}

TEST_F(RulesParse, WordsThatMayBeNamesAreNames) {
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    if (!keyword.may_be_name()) continue;
    std::string word(keyword.spelling);
    EXPECT_EQ(expression(word + " + 1"), "(+ " + word + " 1)");
    EXPECT_TRUE(parse(in_block(syntax::InRule, fmt::format("match {0} = Relu({0})", word)))) << diags.render();
  }
}

TEST_F(RulesParse, ContextualWordsAreNamesUnlessWhatFollowsSaysOtherwise) {
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    if (!keyword.is_contextual()) continue;
    std::string word(keyword.spelling);
    EXPECT_EQ(expression(word + " + 1"), "(+ " + word + " 1)");
    EXPECT_EQ(expression("max(" + word + ", 1)"), "(max " + word + " 1)");
    EXPECT_TRUE(parse(in_block(syntax::InRule, fmt::format("match {0} = Relu({0}) where {0} == 1 cost {0}", word))));
  }
  // Whatever could follow the name `let` at the end of a statement: the next one.
  for (const char* next : {"cost (1 s)", "where a == b", "lower \"f\"(a)", "match a = Relu(b)"}) {
    auto ast = parse(in_block(syntax::InRule, std::string("where let ") + next));
    ASSERT_TRUE(ast) << next << diags.render();
    EXPECT_TRUE(ast->backends[0].rules[0].lets.empty()) << next;
  }
  auto ast = parse(in_block(syntax::InRule, "where a let b = 3 cost b let f(x) = x"));
  ASSERT_TRUE(ast) << diags.render();
  EXPECT_EQ(ast->backends[0].rules[0].lets.size(), 2u);
  EXPECT_EQ(expression("if // a comment\n a then b else c + 1"), "(if a b (+ c 1))");
  EXPECT_EQ(expression("1 + (if a then if b then 1 else 2 else 3)"), "(+ 1 (if a (if b 1 2) 3))");
}

TEST_F(RulesParse, AMisspeltWordIsNamedWithWhatWasExpected) {
  EXPECT_FALSE(parse(in_block(syntax::InBackend, "max partition_s 3")));
  EXPECT_FALSE(parse(in_block(syntax::InBackend, "device d counts 3 runtime sim")));
  std::string errors = diags.render();
  EXPECT_NE(errors.find("unexpected `partition_s`, expected `partitions`"), std::string::npos) << errors;
  EXPECT_NE(errors.find("unexpected `counts`, expected `count` or the next statement"), std::string::npos) << errors;
}

/// Text of a file of the repository.
std::string read(const std::string& path) {
  std::ifstream file(std::string(COLLAGE_SOURCE_DIR) + "/" + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(RulesParse, TheGrammarInRulesMdHasEveryKeyword) {
  std::string grammar = read("grammar/rules.md");
  for (const syntax::Keyword& keyword : syntax::kKeywords) {
    EXPECT_NE(grammar.find(fmt::format("\"{}\"", keyword.spelling)), std::string::npos) << keyword.spelling;
  }
}

TEST_F(RulesParse, TheGrammarInTheReadmeHasEveryKeywordOfModels) {
  std::string grammar = read("grammar/README.md");
  for (std::string_view word : {
#define KEYWORD(name, spelling, use, text) spelling,
#include "grammar/model_keywords.def"
#undef KEYWORD
       }) {
    EXPECT_NE(grammar.find(fmt::format("\"{}\"", word)), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace collage
