// SPDX-License-Identifier: Apache-2.0
// Floors lie below what kernels take that multiply less than the definition says: by filtering, or once for what
// repeats.
#include "compiler/place/costs/cost_floor.h"

#include <gtest/gtest.h>

#include "compiler/sema/model/build_graph.h"

namespace collage::place {
namespace {

constexpr const char* kConv = "%w = const random seed 1 : f32[64, 64, 3, 3] %y = Conv(%x, %w) {pads = [1, 1, 1, 1]}";
constexpr const char* kEnlarged =
    "%s = const dense f32[4] [1.0, 1.0, 2.0, 2.0] %r = Resize(%x, _, %s) %w = const random seed 1 : f32[64, 64, 3, 3] "
    "%y = Conv(%r, %w) {pads = [1, 1, 1, 1]}";

/// Seconds, of all nodes of the model, by one rule of generated code that asks for `symbol`.
double floor_of(const std::string& body, const std::string& symbol, int out) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const std::string extent = std::to_string(out);
  const support::FileId file = sources.add(
      "m.ir", "model @m(%x: f32[1, 64, 64, 64]) -> (%y: f32[1, 64, " + extent + ", " + extent + "]) { " + body + " }");
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  EXPECT_TRUE(model) << diags.render();
  if (!model) return 0;
  ir::Backend backend;
  backend.name = "host";
  backend.rules.emplace_back();
  backend.rules[0].kernels.emplace_back();
  backend.rules[0].kernels[0].lowering.symbol = symbol;
  ir::Partition candidate;
  candidate.backend = candidate.instance = "host";
  for (ir::NodeId node : model->graph.node_ids()) candidate.nodes.push_back(node);
  ir::ChosenMatch match;
  match.rule = 0;
  match.nodes = candidate.nodes;
  candidate.matches = {match};
  return cost_floor(model->graph, candidate, &backend, {1e9, 1e15}).floor.seconds();
}

TEST(CostFloor, OfKernelsThatFilter) {
  const double direct = floor_of(kConv, "direct", 64);
  EXPECT_NEAR(direct, 2.0 * 64 * 64 * 64 * 64 * 9 / 1e9, 0.05 * direct);
  EXPECT_EQ(floor_of(kConv, "a label", 64), direct);
  EXPECT_NEAR(floor_of(kConv, "winograd", 64), direct / 4, 1e-3 * direct);
  EXPECT_LT(floor_of(kConv, "amx_gemm", 64), direct / 8);
}

TEST(CostFloor, OfAnEnlargedInput) {
  const double direct = floor_of(kEnlarged, "direct", 128);
  EXPECT_NEAR(direct, 2.0 * 64 * 64 * 64 * 64 * 9 / 1e9, 0.05 * direct)
      << "each of the four times as many products is there once";
  EXPECT_NEAR(floor_of(kEnlarged, "winograd", 128), direct / 4, 1e-3 * direct);
}

}  // namespace
}  // namespace collage::place
