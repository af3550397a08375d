// SPDX-License-Identifier: Apache-2.0
// Which conditions can hold: examples, and random conditions held against random models.
#include <array>

#include "tests/unit/compiler/lint/fixture.h"

namespace collage::testing {
namespace {

using support::Code;

Linted one_rule(const std::string& clauses) {
  return Linted("rule r { match y = Add(c = Relu(x), z) " + clauses + " cost 1 us }");
}

TEST(LintConditions, ThatExcludeEachOther) {
  for (const char* clauses : {
           "where dim(x, 0) > 3 where dim(x, 0) < 4",
           "where dim(x, 0) == 2 * dim(z, 0) where dim(z, 0) > 4 where dim(x, 0) <= 8",
           "where dim(x, 0) + 1 < dim(z, 0) and dim(z, 0) <= dim(x, 0) + 1",
           "where dim(x, -1) != dim(x, 1) where rank(x) == 2",
           "where shape(x) == shape(z) where rank(x) == 3 where rank(z) == 4",
           "where shape(x) == [4, 5] where dim(x, 1) == 4",
           "where rank(x) == 2 where dim(x, 2) > 0",
           "where dtype(x) == dtype(z) where dtype(z) == dtype(y) where dtype(x) == f32 and dtype(y) == i8",
           "where dtype(x) != dtype(z) where dtype(x) == f32 where dtype(z) == f32",
           "where dim(x, 0) % 4 == 1 where dim(x, 0) % 6 == 0",
           "where dim(x, 0) % lanes == 0 and dim(x, 0) < 8 and dim(x, 0) != 0",
           "where not (dim(x, 0) in {1, 2}) where dim(x, 0) > 0 and dim(x, 0) <= 2",
           "where dim(x, 0) in {1.5, -2}",
           "where elems(x) == 5 where dim(x, 0) == 6",
           "where lanes == 32",
           "where (dim(x, 0) == 1 or dim(x, 0) == 2) and not (dim(x, 0) < 3)",
           "where dim(x, 0) / 4 > 3 where dim(x, 0) / 4 < 2",
           "where shape(x) == [2, 2] where rank(x) == 3",
           "where shape(x)[0] == 2 where dim(x, 0) == 3",
           "where is_const(c)",
           "where rank(x) > 64",
           "where min(dim(x, 0), 4) > 4",
           "where abs(dim(x, 0) - 3) < 0",
           "where max(shape(x)) < 4 where min(shape(x)) > 3",
           "where max(shape(x)) <= 8 where all(shape(x) > 8)",
           "where any(shape(x) > 8) where max(shape(x)) <= 8",
           "where not all(shape(x) <= 8) where max(shape(x)) <= 8",
           "where max(shape(x)) <= 8 where shape(x)[0] > 8",
           "where min(shape(x)) >= 2 where dim(x, 1) == 1",
           "where max(values(z)) <= 0.5 where min(values(z)) > 0.5",
       }) {
    Linted linted = one_rule(clauses);
    EXPECT_TRUE(linted.has(Code::ContradictoryWhere)) << clauses;
  }
}

TEST(LintConditions, ThatMayHold) {
  for (const char* clauses : {
           "where dim(x, 0) > 3 where dim(x, 0) < 5",
           "where dim(x, 0) > 3 or dim(x, 0) < 3",
           "where dim(x, -1) != dim(x, 1) where rank(x) == 3",
           "where dim(x, 0) % width == 0 where dim(x, 0) == 12",
           "where width == 32",
           "where dtype(x) != dtype(z) where dtype(x) == f32",
           "where not (value(z) < 1) where not (value(z) >= 1)",
           "where dim(x, 0) % 4 == 1 where dim(x, 0) % 6 == 3",
           "where dim(x, 0) / 4 > 1.9 where dim(x, 0) / 4 < 2.1",
           "where elems(x) == 0 where dim(x, 0) == 6",
           "where max(shape(x)) > 8 where min(shape(x)) < 8",
           "where all(shape(x) > 8) where all(shape(x) < 8)",
           "where any(shape(x) > 8) where any(shape(x) < 8)",
           "where not all(shape(x) > 8) where max(shape(x)) > 8",
           "where dim(x, 0) < dim(x, 1) where dim(x, 1) < dim(x, 2)",
           "where rank(x) == 2 where shape(x) != shape(z)",
           "where max(dim(x, 0), 4) > 4",
       }) {
    Linted linted = one_rule(clauses);
    EXPECT_FALSE(linted.has(Code::ContradictoryWhere)) << clauses << "\n" << linted.diags.render();
    EXPECT_FALSE(linted.has(Code::RedundantWhere)) << clauses << "\n" << linted.diags.render();
  }
}

std::string random_condition(std::mt19937& random, int depth) {
  auto pick = [&](const auto& from) { return std::string(from[random() % from.size()]); };
  static constexpr std::array<const char*, 12> kNumbers = {
      "dim(x, 0)", "dim(x, 1)", "dim(x, -1)",    "dim(y, 0)",         "rank(x)",   "rank(y)",
      "elems(x)",  "lanes",     "dim(x, 0) % 4", "dim(x, 1) % lanes", "dim(y, 1)", "dim(x, 0) - dim(y, 0)"};
  static constexpr std::array<const char*, 7> kConstants = {"0", "1", "2", "4", "8", "12", "2.5"};
  static constexpr std::array<const char*, 6> kOps = {"==", "!=", "<", "<=", ">", ">="};
  static constexpr std::array<const char*, 3> kDtypes = {"f32", "f64", "i32"};
  switch (depth > 0 ? random() % 9 : random() % 6) {
    case 0:
    case 1: return pick(kNumbers) + " " + pick(kOps) + " " + pick(kConstants);
    case 2: return pick(kNumbers) + " " + pick(kOps) + " " + pick(kNumbers);
    case 3: return "dtype(x) " + pick(std::array<const char*, 2>{"==", "!="}) + " " + pick(kDtypes);
    case 4: return pick(kNumbers) + " in {" + pick(kConstants) + ", " + pick(kConstants) + "}";
    case 5: return "shape(x) == [" + pick(kConstants) + ", dim(y, 0)]";
    case 6: return "not (" + random_condition(random, depth - 1) + ")";
    case 7: return "(" + random_condition(random, depth - 1) + " and " + random_condition(random, depth - 1) + ")";
    default: return "(" + random_condition(random, depth - 1) + " or " + random_condition(random, depth - 1) + ")";
  }
}

/// What is said to never match, never matches; what is said to always hold, changes nothing.
TEST(LintConditions, HoldOnRandomModels) {
  std::mt19937 random(1);
  std::vector<ir::Graph> models;
  for (int i = 0; i < 60; ++i) models.push_back(random_model(random));
  int contradictory = 0;
  int redundant = 0;
  int matched = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = "rule r { match y = (Relu | Add)(x, ..) ";
    size_t count = 1 + random() % 3;
    for (size_t k = 0; k < count; ++k) text += "where " + random_condition(random, 2) + " ";
    Linted linted(text + "cost 1 us }");
    bool never = linted.has(Code::ContradictoryWhere);
    contradictory += never ? 1 : 0;
    ir::Backend without = linted.backend();
    std::vector<ir::Clause>& clauses = without.rules[0].clauses;
    size_t before = clauses.size();
    for (const auto& record : linted.diags.records()) {
      if (record.code != Code::RedundantWhere) continue;
      std::erase_if(clauses, [&](const ir::Clause& clause) { return clause.span == record.span; });
    }
    redundant += static_cast<int>(before - clauses.size());
    for (const ir::Graph& model : models) {
      auto matches = match::match_backend(model, linted.backend(), {}, nullptr);
      matched += matches.empty() ? 0 : 1;
      ASSERT_TRUE(!never || matches.empty()) << text;
      if (before == clauses.size()) continue;
      ASSERT_EQ(matches.size(), match::match_backend(model, without, {}, nullptr).size()) << text;
    }
  }
  // The properties say something only where there is something to say.
  EXPECT_GT(contradictory, 150);
  EXPECT_GT(redundant, 20);
  EXPECT_GT(matched, 1000);
}

}  // namespace
}  // namespace collage::testing
