// SPDX-License-Identifier: Apache-2.0
// What the text of a candidate says of the caches: it depends on the weights of its network, where it has weights
// itself.
#include "compiler/measure/cache_state.h"

#include <gtest/gtest.h>

#include "compiler/measure/candidate_text.h"
#include "compiler/sema/model/build_graph.h"

namespace collage::measure {
namespace {

/// A product with `width` squared weights, 4 bytes each, and a Relu after it.
ir::Graph network(int width) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const std::string w = std::to_string(width);
  const support::FileId file =
      sources.add("m.ir", "model @m(%x: f32[1, " + w + "]) -> (%y: f32[1, " + w + "]) { %w = const splat 1.0 : f32[" +
                              w + ", " + w + "] %a = MatMul(%x, %w) %y = Relu(%a) }");
  std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  EXPECT_TRUE(model) << diags.render();
  return model ? std::move(model->graph) : ir::Graph();
}

ir::Partition alone(const ir::Graph& graph, const std::string& node) {
  ir::Partition partition;
  partition.backend = partition.instance = "host";
  partition.nodes = {graph.find_node(node)};
  for (ir::ValueId value : ir::boundary_inputs(graph, partition.nodes)) partition.inputs.push_back({value, {}});
  for (ir::ValueId value : ir::boundary_outputs(graph, partition.nodes)) partition.outputs.push_back({value, {}});
  return partition;
}

std::string text_of(const ir::Graph& graph, const std::string& node) {
  const ir::Partition partition = alone(graph, node);
  return with_cache_state(candidate_text(graph, partition), swept_mebibytes(graph), graph, partition);
}

TEST(CacheState, GrowsWithTheWeights) {
  EXPECT_EQ(swept_mebibytes(network(64)), 0);
  const int middle = swept_mebibytes(network(2048)), large = swept_mebibytes(network(4096));
  EXPECT_GT(middle, 0);
  EXPECT_GT(large, middle);
  // More than a large last cache holds beside the weights of one product.
  EXPECT_GE(swept_mebibytes(network(7168)), 256);
}

TEST(CacheState, IsInTheTextOfCandidatesWithWeights) {
  const ir::Graph graph = network(2048);
  EXPECT_EQ(cache_state_of(text_of(graph, "a")), swept_mebibytes(graph));
  EXPECT_EQ(cache_state_of(text_of(graph, "y")), 0);
  EXPECT_EQ(text_of(graph, "y"), candidate_text(graph, alone(graph, "y")));
  EXPECT_EQ(cache_state_of(text_of(network(64), "a")), 0);
}

TEST(CacheState, OfTextsThatSayNothing) {
  for (const char* text : {"", "model @candidate() -> () {}", "// 64", "// many MiB are read between runs\n",
                           "// -3 MiB are read between runs\n"}) {
    EXPECT_EQ(cache_state_of(text), 0) << text;
  }
  EXPECT_LE(cache_state_of("// 100000 MiB are read between runs\n"), 1024);
}

}  // namespace
}  // namespace collage::measure
