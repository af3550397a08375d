// SPDX-License-Identifier: Apache-2.0
// The table of `compare` in the width of a terminal, and what is said below it.
#include <gtest/gtest.h>

#include <sstream>

#include "compiler/report/compare/comparison.h"

namespace collage::report {
namespace {

using runtime::Duration;

CompareRow row_of(const std::string& strategy, double predicted, double measured) {
  const std::map<std::string, double> shares = {
      {"host", 0.1}, {"npu", 0.2}, {"onednn", 0.2}, {"openblas", 0.2}, {"xnnpack", 0.3}};
  CompareRow made{strategy, search::FoundPlacement(), "", shares, std::nullopt};
  made.found->predicted = place::Cost::time(Duration::seconds(predicted));
  if (measured > 0) made.measured = Measured{measured, measured, 0};
  for (const char* backend : {"host", "npu", "onednn", "openblas", "xnnpack"}) {
    made.found->placement.partitions.emplace_back().backend = backend;
  }
  return made;
}

Comparison sample(bool is_measured) {
  Comparison made;
  made.backends = {"host", "npu", "onednn", "openblas", "xnnpack"};
  made.runs = is_measured ? 3 : 0;
  made.rows = {
      row_of("optimal", 1e-3, is_measured ? 2e-3 : 0),
      row_of("single:openblas", 2e-3, is_measured ? 1e-3 : 0),
      {"tvm", std::nullopt, "TVM's search is not done after 2 covered sets, which is " + std::string(90, 'x'), {}, {}}};
  return made;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(PrintComparison, ATableThatIsWiderIsParted) {
  for (const bool is_measured : {false, true}) {
    for (const size_t width : {72u, 80u, 100u, 300u}) {
      const std::string text = print(sample(is_measured), width);
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.find("xxx") == std::string::npos ? line.size() : 0, width) << line;
      }
      EXPECT_EQ(count(text, "strategy  ") > 1, width < 300) << text;
      EXPECT_EQ(count(text, "TVM's search"), 1u) << "the reason stands once";
    }
  }
}

TEST(PrintComparison, BackendsThatNoStrategyUsesHaveNoColumn) {
  Comparison comparison = sample(false);
  for (CompareRow& row : comparison.rows) {
    if (row.found) row.found->placement.partitions.resize(2);
  }
  const std::string text = print(comparison, 300);
  EXPECT_NE(text.find("npu"), std::string::npos);
  EXPECT_EQ(text.find("onednn"), std::string::npos);
}

TEST(PrintComparison, SaysWhereAnotherStrategyIsFaster) {
  Comparison comparison = sample(true);
  comparison.has_estimates = true;
  EXPECT_NE(
      print(comparison, 300).find("verdict     measured, single:openblas is 2.00 times as fast as optimal: costs are "),
      std::string::npos);
  comparison.disturbance = "other programs used 1.3 of 2 processors";
  const std::string text = print(comparison, 300);
  EXPECT_NE(text.find("            disturbed: other programs used 1.3 of 2 processors\n"), std::string::npos);
  EXPECT_NE(text.find("the machine was busy"), std::string::npos);
  comparison.has_models = true;
  EXPECT_EQ(print(comparison, 300).find("verdict"), std::string::npos) << "no time is a latency";
}

TEST(PrintComparison, SaysWhichPoliciesCostMoreThanTheHost) {
  Comparison comparison = sample(false);
  EXPECT_EQ(print(comparison, 300).find("to host"), std::string::npos) << "no policy is compared";
  comparison.rows.push_back(row_of("host only", 2e-3, 0));
  for (const auto& [name, predicted] : {std::pair("litert", 1.5e-3), std::pair("relax", 3e-3)}) {
    comparison.rows.push_back(row_of(name, predicted, 0));
    comparison.rows.back().is_policy = true;
  }
  std::string text = print(comparison, 300);
  EXPECT_NE(text.find("ratio   to host   partitions"), std::string::npos) << text;
  EXPECT_NE(text.find("policies    1 of 2 cost more than the host alone: relax\n"), std::string::npos) << text;
  // What was measured decides.
  for (CompareRow& row : comparison.rows) row.measured = Measured{1e-3, 1e-3, 0};
  comparison.runs = 3;
  text = print(comparison, 300);
  EXPECT_NE(text.find("policies    none of 2 costs more than the host alone\n"), std::string::npos) << text;
  for (CompareRow& row : comparison.rows) {
    if (row.strategy == "host only") row.found.reset();
  }
  text = print(comparison, 300);
  EXPECT_EQ(text.find("to host"), std::string::npos) << "nothing to compare with";
}

}  // namespace
}  // namespace collage::report
