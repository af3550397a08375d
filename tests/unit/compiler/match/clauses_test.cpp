// SPDX-License-Identifier: Apache-2.0
// What rules ask of a match besides its pattern: lists of values, paths, neighbours, inner values, kernels, knobs,
// denials.
#include <gtest/gtest.h>

#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

constexpr const char* kWeighted = "%w = const dense f32[2, 3] [1.0, -2.0, 3.0, -4.0, 5.0, 6.0]\n%y = MatMul(%x, %w)";

/// Refusals of a rule on `%y = MatMul(%x, %w)` with w = [[1, -2, 3], [-4, 5, 6]]; `holds` where there is none.
std::string on_weights(const std::string& condition) {
  Case setup;
  setup.model("(%x: f32[1, 2]) -> (%y: f32[1, 3])", kWeighted)
      .rule("match MatMul(x, w: const) where " + condition + " else \"refused\"");
  Sets refusals = setup.refusals();
  return refusals.empty() ? "holds" : refusals[0];
}

TEST(Clauses, ReductionsOfConstants) {
  for (const char* condition : {
           "sum(values(w)) == 9",
           "product(values(w)) == 720",
           "max(values(w)) == 6 and min(values(w)) == -4",
           "sum_per(values(w), 0) == [2, 7]",
           "sum_per(abs(values(w)), 1) == [5, 7, 9]",
           "sum_per(values(w), -2) == [2, 7]",
           "values(w)[-1] == 6",
           "all(values(w) >= -4) and not all(values(w) > -4)",
           "any(values(w) == 5) and not any(values(w) == 7)",
           "all(values(w) in {1, -2, 3, -4, 5, 6})",
           "all(values(w) < 4 or values(w) > 4.5)",
           "any(not values(w) < 6)",
           "sum(2 * values(w) - 1) == 12",
           "sum(-values(w)) == -9",
           // Two numbers go with the two rows.
           "sum_per(values(w) + [10, 20], 0) == [32, 67]",
           "max([3, 1, 2]) == 3 and max(3, 1, 2) == 3",
       }) {
    EXPECT_EQ(on_weights(condition), "holds") << condition;
  }
}

TEST(Clauses, FunctionsOfNumbers) {
  for (const char* condition : {
           "abs(-3) == 3 and abs(2) == 2",
           "ceil(1.2) == 2 and floor(1.8) == 1 and floor(-0.5) == -1",
           "log2(8) == 3 and pow(2, 10) == 1024 and sqrt(9) == 3",
           "min(4, 2, 3) == 2 and max(4) == 4",
           "7 % 4 == 3 and -2 * 3 == -6 and 7 / 2 == 3.5 and 1 != 2",
       }) {
    EXPECT_EQ(on_weights(condition), "holds") << condition;
  }
  for (const auto& [condition, why] : {std::pair("not min(sqrt(-1), 1) == 1", "sqrt(-1) has no value"),
                                       std::pair("log2(0) < 0", "log2(0) has no value"),
                                       std::pair("pow(10, 19) > 1", "pow(10, 19) does not fit 64 bits"),
                                       std::pair("5 % (rank(w) - 2) != 1", "`5 % 0` divides by zero")}) {
    EXPECT_EQ(on_weights(condition), fmt::format("refused ({})", why)) << condition;
  }
}

TEST(Clauses, FunctionsOfValues) {
  for (const char* condition : {
           "rank(w) == 2 and dim(w, 0) == 2 and dim(w, -1) == 3 and shape(w) == [2, 3]",
           "elems(w) == 6 and bytes(w) == 24 B and dtype(w) == f32",
           "is_const(w) and not is_const(x) and not is_output(x)",
           "broadcasts(w, w) and not broadcasts(w, x)",
       }) {
    EXPECT_EQ(on_weights(condition), "holds") << condition;
  }
  EXPECT_EQ(on_weights("dim(w, 2) == 1"), "refused (`%w` has 2 dimensions, none with index 2)");
  EXPECT_EQ(on_weights("value(w) == 1"), "refused (`%w` is not a constant of one element)");
}

/// What a list that comes from an absent capture counts in a cost, beside `1 s`.
TEST(Clauses, ListsOfAnAbsentCaptureAreZero) {
  for (const char* term :
       {"at(shape(b), 0)", "sum(values(b))", "product(values(b))", "max(values(b))", "min(values(b))",
        "sum(sum_per(values(b), 0))", "sum(abs(values(b)))", "max(abs(values(b)))", "rank(b)"}) {
    Case setup;
    setup.model("(%x: f32[1, 2]) -> (%y: f32[1, 3])", "%w = const splat 1.0 : f32[2, 3]\n%y = Gemm(%x, %w)")
        .rule(std::string("match Gemm(x, w: const, b?: const) cost 1 s + 1 s * ") + term);
    auto matches = setup.matches();
    ASSERT_EQ(matches.size(), 1u) << term;
    EXPECT_DOUBLE_EQ(matches[0].cost, 1.0) << term;
  }
}

