// SPDX-License-Identifier: Apache-2.0
// What a near miss says, and where the border of a predicate runs.
#include "compiler/match/refusals.h"

#include "compiler/match/predicate_boundary.h"
#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

using Lines = std::vector<std::string>;

/// `Structure: text` of each rule of the first backend, in order.
Lines misses(const Case& given, const std::string& node) {
  match::AttrValues attrs;
  match::MatchReport report;
  std::vector<match::Match> matches = given.matches(&report);
  match::Refusals refusals(given.graph, given.backend(), attrs, nullptr, {matches, report.refusals});
  std::vector<match::NearMiss> ranked = refusals.of(given.graph.find_node(node));
  std::optional<match::NearMiss> nearest = refusals.nearest(given.graph.find_node(node));
  EXPECT_EQ(nearest ? match::reason_text(*nearest) : "", ranked.empty() ? "" : match::reason_text(ranked[0]));
  Lines lines;
  for (const match::NearMiss& miss : ranked) {
    std::string line = miss.kind == match::Refusal::Kind::Structure ? "structure: "
                       : miss.kind == match::Refusal::Kind::Inside  ? "inside: "
                                                                    : "clause: ";
    line += miss.message;
    for (const ir::OpDef* op : miss.needed) line += " " + std::string(op->name);
    lines.push_back(line);
  }
  return lines;
}

const std::string kHead = "(%x: f32[1, 8, 4, 4]) -> (%y: f32[1, 8, 4, 4])";
const std::string kConvBody = "%w = const random seed 1 : f32[8, 8, 1, 1]\n%c = Conv(%x, %w)\n";

TEST(NearMiss, NamesTheClauseOfTheNodeWhereverItStandsInThePattern) {
  Case given;
  given.model(kHead, kConvBody + "%y = Relu(%c)")
      .rule("match y = Relu(Conv(x, w)) where rank(x) == 2 else \"rank {rank(x)}\"");
  EXPECT_EQ(misses(given, "c"), Lines{"clause: rank 4"});
  EXPECT_EQ(misses(given, "y"), Lines{"clause: rank 4"});
}

TEST(NearMiss, NamesWhatReadsTheNodeInstead) {
  Case given;
  given.model(kHead, kConvBody + "%y = Mul(%c, %c)").rule("match y = (Relu | Tanh)(Add?(Conv(x, w), r))");
  EXPECT_EQ(misses(given, "c"), Lines{"structure: `%c` is read by Mul Add Relu Tanh"});
}

TEST(NearMiss, ClimbsToTheRootAndTellsWhatIsMissingBesideTheNode) {
  Case given;
  given.model(kHead, kConvBody + "%y = Mul(%c, %x)").rule("match y = Mul(c = Conv(x, w), Sigmoid(c))");
  EXPECT_EQ(misses(given, "c"), Lines{"structure: `%x` is a model input, need Sigmoid"});
}

TEST(NearMiss, ClimbsThroughOperatorsThatRepeat) {
  for (const char* over : {"Tanh(Relu{0, 2}(Conv(x, w)))", "Tanh(via elementwise{1, 3}(Conv(x, w)))"}) {
    Case given;
    given.model(kHead, kConvBody + "%a = Relu(%c)\n%y = Softmax(%a)").rule(std::string("match y = ") + over);
    EXPECT_EQ(misses(given, "c"), Lines{"structure: `%a` is read by Softmax Tanh"}) << over;
    EXPECT_EQ(misses(given, "a"), Lines{"structure: `%a` is read by Softmax Tanh"}) << over;
  }
}

TEST(NearMiss, KnowsPlacesInFurtherPatterns) {
  Case given;
  given.model(kHead, kConvBody + "%r = Relu(%c)\n%s = Sigmoid(%r)\n%y = Mul(%r, %s)")
      .rule("match r = Relu(v), y = Mul(r, Sigmoid(r)) where rank(y) == 2 else \"rank {rank(y)}\"", "limit taps yes");
  EXPECT_EQ(misses(given, "s"), Lines{"clause: rank 4"});
}

