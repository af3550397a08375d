// SPDX-License-Identifier: Apache-2.0
#include "compiler/page/believed_time.h"

#include <gtest/gtest.h>

namespace collage::page {
namespace {

using runtime::Duration;

runner::BenchReport runs(std::vector<double> seconds) {
  return {.seconds = std::move(seconds)};
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(BelievedTime, SaysNothingOfMeasuredCostsAlone) {
  EXPECT_EQ(believed_time({.predicted = Duration::seconds(0.01)}), "");
}

TEST(BelievedTime, OfFormulasIsNotMeasured) {
  EXPECT_TRUE(
      has(believed_time({.predicted = Duration::seconds(0.01), .has_estimates = true}), "formulas of rule files"));
}

TEST(BelievedTime, OfABenchThatAgrees) {
  const std::string text =
      believed_time({.predicted = Duration::seconds(0.0100), .bench = runs({0.0104, 0.01045, 0.0106})});
  EXPECT_EQ(text, "Prediction and bench agree within 5 %.");
}

TEST(BelievedTime, OfABenchThatDiffersIsTheBenchWithTheReason) {
  const std::string text = believed_time(
      {.predicted = Duration::seconds(0.01), .has_estimates = true, .bench = runs({0.020, 0.021, 0.022})});
  EXPECT_TRUE(has(text, "Believe the bench, 21 ms, 2.1 times the 10 ms predicted")) << text;
  EXPECT_TRUE(has(text, "estimates")) << text;
}

TEST(BelievedTime, OfDisturbedRunsIsTheFastest) {
  const std::string text = believed_time({.predicted = Duration::seconds(0.01), .bench = runs({0.010, 0.025, 0.030})});
  EXPECT_TRUE(has(text, "Believe the fastest run, 10 ms")) << text;
}

TEST(BelievedTime, OfModelsOfChipsIsNoLatency) {
  const TimeEvidence evidence{.predicted = Duration::seconds(0.01),
                              .models = {"npu"},
                              .bench = runs({0.5, 0.5, 0.5}),
                              .compared = {{"optimal", 1}}};
  const std::string text = believed_time(evidence);
  EXPECT_TRUE(has(text, "npu is a model of a chip")) << text;
  EXPECT_TRUE(has(text, "whose 500 ms are no latency")) << text;
}

TEST(BelievedTime, OfComparedStrategiesIsTheFastestMeasured) {
  const std::string text =
      believed_time({.predicted = Duration::seconds(0.01),
                     .compared = {{"optimal", 0.018}, {"greedy", 0.03}, {"single:onednn", 0.010}}});
  EXPECT_TRUE(has(text, "single:onednn took 10 ms, optimal 18 ms, 1.8 times as long")) << text;
  EXPECT_TRUE(
      has(believed_time({.predicted = Duration::seconds(0.01), .compared = {{"optimal", 0.0105}, {"greedy", 0.01}}}),
          "agree"));
}

TEST(BelievedTime, OfAProfileIsTheSumOfItsKernels) {
  const std::string text =
      believed_time({.predicted = Duration::seconds(0.01), .has_estimates = true, .profiled = 0.03});
  EXPECT_TRUE(has(text, "Believe the profile, 30 ms, 3 times the 10 ms predicted")) << text;
}

TEST(BelievedTime, OfAPlanTimedBesideItsRivals) {
  const std::string text = believed_time({.predicted = Duration::seconds(0.0236), .timed = Duration::seconds(0.0407)});
  EXPECT_TRUE(has(text, "Believe 40.7 ms")) << text;
  EXPECT_EQ(believed_time({.predicted = Duration::seconds(0.040), .timed = Duration::seconds(0.0407)}), "");
}

}  // namespace
}  // namespace collage::page
