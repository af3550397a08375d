// SPDX-License-Identifier: Apache-2.0
// Answers where costs were not measured, or only after the placement was found.
#include "compiler/compilation/answer_questions.h"

#include <gtest/gtest.h>

#include <string>

namespace collage::compilation {
namespace {

constexpr const char* kModel = R"(model @m(%x: f32[1, 8]) -> (%y: f32[1, 8]) {
  %y = Relu(%x)
}
)";
constexpr const char* kRules = R"(rules 1
backend first {
  runtime host_jit
  rule relu {
    match y = Relu(x)
    cost 1 us
  }
}
backend second {
  runtime host_jit
  rule relu {
    match y = Relu(x)
    cost 3 us
  }
}
)";

class QuestionsAboutCosts : public ::testing::Test {
 protected:
  void SetUp() override {
    sources_.stand_in("m.ir", kModel);
    sources_.stand_in("m.rules", kRules);
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    auto model = request::read_model_file({"m.ir"}, sources_, diags_);
    auto rules = request::read_rule_files({"m.rules"}, sources_, diags_);
    ASSERT_TRUE(model && rules) << diags_.render();
    compilation_ = Compilation::open(std::move(*model), std::move(rules), settings, diags_);
    ASSERT_TRUE(compilation_ != nullptr && compilation_->run_passes({}, diags_)) << diags_.render();
    candidates_ = compilation_->find_candidates({}, nullptr, diags_);
    ASSERT_TRUE(candidates_) << diags_.render();
    found_ = compilation_->find_placement(*candidates_, {}, diags_);
    ASSERT_TRUE(found_) << diags_.render();
  }

  /// Sets the cost of the candidate of a backend.
  void change(const std::string& backend, int64_t microseconds, bool is_measured, Candidates* candidates) {
    place::BuiltProblem& built = candidates->built;
    for (place::CandidateId c : built.candidate_ids()) {
      place::Candidate& candidate = built.problem.candidates[c];
      if (built.problem.owners[candidate.owner].backend != backend) continue;
      candidate.cost = place::Cost::time(runtime::Duration::picoseconds(microseconds * 1'000'000));
      built.origin(c).unmeasured = !is_measured;
    }
  }

  std::string ask(const Candidates& candidates, const request::QuestionRequest& request) {
    const auto answers =
        answer_questions(*compilation_, candidates, EarlierPlacement{*found_, *candidates_}, request, diags_);
    return answers ? answers->text() : diags_.render();
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::unique_ptr<Compilation> compilation_;
  std::optional<Candidates> candidates_;
  std::optional<search::FoundPlacement> found_;
};

TEST_F(QuestionsAboutCosts, MarkCostsThatWereNotMeasured) {
  change("second", 2, /*is_measured=*/false, &*candidates_);
  const std::string why = ask(*candidates_, {.why = "y", .why_not = {}});
  EXPECT_NE(why.find("about 1 us more: +2 us second, -1 us first; 1 cost not measured"), std::string::npos) << why;
  const std::string why_not = ask(*candidates_, {.why = "", .why_not = {"y", "second"}});
  EXPECT_NE(why_not.find("would cost about 2 us, about 1 us more"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("about 2 us in second"), std::string::npos) << why_not;
}

TEST_F(QuestionsAboutCosts, SayWhyABetterPlacementWasNotChosen) {
  Candidates newer = *candidates_;
  change("first", 10, /*is_measured=*/true, &newer);
  const std::string why = ask(newer, {.why = "y", .why_not = {}});
  EXPECT_NE(why.find("%y (Relu) runs on first in p0, 10 us of 10 us"), std::string::npos) << why;
  EXPECT_NE(why.find("7 us less"), std::string::npos) << why;
  EXPECT_NE(why.find("costs were measured after this placement was searched: compile again"), std::string::npos) << why;
}

}  // namespace
}  // namespace collage::compilation
