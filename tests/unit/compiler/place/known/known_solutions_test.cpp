// SPDX-License-Identifier: Apache-2.0
// Searches that are not made again: for which problems, and which entries are not believed.
#include "compiler/place/known/known_solutions.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "compiler/place/known/problem_digest.h"
#include "compiler/place/solve.h"
#include "tests/unit/compiler/place/problem_sketch.h"

namespace collage::place {
namespace {

namespace fs = std::filesystem;

/// Four nodes in a row, two of which are quicker together elsewhere.
Problem row_of_nodes() {
  Sketch sketch(4, {{0, 1}, {1, 2}, {2, 3}});
  const OwnerId npu = sketch.add_owner("npu", "npu[0]");
  const FormatId there = sketch.add_format("npu[0]");
  sketch.convert(0, there, 3);
  sketch.convert(there, 0, 3);
  sketch.add_singletons(10);
  sketch.add({1, 2}, 5, npu, there, "pair");
  sketch.problem.owners[npu].max_partitions = 3;
  sketch.problem.constant_bytes = {64};
  return sketch.problem;
}

class SolutionFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("solutions." + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// In a process of its own, as far as what is known goes.
  Solution solved(const Problem& problem, SearchOptions options = {}) const {
    support::FileCache files(folder_.string());
    KnownSolutions known(&files);
    options.known = &known;
    const runtime::Result<Solution> solution = solve(problem, Strategy{}, options);
    EXPECT_TRUE(solution);
    return solution ? *solution : Solution{};
  }

  fs::path folder_;
};

TEST_F(SolutionFolder, TheSameProblemIsSearchedOnce) {
  const Solution first = solved(row_of_nodes());
  EXPECT_FALSE(first.is_known);
  EXPECT_EQ(first.cost, ps(31));
  const Solution second = solved(row_of_nodes());
  EXPECT_TRUE(second.is_known);
  EXPECT_EQ(second.chosen, first.chosen);
  EXPECT_EQ(second.region, first.region);
  EXPECT_EQ(second.cost, first.cost);
  EXPECT_EQ(second.bound, first.bound);
  EXPECT_EQ(second.optimal, first.optimal);
  EXPECT_EQ(second.states, first.states);
  EXPECT_NEAR(second.seconds, first.seconds, 1e-6);
}

TEST_F(SolutionFolder, WithoutFilesAProcessKnowsItsOwn) {
  KnownSolutions known(nullptr);
  SearchOptions options;
  options.known = &known;
  size_t reports = 0;
  options.on_progress = [&](const SearchProgress&) { ++reports; };
  const runtime::Result<Solution> first = solve(row_of_nodes(), Strategy{}, options);
  ASSERT_TRUE(first);
  EXPECT_GT(reports, 0u);
  reports = 0;
  const runtime::Result<Solution> second = solve(row_of_nodes(), Strategy{}, options);
  ASSERT_TRUE(second);
  EXPECT_EQ(reports, 0u);
  EXPECT_EQ(second->chosen, first->chosen);
  EXPECT_FALSE(second->is_known);  // by an earlier one
}

TEST_F(SolutionFolder, AnyOtherProblemIsSearched) {
  using Change = std::function<void(Problem&)>;
  const std::vector<Change> changes = {
      [](Problem& p) { p.candidates[0].cost += ps(1); },
      [](Problem& p) { p.candidates[0].rule = "s"; },
      [](Problem& p) { p.candidates[0].constants = {0}; },
      [](Problem& p) { p.candidates[0].kept = {1}; },
      [](Problem& p) { p.candidates.push_back(p.candidates[0]); },
      [](Problem& p) { p.values[1].conversions[0].cost += ps(1); },
      [](Problem& p) { p.values[1].bytes = 4; },
      [](Problem& p) { p.values[1].is_output = true; },
      [](Problem& p) { p.owners[0].instance = "other"; },
      [](Problem& p) { p.owners[1].memory = 1'000'000; },
      [](Problem& p) { p.owners[1].max_partitions = 2; },
      [](Problem& p) { p.owners[1].conflicts = {1}; },
      [](Problem& p) { p.owners[1].joins = ps(1); },
      [](Problem& p) { p.formats[1].layout = "NHWC"; },
      [](Problem& p) { p.constant_bytes[0] = 65; },
      [](Problem& p) { p.unit = Cost::Unit::Joules; },
  };
  const std::string digest = digest_of(row_of_nodes());
  EXPECT_EQ(digest, digest_of(row_of_nodes()));
  for (size_t i = 0; i < changes.size(); ++i) {
    Problem problem = row_of_nodes();
    changes[i](problem);
    EXPECT_NE(digest_of(problem), digest) << i;
  }
  solved(row_of_nodes());
  Problem expensive = row_of_nodes();
  expensive.candidates[4].cost = ps(100);
  EXPECT_FALSE(solved(expensive).is_known);
  EXPECT_EQ(solved(expensive).cost, ps(40));
}

TEST_F(SolutionFolder, AnotherBudgetIsAnotherSearch) {
  solved(row_of_nodes());
  SearchOptions less;
  less.max_states = 10;
  EXPECT_FALSE(solved(row_of_nodes(), less).is_known);
  SearchOptions timed;
  timed.max_seconds = 60;
  EXPECT_FALSE(solved(row_of_nodes(), timed).is_known);
}

TEST_F(SolutionFolder, AProbeTakesWhatIsKnownAndIsNotKept) {
  SearchOptions probe;
  probe.is_probe = true;
  EXPECT_FALSE(solved(row_of_nodes(), probe).is_known);
  EXPECT_FALSE(solved(row_of_nodes()).is_known);
  EXPECT_TRUE(solved(row_of_nodes(), probe).is_known);
}

TEST_F(SolutionFolder, WhatDoesNotHoldIsSearchedAgain) {
  const Solution good = solved(row_of_nodes());
  const auto replaced_by = [&](const std::function<void(Solution&)>& change) {
    support::FileCache files(folder_.string());
    Solution wrong = good;
    change(wrong);
    KnownSolutions(&files).keep(row_of_nodes(), SearchOptions(), wrong);
    const Solution again = solved(row_of_nodes());
    EXPECT_FALSE(again.is_known);
    EXPECT_EQ(again.chosen, good.chosen);
    EXPECT_TRUE(solved(row_of_nodes()).is_known);
  };
  replaced_by([](Solution& s) { s.cost += ps(1); });
  replaced_by([](Solution& s) { s.chosen.pop_back(); });
  replaced_by([](Solution& s) { s.chosen[0] = CandidateId(int64_t{77}); });
  replaced_by([](Solution& s) { s.chosen[0] = CandidateId(int64_t{-1}); });
  replaced_by([](Solution& s) { s.bound = s.cost + ps(1); });
  replaced_by([](Solution& s) { s.region.resize(1); });
}

}  // namespace
}  // namespace collage::place