/// `b` is absent.
TEST(Clauses, FalseWinsOverAbsent) {
  const auto on = [](const std::string& condition) {
    Case setup;
    setup.model("(%x: f32[1, 2]) -> (%y: f32[1, 3])", "%w = const splat 1.0 : f32[2, 3]\n%y = Gemm(%x, %w)")
        .rule("match Gemm(x, w: const, b?: const) where " + condition + " else \"refused\" cost 1 s");
    return !setup.matches().empty();
  };
  for (const char* holds :
       {"dtype(b) == f32", "not dtype(b) == f32", "rank(w) == 2 and dtype(b) == f32", "rank(w) == 3 or dtype(b) == f32",
        "dtype(b) == f32 or rank(w) == 2", "not (rank(w) == 3 and dtype(b) == f32)", "rank(b) + rank(w) == 7"}) {
    EXPECT_TRUE(on(holds)) << holds;
  }
  for (const char* fails :
       {"rank(w) == 3 and dtype(b) == f32", "dtype(b) == f32 and rank(w) == 3", "not (rank(w) == 2 or dtype(b) == f32)",
        "(dtype(b) == f32 and rank(w) == 3) or rank(x) == 7", "(dtype(b) == f32 or rank(w) == 3) and rank(x) == 7"}) {
    EXPECT_FALSE(on(fails)) << fails;
  }
}

TEST(Clauses, WhatHasNoValueFails) {
  EXPECT_EQ(on_weights("sum(values(x)) == 1"), "refused (`%x` is not a constant)");
  EXPECT_EQ(on_weights("sum_per(values(w), 2) == [1]"), "refused (a list of shape [2, 3] has no axis 2)");
  EXPECT_EQ(on_weights("sum(values(w) + [1, 2, 3]) == 1"),
            "refused (a list of shape [2, 3] does not go with one of shape [3])");
  EXPECT_EQ(on_weights("version_at_least(\"new\", \"1\")"), "refused (\"new\" is not a version)");
}

TEST(Clauses, Versions) {
  EXPECT_EQ(on_weights("version_at_least(\"7.10\", \"7.9.9\") and version_at_least(\"7.1\", \"7.1.0\")"), "holds");
  EXPECT_EQ(on_weights("not version_at_least(\"7.1\", \"7.1.1\")"), "holds");
  EXPECT_EQ(on_weights("backend_version == 1"), "holds");
  // Nothing is known of the machine here.
  EXPECT_EQ(on_weights("version_at_least(library_version, \"999\")"), "holds");
}

TEST(Clauses, OperatorsAndOutputs) {
  auto on = [](const std::string& condition) {
    Case setup;
    setup
        .model("(%x: f32[4], %z: f32[4]) -> (%y: f32[4], %u: f32[4])",
               "%c = Relu(%x)\n%s = Sigmoid(%c)\n%u = Tanh(%z)\n%y = Add(%s, %u)")
        .rule("match y = Add(a = Sigmoid(b), r) where " + condition + " else \"refused\"", "limit taps yes, exits any");
    return setup.refusals();
  };
  for (const char* condition : {
           "op(a) == Sigmoid and op(a) in {Relu, elementwise} and op(y) != Sub",
           "is_output(r) and is_output(y) and not is_output(b)",
           "broadcasts(a, y)",
       }) {
    EXPECT_EQ(on(condition), Sets{}) << condition;
  }
}

TEST(Clauses, InnerValuesAreReadInsideOnly) {
  const char* rule = "match Relu(c = Tanh(v)) inner c";
  Case inside;
  inside.model(kUnary, "%t = Tanh(%x)\n%y = Relu(%t)").rule(rule, "limit taps yes");
  EXPECT_EQ(inside.matched(), (Sets{"t y"}));
  Case outside;
  outside.model("(%x: f32[4]) -> (%y: f32[4], %u: f32[4])", "%t = Tanh(%x)\n%y = Relu(%t)\n%u = Abs(%t)")
      .rule(rule, "limit taps yes");
  EXPECT_EQ(outside.refusals(), (Sets{"`%t` is also read by `%u`"}));
  Case output;
  output.model("(%x: f32[4]) -> (%y: f32[4], %t: f32[4])", "%t = Tanh(%x)\n%y = Relu(%t)").rule(rule, "limit taps yes");
  EXPECT_EQ(output.refusals(), (Sets{"`%t` is a model output"}));
  Case twice;
  twice.model(kUnary, "%t = Tanh(%x)\n%y = Mul(%t, %t)").rule("match Mul(c = Tanh(v), c) inner c uses 1");
  EXPECT_EQ(twice.refusals(), (Sets{"`%t` is read 2 times, need 1"}));
}

