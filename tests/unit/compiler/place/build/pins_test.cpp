// SPDX-License-Identifier: Apache-2.0
// Operators that a model pins to a device.
#include <gtest/gtest.h>

#include "tests/unit/compiler/place/build/problem_fixture.h"

namespace collage::testing {
namespace {

TEST(Pins, KeepOnlyCandidatesThere) {
  Case setup;
  auto built = setup.model(kThousand, "%a = Relu(%x) on npu[1]\n%y = Relu(%a) on host").add_rules(kNpu).problem();
  ASSERT_TRUE(built) << setup.diags.render();
  ASSERT_EQ(built->problem.candidates.size(), 2u);
  EXPECT_EQ(lines(setup, *built)[0], "npu npu[1] {a} 3us rules relu reads %x: npu[1] writes %a: npu[1]");
}

TEST(Pins, DeviceWithoutInstanceIsAnyOfThem) {
  Case setup;
  auto built = setup.model(kThousand, "%a = Relu(%x) on npu\n%y = Relu(%a) on npu").add_rules(kNpu).problem();
  ASSERT_TRUE(built);
  EXPECT_EQ(built->problem.candidates.size(), 6u);
}

TEST(Pins, ErrorSaysWhyNot) {
  Case setup;
  EXPECT_FALSE(setup.model("(%x: f32[7]) -> (%y: f32[7])", "%y = Relu(%x) on npu").add_rules(kNpu).problem());
  std::string text = setup.diags.render();
  EXPECT_NE(text.find("`%y` cannot run on `npu`"), std::string::npos) << text;
  EXPECT_NE(text.find("rule `relu`: 7 elements"), std::string::npos) << text;
}

TEST(Pins, ErrorForAnOperatorThatNoRuleIsAbout) {
  Case setup;
  EXPECT_FALSE(setup.model(kThousand, "%y = Abs(%x) on npu").add_rules(kNpu).problem());
  EXPECT_NE(setup.diags.render().find("no rule of `npu` is about Abs"), std::string::npos) << setup.diags.render();
}

TEST(Pins, UnknownDevices) {
  Case typo;
  EXPECT_FALSE(typo.model(kThousand, "%y = Relu(%x) on npo").add_rules(kNpu).problem());
  EXPECT_NE(typo.diags.render().find("did you mean `npu`?"), std::string::npos) << typo.diags.render();
  Case instance;
  EXPECT_FALSE(instance.model(kThousand, "%y = Relu(%x) on npu[5]").add_rules(kNpu).problem());
  EXPECT_NE(instance.diags.render().find("`npu` has 2 instances"), std::string::npos) << instance.diags.render();
}

TEST(Pins, BackendThatIsNotActive) {
  Case setup;
  setup.model(kThousand, "%y = Relu(%x) on npu").add_rules(kNpu);
  EXPECT_FALSE(place::build_problem(setup.graph, setup.rules, {}, setup.diags));
  EXPECT_NE(setup.diags.render().find("not active"), std::string::npos) << setup.diags.render();
}

}  // namespace
}  // namespace collage::testing
