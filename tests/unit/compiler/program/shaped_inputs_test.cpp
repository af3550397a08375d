// SPDX-License-Identifier: Apache-2.0
// A file that decides which specialisation of a package runs is read once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/io/npy.h"
#include "runtime/runner/bind_inputs.h"
#include "runtime/runner/choose_shape.h"

namespace collage::runner {
namespace {

TEST(ShapedInputs, AreReadOnce) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("shaped_inputs_" + std::to_string(::getpid()) + ".npy")).string();
  runtime::Tensor given(runtime::DType::F32, {6, 3});
  for (float& element : given.as<float>()) element = 0.5F;
  ASSERT_TRUE(runtime::write_npy(path, given));
  runtime::ShapeTable table;
  table.inputs = {"x"};
  table.outputs = {"y"};
  table.dimensions = {{"batch", 1, "", {{0, 1}}, {{0, 1}}}};
  table.variants = {{{2}, {{2, 3}}, {{2, 2}}}, {{6}, {{6, 3}}, {{6, 2}}}};

  const support::SourceManager sources;
  support::Diagnostics diags(sources);
  RunRequest request;
  request.is_asked = true;
  request.inputs = {{"x", path}};
  const std::optional<runtime::ShapeChoice> choice = choose_shape(request, table, diags);
  ASSERT_TRUE(choice) << diags.render();
  EXPECT_EQ(choice->variant, 1U);

  std::filesystem::remove(path);
  ModelPorts ports;
  ports.inputs = {{"x", {runtime::DType::F32, {6, 3}}}};
  ports.outputs = {{"y", {runtime::DType::F32, {6, 2}}}};
  const auto bound = bind_inputs(request, ports, diags);
  ASSERT_TRUE(bound) << diags.render();
  EXPECT_TRUE(runtime::identical(bound->at(0).data, given));
}

}  // namespace
}  // namespace collage::runner