std::string chosen(const Case& setup) {
  auto matches = setup.matches();
  return matches.size() == 1 ? match::name_of(setup.backend().rules[0], matches[0]) : "no match";
}

TEST(Kernels, CheapestThatApplies) {
  const char* rule =
      "match y = Relu(v) cost 3 us lower \"slow\"(v)"
      " kernel plain { }"
      " kernel wide { where dim(v, 0) % 8 == 0 else \"{dim(v, 0)} wide\" cost 1 us lower \"wide\"(v) }"
      " kernel alike { where dim(v, 0) % 8 == 0 cost 1 us }";
  Case narrow;
  narrow.model(kUnary, "%y = Relu(%x)").rule(rule);
  EXPECT_EQ(chosen(narrow), "r:plain");
  EXPECT_DOUBLE_EQ(narrow.matches()[0].cost, 3e-6);
  Case wide;
  wide.model("(%x: f32[8]) -> (%y: f32[8])", "%y = Relu(%x)").rule(rule);
  EXPECT_EQ(chosen(wide), "r:wide");
}

TEST(Kernels, RefusalNamesTheFirstClauseOfEach) {
  Case setup;
  setup.model(kUnary, "%y = Relu(%x)")
      .rule(
          "match y = Relu(v)"
          " kernel wide { where dim(v, 0) % 8 == 0 else \"{dim(v, 0)} wide\" cost 1 us }"
          " kernel image { where rank(v) == 4 else \"{rank(v)} dimensions\" cost 1 us }");
  EXPECT_EQ(setup.refusals(), (Sets{"kernel wide: 4 wide; kernel image: 1 dimensions"}));
}

TEST(Knobs, CheapestValueThatHolds) {
  const char* rule =
      "match y = Relu(v) knob tile in {4, 8, 16} where dim(v, 0) % tile == 0 else \"{dim(v, 0)} in tiles of {tile}\""
      " cost 1 us / tile lower \"relu\"(v, tile)";
  Case eight;
  eight.model("(%x: f32[8]) -> (%y: f32[8])", "%y = Relu(%x)").rule(rule);
  EXPECT_EQ(chosen(eight), "r{tile=8}");
  Case odd;
  odd.model("(%x: f32[7]) -> (%y: f32[7])", "%y = Relu(%x)").rule(rule);
  EXPECT_EQ(odd.refusals(), (Sets{"7 in tiles of 4"}));
}

TEST(Deny, MatchesAndUnions) {
  Case setup;
  setup.model(kUnary, "%r = Relu(%x)\n%t = Tanh(%r)\n%y = Abs(%t)")
      .add_rules(
          "backend lib { runtime host_jit"
          " deny Tanh(Relu(v)) because \"no tanh of relu, {elems(v)} elements\""
          " rule r { match (Relu | Tanh | Abs)(v) cost 1 us }"
          " rule both { match Tanh(Relu(v)) cost 1 us }"
          " partition { join any limit ops any, depth any, exits any } }");
  EXPECT_EQ(setup.matched(), (Sets{"r", "t", "y"}));
  EXPECT_EQ(setup.refusals(), (Sets{"no tanh of relu, 4 elements"}));
  EXPECT_EQ(setup.candidate_sets(), (Sets{"r", "t", "t y", "y"}));
}

TEST(Needs, UnmetOnesRefuse) {
  match::Environment environment;
  environment.libraries["blas"] = "2.6.3 isa 7";
  environment.backends["npu"] = 2;
  auto why = [&](const std::string& need) {
    Case setup;
    setup.model(kUnary, "%y = Relu(%x)").rule("match y = Relu(v) needs " + need);
    match::MatchReport report;
    match::match_backend(setup.graph, setup.backend(), {}, &report, {}, &environment);
    return report.refusals.empty() ? "met" : report.refusals[0].message;
  };
  EXPECT_EQ(why("\"blas\""), "met");
  EXPECT_EQ(why("\"blas\" >= \"2.6\""), "met");
  EXPECT_EQ(why("\"blas\" > \"2.6.3\""), "library `blas` has version 2.6.3, need > 2.6.3");
  EXPECT_EQ(why("\"blas\" < \"3\", npu"), "met");
  EXPECT_EQ(why("\"fft\""), "this build has no library `fft`");
  EXPECT_EQ(why("dsp"), "it needs backend `dsp`, which is not active");
}

}  // namespace
}  // namespace collage::testing
