// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/evolve_placement.h"

#include <gtest/gtest.h>

#include <atomic>

#include "compiler/compilation/compilation.h"
#include "compiler/request/graph_ports.h"

namespace collage::search {
namespace {

constexpr const char* kModel = R"(model @m(%x: f32[8, 8]) -> (%y: f32[8, 8]) {
  %a = Relu(%x)
  %y = Add(%a, %x)
}
)";

class Evolving : public ::testing::Test {
 protected:
  void SetUp() override {
    sources_.stand_in("m.ir", kModel);
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    auto model = request::read_model_file({"m.ir"}, sources_, diags_);
    auto rules = request::read_rule_files({"rules/host.rules"}, sources_, diags_);
    ASSERT_TRUE(model && rules) << diags_.render();
    compilation_ = compilation::Compilation::open(std::move(*model), std::move(rules), settings, diags_);
    ASSERT_TRUE(compilation_ != nullptr && compilation_->run_passes({}, diags_)) << diags_.render();
    listener_.stop_measuring = &stops_;
  }

  /// Whether there is an answer.
  bool evolve(int evaluations) {
    compilation_->set_listener(listener_);
    const auto candidates = compilation_->find_candidates({}, nullptr, diags_);
    const auto seed = compilation_->find_placement(*candidates, {}, diags_);
    runner::RunRequest request;
    const auto inputs = runner::bind_inputs(request, request::ports_of(compilation_->graph()), diags_);
    if (!seed || !inputs) return false;
    request::Settings settings = compilation_->settings();
    settings.evolve_evaluations = evaluations;
    return evolve_placement(compilation_->search_input(*candidates), *seed, compilation_->targets(), settings, *inputs,
                            &report_, diags_)
        .has_value();
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::unique_ptr<compilation::Compilation> compilation_;
  std::atomic<bool> stops_{false};
  runner::WorkListener listener_;
  EvolveReport report_;
};

TEST_F(Evolving, TellsThatItMeasures) {
  int measured = 0;
  std::string detail;
  listener_.progress = [&](const runner::Progress& progress) {
    if (progress.work != runner::Work::Measuring) return;
    if (measured++ == 0) detail = progress.detail;
  };
  EXPECT_TRUE(evolve(1)) << diags_.render();
  EXPECT_EQ(detail, "whole plan 1 of at most 1");
  EXPECT_EQ(measured, 2);  // the second: the plans in turn
}

TEST_F(Evolving, IsStopped) {
  listener_.begin = [&](runner::Work work) { stops_ = work == runner::Work::Measuring; };
  EXPECT_FALSE(evolve(1'000'000));
  EXPECT_EQ(report_.failed, 0);
  EXPECT_NE(diags_.render().find("evolve: error: measuring was stopped [CG0510]"), std::string::npos)
      << diags_.render();
}

TEST_F(Evolving, IsStoppedWhileTheBestIsMeasuredAgain) {
  int begun = 0;
  listener_.begin = [&](runner::Work work) { stops_ = work == runner::Work::Measuring && ++begun == 2; };
  EXPECT_FALSE(evolve(1));
  EXPECT_EQ(report_.evaluations, 1);
  EXPECT_NE(diags_.render().find("measuring was stopped"), std::string::npos) << diags_.render();
}

}  // namespace
}  // namespace collage::search
