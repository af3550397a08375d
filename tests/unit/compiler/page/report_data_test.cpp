// SPDX-License-Identifier: Apache-2.0
// The document of the page against the problem and the answers that it is made of.
#include "compiler/page/report_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/compilation/report_of.h"
#include "compiler/plan/library_memory.h"
#include "compiler/program/program.h"
#include "compiler/report/explain/why.h"
#include "compiler/report/explain/why_not.h"
#include "compiler/report/json_text.h"

namespace collage::page {
namespace {

using nlohmann::ordered_json;

class ReportOfDigits : public ::testing::Test {
 protected:
  void SetUp() override {
    request::Settings settings;
    settings.costs.mode = request::CostMode::Estimate;
    settings.cache = "";
    auto model = request::read_model_file({"examples/digits/digits.ir"}, sources_, diags_);
    auto rules = request::read_rule_files({"rules"}, sources_, diags_);
    ASSERT_TRUE(model && rules) << diags_.render();
    compilation_ = compilation::Compilation::open(std::move(*model), std::move(rules), settings, diags_);
    ASSERT_NE(compilation_, nullptr) << diags_.render();
    ASSERT_TRUE(compilation_->run_passes({}, diags_)) << diags_.render();
    candidates_ = compilation_->find_candidates({}, nullptr, diags_);
    ASSERT_TRUE(candidates_) << diags_.render();
    found_ = compilation_->find_placement(*candidates_, {}, diags_, &findings_.search);
    ASSERT_TRUE(found_) << diags_.render();
  }

  ordered_json data() {
    report::Report report = compilation::report_of(*compilation_, *candidates_, found_->placement, &*found_, sources_);
    ReportInput input{.compilation = *compilation_,
                      .candidates = *candidates_,
                      .sources = sources_,
                      .summary = report::summary_object(compilation_->graph(), found_->placement, report),
                      .placements = {},
                      .findings = findings_,
                      .plan = plan_};
    input.placements.push_back({"optimal", *found_, std::move(report), given_, true});
    return report_data(input);
  }

  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::unique_ptr<compilation::Compilation> compilation_;
  std::optional<compilation::Candidates> candidates_;
  std::optional<search::FoundPlacement> found_;
  Findings findings_;
  GivenPlaces given_;
  const runtime::Plan* plan_ = nullptr;
};

TEST_F(ReportOfDigits, HasEveryNodeInOnePartition) {
  const ordered_json json = data();
  const size_t nodes = compilation_->graph().node_count();
  ASSERT_EQ(json["graph"]["nodes"].size(), nodes);
  ASSERT_EQ(json["placements"].size(), 1u);
  const ordered_json& partitions = json["placements"][0]["partitions"];
  ASSERT_EQ(partitions.size(), json["summary"]["placement"]["partitions"].size());
  std::multiset<int> seen;
  for (const ordered_json& partition : partitions) {
    for (const ordered_json& node : partition["nodes"]) seen.insert(node.get<int>());
  }
  EXPECT_EQ(seen.size(), nodes);
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), nodes);
}

TEST_F(ReportOfDigits, PartsOfAPartitionAreItsCandidates) {
  const ordered_json json = data();
  size_t parts = 0;
  for (const ordered_json& partition : json["placements"][0]["partitions"]) parts += partition["parts"].size();
  EXPECT_EQ(parts, found_->chosen.size());
}

TEST_F(ReportOfDigits, TimesOfNodesAddUpToThoseOfTheirPartitions) {
  const ordered_json json = data();
  const ordered_json& costs = json["summary"]["placement"]["partitions"];
  const ordered_json& partitions = json["placements"][0]["partitions"];
  for (size_t p = 0; p < partitions.size(); ++p) {
    double sum = 0;
    for (const ordered_json& seconds : partitions[p]["node_s"]) sum += seconds.get<double>();
    const double cost = costs[p]["cost_s"].get<double>();
    EXPECT_EQ(partitions[p]["node_s"].size(), partitions[p]["nodes"].size());
    EXPECT_NEAR(sum, cost, 1e-9 * cost);
  }
}

TEST_F(ReportOfDigits, GoesByItsFileAndSaysThatNothingWasMeasured) {
  const ordered_json about = data()["about"];
  EXPECT_EQ(about["file"], "digits.ir");
  EXPECT_TRUE(about["models"].empty());  // those of rules/ take part where they are named
  EXPECT_NE(about["verdict"].get<std::string>().find("formulas of rule files"), std::string::npos) << about;
}

TEST_F(ReportOfDigits, WhatWasTimedIsThere) {
  EXPECT_FALSE(data().contains("profile"));
  const ir::Partition& first = found_->placement.partitions.front();
  report::ProfileRow row{.kind = "onednn", .what = first.name, .seconds = 1e-6, .partition = first.name};
  findings_.profile = report::Profile{.model = "digits", .runs = 11, .rows = {row}, .seconds = 1e-6};
  findings_.bench = runner::BenchReport{.seconds = {1, 1, 1}};
  const ordered_json json = data();
  ASSERT_EQ(json["profile"]["kernels"].size(), 1u);
  EXPECT_EQ(json["profile"]["kernels"][0]["nodes"].size(), first.nodes.size());
  EXPECT_TRUE(json["about"]["verdict"].get<std::string>().starts_with("Believe the bench")) << json["about"];
}

TEST_F(ReportOfDigits, WithoutAPlanNothingIsTakenForMemory) {
  const ordered_json json = data();
  for (const ordered_json& space : json["memory"]) {
    EXPECT_TRUE(space.contains("most"));
    EXPECT_FALSE(space.contains("arena") || space.contains("constants"));
  }
}

