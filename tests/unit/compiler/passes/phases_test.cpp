// SPDX-License-Identifier: Apache-2.0
// Phases of several backends put together: what runs, and in which order.
#include "compiler/passes/phases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/compiler/sema/rules_fixture.h"

namespace collage {
namespace {

struct PhasesTest : RulesFixture {
  ir::RuleSet rules;

  /// Bodies of the backends a, b, c, …
  passes::Schedule compose(const std::vector<std::string>& bodies) {
    std::string text = "rules 1\n";
    for (size_t i = 0; i < bodies.size(); ++i) {
      text += fmt::format("backend {} {{ runtime host_jit {} }}\n", static_cast<char>('a' + i), bodies[i]);
    }
    auto built = build(text);
    EXPECT_TRUE(built && passes::check_phases(*built, diags)) << diags.render();
    if (!built) return {};
    rules = std::move(*built);
    std::vector<const ir::Backend*> active;
    for (const ir::Backend& backend : rules.backends) active.push_back(&backend);
    return passes::compose_pre_phase(active);
  }

  std::string order(const std::vector<std::string>& bodies) {
    std::string names;
    for (const passes::PhaseStep& step : compose(bodies)) names += (names.empty() ? "" : " ") + step.name;
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

TEST_F(PhasesTest, PassesThatAPhaseDoesNotListFollowIt) {
  EXPECT_EQ(order({kStrip + "phase pre { fold_batch_norm strip }"}),
            "fold_batch_norm a.strip " + others({"fold_batch_norm"}));
  EXPECT_EQ(order({kStrip + "phase pre { strip, fold_batch_norm, fold_constants }"}),
            "a.strip fold_batch_norm fold_constants " + others({"fold_batch_norm", "fold_constants"}));
  EXPECT_EQ(order({"phase pre { }"}), order({}));
}

TEST_F(PhasesTest, UnionInTheOrderOfRegistration) {
  EXPECT_EQ(order({"phase pre { fold_batch_norm }", "phase pre { fold_constants fold_batch_norm }"}),
            "fold_batch_norm fold_constants " + others({"fold_batch_norm", "fold_constants"}));
}

TEST_F(PhasesTest, BackendsWithoutPhaseAskForTheDefault) {
  EXPECT_EQ(order({kStrip, kStrip + "phase pre { strip }"}), "b.strip " + others() + " a.strip");
}

TEST_F(PhasesTest, TableSaysWhoAsks) {
  const std::string table =
      passes::to_string(compose({kStrip + "phase pre { fold_pads strip }", "phase pre { fold_pads }"}));
  EXPECT_EQ(table.find("pass                            asked for by\n"
                       "fold_pads                       a, b\n"
                       "a.strip                         a\n"
                       "expand_einsum                   (default)\n"),
            0u)
      << table;
}

TEST_F(PhasesTest, PostHasRewritesOfOneBackend) {
  EXPECT_EQ(compose({kStrip + "rewrite twice: Neg(Neg(x)) => x phase post { twice, strip }"}).size(),
            passes::pass_names().size());
  const passes::Schedule schedule = passes::compose_post_phase(rules.backends[0]);
  ASSERT_EQ(schedule.size(), 2u);
  EXPECT_EQ(schedule[0].name, "a.twice");
  EXPECT_EQ(schedule[1].name, "a.strip");
}

}  // namespace
}  // namespace collage
