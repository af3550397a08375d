// SPDX-License-Identifier: Apache-2.0
// Phases of several backends put together: what runs, in which order, and what cannot be met.
#include "compiler/passes/phases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

struct PhasesTest : RulesFixture {
  ir::RuleSet rules;

  /// Bodies of the backends a, b, c, …
  std::optional<passes::Schedule> compose(const std::vector<std::string>& bodies) {
    std::string text = "rules 1\n";
    for (size_t i = 0; i < bodies.size(); ++i) {
      text += fmt::format("backend {} {{ runtime host_jit {} }}\n", static_cast<char>('a' + i), bodies[i]);
    }
    auto built = build(text);
    EXPECT_TRUE(built && passes::check_phases(*built, diags)) << diags.render();
    if (!built) return std::nullopt;
    rules = std::move(*built);
    std::vector<const ir::Backend*> active;
    for (const ir::Backend& backend : rules.backends) active.push_back(&backend);
    return passes::compose_pre_phase(active, diags);
  }

  std::string order(const std::vector<std::string>& bodies) {
    auto schedule = compose(bodies);
    if (!schedule) return diags.render();
    std::string names;
    for (const passes::PhaseStep& step : schedule->steps) names += (names.empty() ? "" : " ") + step.name;
    return names;
  }
};

/// The passes of passes.def but these, in its order.
std::string others(const std::vector<std::string>& listed = {}) {
  std::string names;
  for (const std::string& name : passes::pass_names()) {
    const bool is_listed = std::find(listed.begin(), listed.end(), name) != listed.end();
    if (!is_listed) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

const std::string kStrip = "rewrite strip: Identity(x) => x ";

TEST_F(PhasesTest, WithoutPhasesAllVettedPassesAndThenRewrites) {
  EXPECT_EQ(order({}), others());
  EXPECT_EQ(order({kStrip, kStrip}), others() + " a.strip b.strip");
}

TEST_F(PhasesTest, OneBackendHasItsOwnOrder) {
  EXPECT_EQ(order({kStrip + "phase pre only { strip fold_batch_norm fold_constants }"}),
            "a.strip fold_batch_norm fold_constants");
  EXPECT_EQ(order({kStrip + "phase pre only { strip after fold_constants, fold_constants }"}),
            "fold_constants a.strip");
  EXPECT_EQ(order({"phase pre only { }"}), "");
}

TEST_F(PhasesTest, PassesThatAPhaseDoesNotListFollowIt) {
  EXPECT_EQ(order({kStrip + "phase pre { fold_batch_norm strip }"}),
            "fold_batch_norm a.strip " + others({"fold_batch_norm"}));
  EXPECT_EQ(order({"phase pre { }"}), order({}));
  EXPECT_EQ(order({"phase pre only { fold_constants }", "phase pre { fold_batch_norm }"}),
            "fold_constants fold_batch_norm " + others({"fold_constants", "fold_batch_norm"}));
}

TEST_F(PhasesTest, AfterWaitsOnlyForWhatRuns) {
  EXPECT_EQ(order({kStrip + "phase pre only { strip after fold_constants }"}), "a.strip");
}

TEST_F(PhasesTest, UnionInTheOrderOfRegistration) {
  EXPECT_EQ(order({"phase pre only { fold_batch_norm }", "phase pre only { fold_constants fold_batch_norm }"}),
            "fold_batch_norm fold_constants");
  EXPECT_EQ(order({"phase pre only { fold_batch_norm after fold_constants }", "phase pre only { fold_constants }"}),
            "fold_constants fold_batch_norm");
}

TEST_F(PhasesTest, BackendsWithoutPhaseAskForTheDefault) {
  EXPECT_EQ(order({kStrip, kStrip + "phase pre { strip }"}), "b.strip " + others() + " a.strip");
}

TEST_F(PhasesTest, NeverTakesOutWhatNobodyLists) {
  auto schedule = compose({kStrip, "phase pre { never eliminate_dead }"});
  ASSERT_TRUE(schedule) << diags.render();
  const std::string table = passes::to_string(*schedule);
  EXPECT_EQ(table.find("pass                            asked for by\nexpand_einsum                   (default)\n"),
            0u);
  const std::string end = "a.strip                         a\neliminate_dead                  never, says b\n";
  ASSERT_GT(table.size(), end.size());
  EXPECT_EQ(table.substr(table.size() - end.size()), end);
  EXPECT_EQ(table.find("eliminate_dead "),
            table.size() - std::string("eliminate_dead                  never, says b\n").size());
}

TEST_F(PhasesTest, NeverAgainstAListNamesBoth) {
  EXPECT_EQ(order({"phase pre { fold_constants }", "phase pre { never fold_constants }"}),
            R"(test.rules:3:48: error: backend `b` forbids `fold_constants`, which backend `a` asks for [CG0364]
    3 | backend b { runtime host_jit phase pre { never fold_constants } }
      |                                                ^~~~~~~~~~~~~~
test.rules:2:42: note: backend `a` asks for it here
    2 | backend a { runtime host_jit phase pre { fold_constants } }
      |                                          ^~~~~~~~~~~~~~
note: `-t` can activate one of them alone
)");
}

TEST_F(PhasesTest, CircleNamesAllOfIt) {
  EXPECT_EQ(
      order({"phase pre { fold_constants after fold_batch_norm }", "phase pre { eliminate_dead }",
             "phase pre { fold_batch_norm after fold_constants }"}),
      R"(test.rules:2:42: error: `a` and `c` order passes in a cycle: `fold_constants` after `fold_batch_norm` after `fold_constants` [CG0364]
    2 | backend a { runtime host_jit phase pre { fold_constants after fold_batch_norm } }
      |                                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rules:4:42: note: backend `c` states it here
    4 | backend c { runtime host_jit phase pre { fold_batch_norm after fold_constants } }
      |                                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)");
}

TEST_F(PhasesTest, PostHasRewritesOfOneBackend) {
  ASSERT_TRUE(compose({kStrip + "rewrite twice: Neg(Neg(x)) => x phase post { twice after strip, strip }"}));
  auto schedule = passes::compose_post_phase(rules.backends[0], diags);
  ASSERT_TRUE(schedule);
  ASSERT_EQ(schedule->steps.size(), 2u);
  EXPECT_EQ(schedule->steps[0].name, "a.strip");
  EXPECT_EQ(schedule->steps[1].name, "a.twice");
}

}  // namespace
}  // namespace collage