TEST(NearMiss, TellsOfAModelOutput) {
  Case given;
  given.model(kHead, "%w = const random seed 1 : f32[8, 8, 1, 1]\n%y = Conv(%x, %w)")
      .rule("match y = Relu(Conv(x, w))");
  EXPECT_EQ(misses(given, "y"), Lines{"structure: `%y` is a model output Relu"});
}

TEST(NearMiss, TellsOfAReaderOutside) {
  Case given;
  given.model("(%x: f32[4]) -> (%y: f32[4])", "%a = Neg(%x)\n%b = Exp(%a)\n%y = Add(%a, %b)")
      .rule("match y = Exp(Neg(x))");
  EXPECT_EQ(misses(given, "a"), Lines{"inside: `%a` is also read by `%y`"});
}

TEST(NearMiss, SaysNothingOfRulesThatMatchOrHaveNoPlaceForTheOperator) {
  Case given;
  given.model("(%x: f32[4]) -> (%y: f32[4])", "%a = Neg(%x)\n%y = Exp(%a)").rule("match y = Exp(x)");
  EXPECT_EQ(misses(given, "y"), Lines{});
  EXPECT_EQ(misses(given, "a"), Lines{});
}

TEST(NearMiss, OrdersByHowFarTheyCame) {
  Case given;
  given.model(kHead, kConvBody + "%y = Relu(%c)").add_rules(R"(backend lib {
  runtime host_jit
  rule above { match y = Tanh(Conv(x, w)) cost 0 s }
  rule early { match c = Conv(x, w) where rank(x) == 2 else "early" where rank(x) == 2 else "late" cost 0 s }
  rule late { match c = Conv(x, w) where rank(x) == 4 else "early" where rank(x) == 2 else "late" cost 0 s }
})");
  EXPECT_EQ(misses(given, "c"), (Lines{"clause: late", "clause: early", "structure: `%c` is read by Relu Tanh"}));
}

std::string boundary(const std::string& condition) {
  Case given;
  given.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Exp(%x)").add_rules(R"(backend lib {
  runtime host_jit
  attr lanes: int = 8
  attr most: size = 64 KiB
  rule r { match y = Exp(x) where )" + condition + " cost 0 s }\n}");
  return match::predicate_boundary(given.backend().rules[0].clauses[0], given.graph, given.backend(), {},
                                   given.sources);
}

TEST(PredicateBoundary, IsTheComparisonAsWrittenWithTheBackendsAttributesFilledIn) {
  EXPECT_EQ(boundary("dim(x, 0) <= 4096"), "dim(x, 0) <= 4096");
  EXPECT_EQ(boundary("dim(x, 0) % lanes == 0"), "dim(x, 0) % 8 == 0");
  EXPECT_EQ(boundary("bytes(x) < most"), "bytes(x) < 65536 B");
  EXPECT_EQ(boundary("bytes(x) < 64 KiB"), "bytes(x) < 64 KiB");
  EXPECT_EQ(boundary("2 * lanes > dim(x, 0)"), "2 * 8 > dim(x, 0)");
  EXPECT_EQ(boundary("rank(x) >= 1 and dim(x, 0) < 9"), "rank(x) >= 1 and dim(x, 0) < 9");
}

TEST(PredicateBoundary, IsNothingWhereThereIsNoSimpleBound) {
  EXPECT_EQ(boundary("rank(x) == 4"), "");
  EXPECT_EQ(boundary("dtype(x) in {f32, f64}"), "");
  EXPECT_EQ(boundary("dim(x, 0) < rank(x)"), "");
  EXPECT_EQ(boundary("rank(x) < 2 or dim(x, 0) < 9"), "");
  EXPECT_EQ(boundary("rank(x) < 2 and dim(x, 0) == 4"), "");
  EXPECT_EQ(boundary("dim(x, 0) % rank(x) == 0"), "");
}

}  // namespace
}  // namespace collage::testing
