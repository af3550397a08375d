// SPDX-License-Identifier: Apache-2.0
// Placement files -> placements of a fixed model: refused with a message, or accepted, and then a fixed point of print
// and parse.
#include <cstdint>

#include "compiler/request/placement_file.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

constexpr const char* kModel = R"(
model @m(%x: f32[1, 4, 8, 8]) -> (%y: f32[1, 4, 8, 8], %z: f32[1, 4, 8, 8]) {
  %w = const random seed 1 : f32[4, 4, 3, 3]
  %c = Conv(%x, %w) {pads = [1, 1, 1, 1]}
  %d = Relu(%c)
  %e = Add(%d, %x)
  %y = Sigmoid(%e)
  %z = Mul(%y, %d)
}
)";

void check(const std::string& text) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  static const std::optional<sema::Model> model = [] {
    support::SourceManager own;
    support::Diagnostics none(own);
    return sema::load_model_text(own, own.add("model.ir", kModel), "", none);
  }();
  if (!model) fail("the model of this harness is malformed");
  const auto placement = request::parse_placement(sources.add("input.plan", text), model->graph, sources, diags);
  expect_told(placement.has_value(), diags);
  if (!placement) return;
  const std::string printed = request::print_placement(model->graph, *placement);
  const auto again = request::parse_placement(sources.add("printed.plan", printed), model->graph, sources, diags);
  if (!again) fail("what was printed does not parse:\n" + diags.render() + printed);
  const std::string reprinted = request::print_placement(model->graph, *again);
  if (reprinted != printed) fail("printed, parsed and printed:\n" + printed + "\n---\n" + reprinted);
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
