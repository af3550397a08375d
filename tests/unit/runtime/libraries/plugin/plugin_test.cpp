// SPDX-License-Identifier: Apache-2.0
// Plug-ins over the C ABI: the sample, and samples that are broken.
#include "runtime/libraries/plugin/plugin.h"

#include <fmt/format.h>

#include "tests/unit/runtime/libraries/harness.h"

namespace collage::runtime::test {
namespace {

std::string sample(const std::string& name) {
  return fmt::format("{}{}/lib{}.so", kPluginPrefix, COLLAGE_PLUGIN_FOLDER, name);
}

TEST(Plugin, RunsAProgram) {
  LibraryModel model;
  ir::ValueId x = model.input({3, 5}), z = model.input({3, 5});
  ir::ValueId sum = model.add("Add", {x, z});
  ir::ValueId product = model.add("Mul", {sum, model.constant(Shape{3, 5})});
  model.graph.mark_output(model.add("Relu", {product}));
  model.graph.mark_output(sum);
  LibraryRun run = model.run(sample("sample_plugin"));
  EXPECT_EQ(run.failure, "");
}

TEST(Plugin, RefusesWhatItCannotRun) {
  LibraryModel model;
  model.graph.mark_output(model.add("Tanh", {model.input({3})}));
  EXPECT_EQ(model.run(sample("sample_plugin")).failure, "sample: it cannot run Tanh");
}

TEST(Plugin, FailedRunsAreReported) {
  LibraryModel model;
  model.graph.mark_output(model.add("Relu", {model.input({3})}));
  EXPECT_EQ(model.run(sample("sample_plugin_fails")).failure, "sample: the sample is out of order");
}

TEST(Plugin, AbsenceHasAReason) {
  EXPECT_EQ(plugin_absence(sample("sample_plugin")), "");
  EXPECT_NE(plugin_absence(sample("sample_plugin_other_abi")).find("has version 99 of the ABI, this build 1"),
            std::string::npos);
  EXPECT_NE(plugin_absence("plugin:/nowhere/libx.so").find("`/nowhere/libx.so` does not exist"), std::string::npos);
  const std::string text_file = fmt::format("{}{}/README.md", kPluginPrefix, COLLAGE_SOURCE_DIR);
  EXPECT_NE(plugin_absence(text_file).find("cannot be loaded"), std::string::npos);
  EXPECT_EQ(version_of_plugin(sample("sample_plugin")), "1.0");
}

TEST(Plugin, IsFoundBesideItsRuleFile) {
  EXPECT_EQ(plugin_library("libsample_plugin.so", COLLAGE_PLUGIN_FOLDER "/r.rules"), sample("sample_plugin"));
  EXPECT_EQ(plugin_library("libno.so", "/nowhere/r.rules"), "plugin:/nowhere/libno.so");
}

}  // namespace
}  // namespace collage::runtime::test
