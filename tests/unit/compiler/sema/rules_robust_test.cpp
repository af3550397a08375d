// SPDX-License-Identifier: Apache-2.0
// Whatever the text is: diagnostics, and neither a crash nor long waiting.
#include <random>

#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

class RulesRobust : public RulesFixture {};

std::string repeat(std::string_view part, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part;
  return text;
}

TEST_F(RulesRobust, DeepNesting) {
  constexpr int kDeep = 50'000;
  const std::string texts[] = {
      "match y = " + repeat("Relu(", kDeep),
      "match y = " + repeat("(", kDeep) + "x" + repeat(")", kDeep),
      "match y = Relu(x) cost " + repeat("(", kDeep) + "1 s",
      "match y = Relu(x) cost " + repeat("1 + ", kDeep) + "1 s",
      "match y = Relu(x) cost " + repeat("-", kDeep) + "1 s",
      "match y = Relu(x) where " + repeat("not ", kDeep) + "true",
      "match y = Relu(c = Relu(x)) where c" + repeat(".a", kDeep) + " == 1",
      "match y = " + repeat("Relu?(", 90) + "Relu(x)" + repeat(")", 90) + " cost 1 s",
  };
  for (const std::string& text : texts) {
    size_t before = diags.error_count();
    build_rule(text);
    EXPECT_GT(diags.error_count(), before) << text.substr(0, 60);
  }
}

TEST_F(RulesRobust, AsDeepAsAllowed) {
  EXPECT_TRUE(build_rule("match y = Relu(" + repeat("(Relu(a) | ", 90) + "b" + repeat(")", 90) + ") cost 1 s"))
      << diags.render();
}

TEST_F(RulesRobust, LongListsAreFine) {
  EXPECT_TRUE(
      build_rule("match y = Concat(" + repeat("_, ", 5000) + "x) where 1 in {" + repeat("1, ", 5000) + "2} cost 1 s"))
      << diags.render();
}

TEST_F(RulesRobust, DamagedFiles) {
  const std::string good =
      "rules 1\nbackend npu version 2 {\n device npu count 2 { memory 8 MiB link host bandwidth 4 GB/s latency 8 us }\n"
      " attr lanes: int = 8 in {8, 16}\n runtime sim\n rule r for act in {Relu, Tanh} {\n"
      "  match y = act?(c = Conv(x, w: const, b?: const))\n  where dim(x, 1) % lanes == 0 else \"{dim(x, 1)} "
      "channels\"\n"
      "  format x: NHWC, y: as x\n  cost macs / (512 * lanes) * 1 ns\n  lower \"conv\"(x, w, b, act)\n"
      "  test ok \"%c = Conv(%x, %w)\" with x: f32[1, 8, 1, 1], w: f32[1, 8, 1, 1] -> {%c}\n }\n"
      " partition { join any limit depth 8, taps yes launch 2 us cost launch + sum(rules) }\n}\n"
      "switch lan { }\ncluster lab {\n host count 2 { memory 8 GiB devices npu 4 link lan bandwidth 1 GB/s }\n"
      " host { link lan bandwidth 1 GB/s link ring bandwidth 2 GB/s }\n"
      " host { link ring bandwidth 2 GB/s link tree(2) bandwidth 1 GB/s }\n host { link tree(2) bandwidth 1 GB/s "
      "}\n}\n";
  ASSERT_TRUE(build(good)) << diags.render();
  std::mt19937 random(7);
  auto pick = [&random](size_t below) { return static_cast<size_t>(random() % below); };
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (size_t edits = 1 + pick(4); edits > 0; --edits) {
      size_t at = pick(text.size());
      size_t length = std::min(pick(12), text.size() - at);
      switch (pick(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, good.substr(pick(good.size()), pick(40))); break;
        case 2: text[at] = static_cast<char>(pick(256)); break;
        default: text.insert(at, 1, "(){}[]\"|?.,=%\\"[pick(14)]); break;
      }
    }
    support::SourceManager own;
    support::Diagnostics found(own);
    support::FileId file = own.add("damaged.rules", text);
    auto ast = syntax::parse_rules(own, file, found);
    EXPECT_EQ(ast.has_value(), !found.has_errors()) << text;
    ir::RuleSet rules;
    bool ok = ast && sema::build_rules(*ast, own, file, rules, found);
    EXPECT_EQ(ok, !found.has_errors()) << text << found.render();
    if (ok) ok = sema::check_rule_set(rules, found);
    EXPECT_EQ(ok, !found.has_errors()) << text << found.render();
  }
}

}  // namespace
}  // namespace collage
