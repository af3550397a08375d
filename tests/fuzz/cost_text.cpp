// SPDX-License-Identifier: Apache-2.0
// Measured costs as CSV or JSON -> rows: refused with a message, or accepted; then each row is one that a measurement
// could have made, and written in both forms they are read again as the same.
#include <cstdint>

#include "compiler/costs_tool/cost_files.h"
#include "compiler/measure/measurement.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

void check(const std::string& text) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const auto rows = costs_tool::read_costs(sources, sources.add("input.csv", text), diags);
  expect_told(rows.has_value(), diags);
  if (!rows) return;
  for (const measure::CostRow& row : *rows) {
    if (std::string problem = measure::problem_of(row.measurement); !problem.empty()) fail("accepted: " + problem);
  }
  const std::string csv = costs_tool::to_csv(*rows);
  for (const std::string& written : {csv, costs_tool::to_json(*rows)}) {
    const auto again = costs_tool::read_costs(sources, sources.add("written", written), diags);
    if (!again) fail("what was written cannot be read:\n" + diags.render() + written);
    if (costs_tool::to_csv(*again) != csv) fail("written, read and written:\n" + written);
  }
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