TEST_F(ReportOfDigits, MemoryHasWhatLibrariesKeep) {
  const auto program = program::build_program(compilation_->graph(), found_->placement, compilation_->targets(),
                                              program::ProgramOptions(), diags_);
  ASSERT_TRUE(program) << diags_.render();
  plan_ = &program->built.plan;
  const std::vector<plan::LibraryMemory> kept = plan::library_memory(*plan_, compilation_->targets().threads);
  const ordered_json memory = data()["memory"];
  ASSERT_EQ(memory.size(), kept.size());
  for (size_t s = 0; s < kept.size(); ++s) {
    EXPECT_TRUE(memory[s].contains("arena"));
    ASSERT_EQ(memory[s].contains("libraries"), kept[s].constants + kept[s].packed > 0);
    if (!memory[s].contains("libraries")) continue;
    EXPECT_EQ(memory[s]["libraries"]["constants"], kept[s].constants);
    EXPECT_EQ(memory[s]["libraries"]["packed"], kept[s].packed);
  }
}

TEST_F(ReportOfDigits, RulesHaveTheirMatch) {
  for (const ordered_json& rule : data()["choices"]["rules"]) {
    EXPECT_TRUE(rule["line"].get<std::string>().starts_with("match ")) << rule;
  }
}

TEST_F(ReportOfDigits, ChoicesAreTheSmallestCandidatesOrTheAnswersOfWhyNot) {
  const ordered_json choices = data()["choices"];
  const search::SearchInput search = compilation_->search_input(*candidates_);
  const report::ExplainedPlacement explained{search, compilation_->strategy(), compilation_->active(), *found_,
                                             sources_};
  const place::Problem& problem = candidates_->built.problem;
  size_t refused = 0, offered = 0;
  for (ir::NodeId node : compilation_->graph().node_ids()) {
    const ordered_json& row = choices["nodes"][node.slot()];
    ASSERT_EQ(row.size(), choices["backends"].size());
    for (size_t b = 0; b < row.size(); ++b) {
      const std::string backend = choices["backends"][b].get<std::string>();
      if (row[b].is_number()) {
        ++refused;
        EXPECT_FALSE(report::has_candidate(problem, node, backend));
        EXPECT_EQ(choices["reasons"][row[b].get<size_t>()], report::short_reason(explained, node, backend));
        continue;
      }
      ++offered;
      const bool exists = std::any_of(problem.candidates.begin(), problem.candidates.end(), [&](const auto& candidate) {
        return problem.owners[candidate.owner].backend == backend &&
               candidate.nodes.size() == row[b][1].get<size_t>() &&
               std::binary_search(candidate.nodes.begin(), candidate.nodes.end(), node) &&
               candidate.cost.value() == row[b][0].get<double>();
      });
      EXPECT_TRUE(exists) << backend << " " << node.index;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(offered, compilation_->graph().node_count());
}

TEST_F(ReportOfDigits, WhatTheWholeWouldCostElsewhereIsTheAnswerOfWhy) {
  const ordered_json choices = data()["choices"];
  ASSERT_TRUE(choices.contains("instead"));  // the searches are short
  const search::SearchInput search = compilation_->search_input(*candidates_);
  const report::ExplainedPlacement explained{search, compilation_->strategy(), compilation_->active(), *found_,
                                             sources_};
  size_t answers = 0;
  for (ir::NodeId node : compilation_->graph().node_ids()) {
    const std::string answer = report::text_of(report::why(explained, {node}));
    for (const ordered_json& text : choices["instead"][node.slot()]) {
      if (text.get<std::string>().empty()) continue;
      ++answers;
      EXPECT_NE(answer.find(text.get<std::string>()), std::string::npos) << text << "\n" << answer;
    }
  }
  EXPECT_GE(answers, compilation_->graph().node_count());
}

TEST_F(ReportOfDigits, TheSearchEndsAtItsBoundAndTheTimelineAtThePrediction) {
  const ordered_json json = data();
  const double predicted = json["summary"]["placement"]["cost"]["predicted_s"].get<double>();
  ASSERT_GT(json["search"].size(), 1u);
  EXPECT_EQ(json["search"].back()["cost"], json["summary"]["placement"]["objective"]["value"]);
  EXPECT_EQ(json["search"].back()["bound"], json["summary"]["placement"]["objective"]["bound"]);
  for (size_t i = 1; i < json["search"].size(); ++i)
    EXPECT_LE(json["search"][i - 1]["bound"], json["search"][i]["bound"]);
  ASSERT_TRUE(json.contains("timeline"));
  EXPECT_NEAR(json["timeline"]["predicted_s"].get<double>(), predicted, 1e-9);
  EXPECT_FALSE(json["timeline"].contains("actual_s"));
  EXPECT_FALSE(json["memory"].empty());
}

TEST_F(ReportOfDigits, PlacesThatAFileGaveAreNamed) {
  EXPECT_FALSE(data()["placements"][0].contains("given"));
  ir::Placement written;
  written.partitions = {found_->placement.partitions.front()};
  given_ = given_places("a.plan", written);
  const ordered_json given = data()["placements"][0]["given"];
  EXPECT_EQ(given["by"], "the placement file a.plan");
  ASSERT_EQ(given["nodes"].size(), written.partitions[0].nodes.size());
  EXPECT_EQ(given["nodes"][0].get<size_t>(), written.partitions[0].nodes[0].slot());
  EXPECT_EQ(given_places("", written).by, "the model");
}

TEST_F(ReportOfDigits, ALostDeviceIsTold) {
  EXPECT_FALSE(data().contains("lost"));
  findings_.lost = {"device npu[0] was lost in step 7"};
  const ordered_json lost = data()["lost"];
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0], "device npu[0] was lost in step 7");
}

}  // namespace
}  // namespace collage::page
