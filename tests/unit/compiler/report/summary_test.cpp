// SPDX-License-Identifier: Apache-2.0
// The summary in the width of a terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "compiler/report/report.h"

namespace collage::report {
namespace {

ir::Partition partition_on(const std::string& backend, double seconds) {
  ir::Partition made;
  made.backend = made.instance = backend;
  made.cost = Duration::seconds(seconds);
  return made;
}

/// A placement on npu, a model of a chip, and on host; onednn and openblas run nothing.
struct Sample {
  ir::Graph graph;
  ir::Placement placement;
  Report report;

  Sample() {
    graph.name = "sample";
    placement.partitions = {partition_on("host", 1e-3), partition_on("npu", 13.4e-3), partition_on("host", 2e-3)};
    report.strategy = "optimal";
    report.has_bound = report.optimal = true;
    report.predicted = Duration::seconds(16.4e-3);
    report.value = report.bound = Cost::time(report.predicted);
    report.candidates = 3457;
    report.rule_summary = "host 37, npu 9, onednn 19, openblas 3: 68 rules";
    report.backends = {{"host", "", 37, {"3x Softmax \"axis 1, need the last\" (supported while axis == rank(x) - 1)"}},
                       {"npu", "", 9, {}, true},
                       {"onednn", "", 19, {"2x Gemm \"a product with a vector, which another library is better at\""}},
                       {"openblas", "", 3, {}},
                       {"dsp", "a model", 5, {}, true, true},
                       {"ethosu", "a model", 5, {}, true, true}};
  }

  std::vector<std::string> lines(size_t width) const {
    std::istringstream stream(summary(graph, placement, report, width));
    std::vector<std::string> all;
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }
};

size_t index_of(const std::vector<std::string>& lines, const std::string& begin) {
  const auto at =
      std::find_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(begin); });
  EXPECT_NE(at, lines.end()) << begin;
  return static_cast<size_t>(at - lines.begin());
}

TEST(Summary, NoLineIsWiderThanTheTerminal) {
  const Sample sample;
  for (const size_t width : {72u, 80u, 100u, 200u}) {
    for (const std::string& line : sample.lines(width)) EXPECT_LE(runtime::columns_of(line), width) << line;
  }
}

TEST(Summary, UsedBackendsComeFirstByTheirShare) {
  const std::vector<std::string> lines = Sample().lines(100);
  const size_t table = index_of(lines, "placement   backend");
  EXPECT_TRUE(lines[table + 1].starts_with("            npu ")) << lines[table + 1];
  EXPECT_TRUE(lines[table + 1].ends_with("81.7 %")) << lines[table + 1];
  EXPECT_TRUE(lines[table + 2].starts_with("            host ")) << lines[table + 2];
  EXPECT_TRUE(lines[table + 3].starts_with("              refused 3x Softmax ")) << lines[table + 3];
  const size_t unused = index_of(lines, "not used    ");
  EXPECT_EQ(lines[unused], "not used    openblas");
  EXPECT_TRUE(lines[unused + 1].starts_with("            onednn: 2x Gemm ")) << lines[unused + 1];
  EXPECT_EQ(lines[unused + 2],
            "            dsp, ethosu: models of chips, no devices: `-t NAME` or `--simulated` lets them take part");
}

TEST(Summary, ModelsOfChipsAreInTheHeadline) {
  Sample sample;
  std::vector<std::string> lines = sample.lines(100);
  EXPECT_EQ(lines[index_of(lines, "search ") + 1],
            "            13.4 ms of it on npu, a model of a chip: no device runs it");
  sample.placement.partitions.erase(sample.placement.partitions.begin() + 1);
  lines = sample.lines(100);
  EXPECT_TRUE(lines[index_of(lines, "search ") + 1].starts_with("placement "));
}

TEST(Summary, GrowthThatEndedAtALimitIsExplained) {
  Sample sample;
  sample.report.truncated = 107;
  const std::vector<std::string> lines = sample.lines(200);
  EXPECT_TRUE(lines[index_of(lines, "growth ")].starts_with("growth      ended at a limit in 107 places: "));
  EXPECT_TRUE(lines[index_of(lines, "search ")].starts_with("search      optimal among 3457 candidates in "));
}

TEST(Summary, TheTotalStandsAboveWhatWasWritten) {
  Sample sample;
  sample.report.spent = {2, {{"search", 2}}, 1};
  sample.report.wrote = "sample.collage";
  const std::vector<std::string> lines = sample.lines(100);
  EXPECT_EQ(lines[lines.size() - 2], "total       2 s: search 2 s");
  EXPECT_EQ(lines.back(), "wrote       sample.collage");
}

}  // namespace
}  // namespace collage::report
