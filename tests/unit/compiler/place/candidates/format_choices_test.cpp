// SPDX-License-Identifier: Apache-2.0
// Formats at the boundary of candidates, and that joined matches agree on them.
#include <gtest/gtest.h>

#include "tests/unit/compiler/match/fixture.h"

namespace collage::testing {
namespace {

constexpr const char* kImage = "(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8])";

/// `x NHWC -> y plain` for each candidate of the first backend.
Sets formats(const Case& setup) {
  place::ActiveBackends active = setup.active();
  place::LayoutTable layouts = place::layouts_in_play(active);
  Sets result;
  for (const auto& candidate : place::find_candidates(setup.graph, active[0], layouts).candidates) {
    std::string text;
    auto append = [&](const std::vector<place::ValueLayout>& list) {
      for (const auto& item : list) text += setup.graph.value(item.value).name + " " + layouts.name(item.layout) + " ";
    };
    append(candidate.members.reads);
    text += "-> ";
    append(candidate.members.writes);
    text.pop_back();
    result.push_back(text);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string backend(const std::string& rules, const std::string& rest = "") {
  return "backend lib {\n runtime host_jit\n" + rules + rest + "\n}\n";
}

TEST(Formats, ClauseDefaultAndAs) {
  Case clause;
  clause.model(kImage, "%y = Relu(%x)")
      .add_rules(backend("rule r { match y = Relu(v) format v: NHWC cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(clause), (Sets{"x NHWC -> y plain"}));
  Case same;
  same.model(kImage, "%y = Relu(%x)")
      .add_rules(backend("rule r { match y = Relu(v) format v: NHWC, y: as v cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(same), (Sets{"x NHWC -> y NHWC"}));
  Case fallback;
  fallback.model(kImage, "%y = Relu(%x)")
      .add_rules(backend("rule r { match Relu(v) cost 1 us lower \"l\" }", " format NHWC"));
  EXPECT_EQ(formats(fallback), (Sets{"x NHWC -> y NHWC"}));
}

TEST(Formats, LayoutOfAnotherRankIsRefusedButADefaultGivesWay) {
  const char* flat = "(%x: f32[4]) -> (%y: f32[4])";
  Case refused;
  refused.model(flat, "%y = Relu(%x)")
      .add_rules(backend("rule r { match Relu(v) format v: NHWC cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(refused), Sets{});
  auto found = refused.candidates();
  ASSERT_EQ(found.refusals.size(), 1u);
  EXPECT_EQ(found.refusals[0].message, "`%x` has 1 dimensions, layout NHWC does not exist for it");
  Case fallback;
  fallback.model(flat, "%y = Relu(%x)")
      .add_rules(backend("rule r { match Relu(v) cost 1 us lower \"l\" }", " format NHWC"));
  EXPECT_EQ(formats(fallback), (Sets{"x plain -> y plain"}));
}

TEST(Formats, AnyTriesTheLayoutsInPlay) {
  const char* rule = "rule r { match y = Relu(v) format v: any, y: as v cost 1 us lower \"l\" }";
  Case alone;
  alone.model(kImage, "%y = Relu(%x)").add_rules(backend(rule));
  EXPECT_EQ(formats(alone), (Sets{"x plain -> y plain"}));
  Case with_other;
  with_other.model(kImage, "%y = Relu(%x)")
      .add_rules(backend(rule))
      .add_rules(
          "backend other {\n runtime host_jit\n rule s { match Sigmoid(v) format v: NHWC cost 1 us lower \"l\" }\n}\n");
  EXPECT_EQ(formats(with_other), (Sets{"x NHWC -> y NHWC", "x plain -> y plain"}));
}

TEST(Formats, OfWhatNoClauseNames) {
  const char* two = "(%a: f32[1, 3, 8, 8], %b: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8])";
  Case others;
  others.model(two, "%y = Add(%a, %b)")
      .add_rules(backend("rule r { match y = Add(v, ..) format y: plain, _: NHWC cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(others), (Sets{"a NHWC b NHWC -> y plain"}));
  Case flat;  // a layout of another rank gives way
  flat.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Relu(%x)")
      .add_rules(backend("rule r { match Relu(..) format _: NHWC cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(flat), (Sets{"x plain -> y plain"}));
}

TEST(Formats, LayoutsThatMoveNothingAreThePlainOne) {
  Case setup;
  setup.model("(%x: f32[2, 16, 1, 1]) -> (%y: f32[2, 16, 1, 1])", "%y = Relu(%x)")
      .add_rules(backend("rule r { match y = Relu(v) format v: any, y: NHWC cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(setup), (Sets{"x plain -> y plain"}));
}

TEST(Formats, OneValueInTwoLayoutsIsRefused) {
  Case setup;
  setup.model(kImage, "%y = Add(%x, %x)")
      .add_rules(backend("rule r { match Add(v, w) format v: NHWC, w: NCHW cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats(setup), Sets{});
  EXPECT_EQ(setup.candidates().refusals.at(0).message, "`%x` is wanted in layout NHWC and in layout plain");
}

TEST(Formats, JoinedMatchesAgree) {
  const char* body = "%r = Relu(%x)\n%y = Abs(%r)";
  const char* join = " partition { join any }";
  Case differ;
  differ.model(kImage, body)
      .add_rules(backend("rule r { match y = Relu(v) format y: NHWC cost 1 us lower \"l\" }\n"
                         "rule a { match Abs(v) cost 1 us lower \"l\" }",
                         join));
  EXPECT_EQ(formats(differ), (Sets{"r plain -> y plain", "x plain -> r NHWC"}));
  Case agree;
  agree.model(kImage, body)
      .add_rules(backend("rule r { match y = Relu(v) format y: NHWC cost 1 us lower \"l\" }\n"
                         "rule a { match y = Abs(v) format v: any, y: as v cost 1 us lower \"l\" }",
                         join));
  EXPECT_EQ(formats(agree), (Sets{"r NHWC -> y NHWC", "r plain -> y plain", "x plain -> r NHWC", "x plain -> y NHWC"}));
}

TEST(Formats, ReadersOfOneValueAgree) {
  Case setup;
  setup.model(kImage, "%r = Relu(%x)\n%y = Add(%r, %x)")
      .add_rules(backend("rule r { match Relu(v) format v: NHWC cost 1 us lower \"l\" }\n"
                         "rule a { match Add(v, w) cost 1 us lower \"l\" }",
                         " partition { join any }"));
  EXPECT_EQ(formats(setup), (Sets{"x NHWC -> r plain", "x plain r plain -> y plain"}));
}

constexpr const char* kHalf = "rule r { match y = Relu(v) format v: NHWC f16, y: as v cost 1 us lower \"l\" }";

/// The first backend may round to these.
Sets formats_with(const Case& setup, const std::set<runtime::StorageType>& allowed, std::string* why = nullptr) {
  place::ActiveBackends active = setup.active();
  active[0].allowed = allowed;
  place::LayoutTable layouts = place::layouts_in_play(active);
  auto found = place::find_candidates(setup.graph, active[0], layouts);
  Sets result;
  for (const auto& candidate : found.candidates) {
    for (const auto* list : {&candidate.members.reads, &candidate.members.writes}) {
      for (const auto& item : *list)
        result.push_back(setup.graph.value(item.value).name + " " + layouts.name(item.layout));
    }
  }
  if (why != nullptr && !found.refusals.empty()) *why = found.refusals[0].message;
  return result;
}

TEST(Formats, RoundingNeedsPermission) {
  Case setup;
  setup.model(kImage, "%y = Relu(%x)").add_rules(backend(kHalf));
  std::string why;
  EXPECT_EQ(formats_with(setup, {runtime::StorageType::BF16}, &why), Sets{});
  EXPECT_EQ(why, "needs `%x` as f16, which `--allow f16` permits");
  EXPECT_EQ(formats_with(setup, {runtime::StorageType::F16}), (Sets{"x NHWC f16", "y NHWC f16"}));
}

TEST(Formats, LosslessStoragesNeedNone) {
  Case wide;
  wide.model(kImage, "%y = Relu(%x)")
      .add_rules(backend("rule r { match y = Relu(v) format v: f64, y: plain f32 cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats_with(wide, {}), (Sets{"x plain f64", "y plain"}));
  Case integer;
  integer.model("(%x: i8[4]) -> (%y: i8[4])", "%y = Abs(%x)")
      .add_rules(backend("rule r { match y = Abs(v) format v: f16, y: i32 cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats_with(integer, {}), (Sets{"x plain f16", "y plain i32"}));
}

TEST(Formats, QuantisedStoragesAreForFloats) {
  const std::string rule = "rule r { match y = Abs(v) format v: i8 scale 0.05 zero -3, y: as v cost 1 us lower \"l\" }";
  std::string why;
  Case real;
  real.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Abs(%x)").add_rules(backend(rule));
  EXPECT_EQ(formats_with(real, {runtime::StorageType::I8}),
            (Sets{"x plain i8 scale 0.05 zero -3", "y plain i8 scale 0.05 zero -3"}));
  Case whole;
  whole.model("(%x: i32[4]) -> (%y: i32[4])", "%y = Abs(%x)").add_rules(backend(rule));
  EXPECT_EQ(formats_with(whole, {runtime::StorageType::I8}, &why), Sets{});
  EXPECT_EQ(why, "`%x` is i32, and a scale is for floats");
  Case bare;
  bare.model("(%x: f32[4]) -> (%y: f32[4])", "%y = Abs(%x)")
      .add_rules(backend("rule r { match y = Abs(v) format v: i8 cost 1 us lower \"l\" }"));
  EXPECT_EQ(formats_with(bare, {runtime::StorageType::I8}, &why), Sets{});
  EXPECT_EQ(why, "`%x` is f32, and i8 holds such numbers with a scale only");
}

TEST(Formats, ADefaultStorageIsForFloats) {
  Case setup;
  setup.model("(%x: f32[4], %i: i64[2]) -> (%y: f32[2])", "%y = Gather(%x, %i)")
      .add_rules(backend("rule r { match y = Gather(v, i) cost 1 us lower \"l\" }", " format NHWC f16"));
  EXPECT_EQ(formats_with(setup, {runtime::StorageType::F16}), (Sets{"x plain f16", "i plain", "y plain f16"}));
}

TEST(Formats, AnyKeepsTheStorage) {
  Case setup;
  setup.model(kImage, "%y = Relu(%x)")
      .add_rules(
          backend("rule r { match y = Relu(v) format v: any f16, y: as v cost 1 us lower \"l\" }") +
          "backend other {\n runtime host_jit\n format NHWC\n rule r { match Tanh(v) cost 1 us lower \"l\" }\n}\n");
  EXPECT_EQ(formats_with(setup, {runtime::StorageType::F16}),
            (Sets{"x plain f16", "y plain f16", "x NHWC f16", "y NHWC f16"}));
}

}  // namespace
}  // namespace collage::testing
