// SPDX-License-Identifier: Apache-2.0
// Costs as CSV and JSON: what is written reads back, what is impossible is refused at its place.
#include "compiler/costs_tool/cost_files.h"

#include <gtest/gtest.h>

#include "compiler/costs_tool/provenance.h"

namespace collage::costs_tool {
namespace {

using measure::CostRow;
using runtime::Duration;

std::vector<CostRow> some_rows() {
  CostRow good{"cpu X features a b\ncollage 0.1.0 llvm 19\nthreads 2\nonednn version 1 runtime library onednn {}",
               "model @candidate(%v0: f32[2]) -> (%v1: f32[2]) {\n  %v1 = partition @p0 on onednn(host) {\n"
               "    %v1 = Relu(%v0) {note = \"a,b\"} : f32[2]\n  }\n}\n",
               {}};
  good.measurement.cost = Duration::picoseconds(41);
  good.measurement.spread = Duration::picoseconds(3);
  good.measurement.runs = 5;
  good.measurement.date = 1'700'000'000;
  CostRow failed{"cpu X\nhost", "text", measure::failed_measurement("it broke, \"badly\"")};
  CostRow busy = good;
  busy.candidate = "other";
  busy.measurement.disturbance = "busy";
  return {good, failed, busy};
}

struct Read {
  std::optional<std::vector<CostRow>> rows;
  std::string errors;
};

Read read(const std::string& text) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  Read result;
  result.rows = read_costs(sources, sources.add("costs", text), diags);
  result.errors = diags.render();
  return result;
}

/// With one occurrence replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CostFiles, ReadBack) {
  const std::vector<CostRow> rows = some_rows();
  for (const std::string& text : {to_csv(rows), to_json(rows)}) {
    const Read again = read(text);
    ASSERT_TRUE(again.rows) << again.errors;
    ASSERT_EQ(again.rows->size(), rows.size());
    for (size_t r = 0; r < rows.size(); ++r) {
      EXPECT_EQ((*again.rows)[r].id(), rows[r].id());
      EXPECT_EQ((*again.rows)[r].measurement, rows[r].measurement);
    }
  }
}

void expect_refused(const std::string& text, const std::string& where, const std::string& why) {
  const Read result = read(text);
  EXPECT_FALSE(result.rows) << why;
  EXPECT_NE(result.errors.find(where), std::string::npos) << where << " is not in\n" << result.errors;
  EXPECT_NE(result.errors.find(why), std::string::npos) << why << " is not in\n" << result.errors;
}

TEST(CostFiles, WrongOnesAreRefusedAtTheirPlace) {
  const std::string csv = to_csv(some_rows()), json = to_json(some_rows());
  expect_refused(with(csv, ",41,", ",-41,"), "costs:2:1", "impossible cost -41ps");
  expect_refused(with(csv, ",41,", ",much,"), "costs:10:3", "`much` is no whole number of 64 bits for cost_ps");
  expect_refused(with(csv, ",41,", ",4.5,"), "costs:10:3", "`4.5` is no whole number");
  expect_refused(with(csv, "cost_ps", "price"), "costs:1:23", "unknown column `price`");
  expect_refused(with(csv, ",spread_ps", ""), "costs:1:1", "8 columns, need 9");
  expect_refused(csv + "a,b\n", "a,b", "2 fields, need 9");
  expect_refused(with(json, ":41,", ":-41,"), "costs:2:", "impossible cost -41ps");
  expect_refused(with(json, ":41,", ":\"41\","), "costs:2:", "`\"41\"` is no whole number of 64 bits for cost_ps");
  expect_refused(with(csv, ",41,", ",9223372036854775808,"), "costs:10:3", "is no whole number of 64 bits");
  expect_refused(with(csv, "spread_ps", "cost_ps"), "costs:1:31", "column `cost_ps` is named twice");
  expect_refused(with(json, ":41,", ":9223372036854775808,"), "costs:2:", "is no whole number of 64 bits");
  expect_refused(with(json, ":41,", ":[[41]],"), "costs:2:", "an array is no whole number of 64 bits");
  expect_refused(with(csv, "1700000000", "-1"), "costs:2:1", "impossible date -1");
  expect_refused(with(json, ":41,", ":4e1,"), "costs:2:", "is no whole number");
  expect_refused(with(json, "\"runs\":5,", ""), "costs:2:1", "a cost without `runs`");
  expect_refused(with(json, "]}", "]"), "costs:", "this is no JSON");
  expect_refused("{}", "costs:1:1", "no file of costs");
  expect_refused("", "costs:1:1", "0 columns, need 9");
  const std::string errors = read(with(with(csv, ",41,", ",-41,"), ",41,", ",-41,")).errors;
  const size_t note = errors.find("nothing of the file was imported");
  ASSERT_NE(note, std::string::npos) << errors;
  EXPECT_EQ(errors.find("nothing of the file was imported", note + 1), std::string::npos) << "it is said once\n"
                                                                                          << errors;
}

TEST(CostFiles, TextsThatWouldComeBackDifferentAreRefused) {
  const std::string csv = to_csv(some_rows()), json = to_json(some_rows());
  expect_refused(with(csv, "collage 0.1.0", "l\x98\x91"), "costs:2:1", "environment is not UTF-8: byte 0x98");
  expect_refused(with(csv, "note", "n\xe9"), "costs:5:45", "candidate is not UTF-8: byte 0xe9");
  expect_refused(with(csv, "it broke", "it \xc0\xaf"), "costs:12:18", "failure is not UTF-8: byte 0xc0");
  expect_refused(with(csv, "busy", "\xed\xa0\x80"), "costs:", "disturbance is not UTF-8: byte 0xed");
  expect_refused(with(csv, "it broke", std::string(1, '\0')), "costs:12:18", "failure holds a byte that is zero");
  expect_refused(with(json, "it broke", "it \xc0\xaf"), "costs:3:", "this is no JSON");
  expect_refused(with(json, "it broke", "it \\ud800"), "costs:3:", "this is no JSON");
  expect_refused(R"({"collage_costs": 1e999, "costs": []})", "costs:1:", "a number is too large");
  expect_refused(with(json, "it broke", "it \\u0000"), "costs:3:", "failure holds a byte that is zero");
  EXPECT_TRUE(read(with(csv, "it broke", "caf\xc3\xa9 \xf0\x9d\x95\x8f")).rows);
}

TEST(Provenance, IsReadOutOfTheKey) {
  const std::vector<CostRow> rows = some_rows();
  const Provenance from = provenance_of(rows[0]);
  EXPECT_EQ(from.backend, "onednn");
  EXPECT_EQ(from.what, "Relu -> f32[2]");
  EXPECT_EQ(from.processor, "X");
  EXPECT_EQ(from.build, "collage 0.1.0 llvm 19");
  EXPECT_EQ(from.threads, "2");
  EXPECT_EQ(provenance_of(rows[1]).backend, "host");
  EXPECT_EQ(date_text(1'700'000'000), "2023-11-14 22:13");
  EXPECT_EQ(state_of(rows[0]) + state_of(rows[1]) + state_of(rows[2]), "goodfaileddisturbed");
}

}  // namespace
}  // namespace collage::costs_tool
