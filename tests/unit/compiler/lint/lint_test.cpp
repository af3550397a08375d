// SPDX-License-Identifier: Apache-2.0
// Rules beside each other: what is said to be shadowed is, on random models; witnesses match.
#include <array>

#include "compiler/lint/models/example_models.h"
#include "tests/unit/compiler/lint/fixture.h"

namespace collage::testing {
namespace {

using support::Code;

std::string random_rule(std::mt19937& random, const std::string& name) {
  auto pick = [&](const auto& from) { return std::string(from[random() % from.size()]); };
  static constexpr std::array<const char*, 10> kPatterns = {
      "Relu(x)",   "(Relu | Tanh)(x)", "y = Relu?(Add(x, z))", "Relu(Add(x, z))", "Add(x, z)", "(Relu(x) | Tanh(x))",
      "Add(x, x)", "Add(Relu(x), z)",  "Add(z, Relu(x))",      "Add(x, Relu(x))"};
  static constexpr std::array<const char*, 7> kConditions = {
      "where rank(x) >= 2",       "where rank(x) == 2",   "where dtype(x) == f32", "where dtype(x) in {f32, f64}",
      "where dim(x, 0) % 4 == 0", "where dim(x, 0) == 8", "where dim(x, 0) < 9"};
  static constexpr std::array<const char*, 5> kCosts = {"1 us", "2 us", "elems(x) * 1 ns", "flops * 1 ns",
                                                        "flops * 1 ns + 1 us"};
  std::string text = "rule " + name + " { match " + pick(kPatterns) + " ";
  for (size_t count = random() % 3; count > 0; --count) text += pick(kConditions) + " ";
  return text + "cost " + pick(kCosts) + " }\n";
}

/// Wherever a rule that adds nothing matches, another one does: the same nodes, at no higher cost.
TEST(LintRules, ShadowedOnRandomModels) {
  std::mt19937 random(2);
  std::vector<ir::Graph> models;
  for (int i = 0; i < 80; ++i) models.push_back(random_model(random));
  int shadowed = 0;
  int confirmed = 0;
  for (int i = 0; i < 1200; ++i) {
    std::string text = random_rule(random, "a") + random_rule(random, "b");
    Linted linted(text);
    for (const auto& record : linted.diags.records()) {
      if (record.code != Code::ShadowedRule && record.code != Code::DuplicateRule) continue;
      ++shadowed;
      int special = linted.backend().rules[0].span == record.span ? 0 : 1;
      for (const ir::Graph& model : models) {
        auto theirs = match::match_rule(model, linted.backend(), special, {}, nullptr);
        auto others = match::match_rule(model, linted.backend(), 1 - special, {}, nullptr);
        for (const match::Match& match : theirs) {
          ++confirmed;
          ASSERT_TRUE(std::any_of(others.begin(), others.end(), [&](const match::Match& other) {
            return other.nodes == match.nodes && other.cost <= match.cost;
          })) << text;
        }
      }
    }
  }
  EXPECT_GT(shadowed, 40);
  EXPECT_GT(confirmed, 200);
}

TEST(LintRules, WitnessesAreFound) {
  for (const char* body : {
           "match Relu?(Conv(x, w: const, b?: const)) where dim(x, 1) % 12 == 0",
           "match y = Add?(c = Conv(x, w: const), r) where c.group == 2 where c.strides == [2, 2]",
           "match Mul(c = Conv(x, w), Sigmoid(c)) where dtype(x) == f32 where rank(x) == 3",
           "match Gemm(a, b, c?) where dim(a, 0) > 100",
           "match Add(MatMul(a, b), bias: const) where rank(bias) == 1",
           "match BatchNormalization(x, scale: const, shift: const, mean: const, variance: const)",
           "match (MaxPool | AveragePool)(x) where shape(x) == [1, 16, 5, 5]",
           "match Mul(x, half: const) where value(half) == 0.5",
           "match y = Concat(a, b) where y.axis == 1",
           "match Add(Relu(x), Relu(x))",
           "match Clip(x, low?: const, high?: const) where dtype(x) == i8",
           "match LayerNormalization(x, scale, shift) where shape(scale) == [dim(x, -1)]",
           "match Softmax(x) where rank(x) == 1 and dim(x, 0) > 4000",
       }) {
    Linted linted(std::string("rule r { ") + body + " cost 1 us }");
    EXPECT_FALSE(lint::witnesses_of(linted.backend(), 0, 1).empty()) << body;
  }
}

}  // namespace
}  // namespace collage::testing
