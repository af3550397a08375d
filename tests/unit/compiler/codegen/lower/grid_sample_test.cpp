// SPDX-License-Identifier: Apache-2.0
// GridSample against its reference kernel.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class GridSampleKernels : public KernelTest {};

TEST_F(GridSampleKernels, AllModes) {
  unsigned seed = 0;
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (int64_t align : {0, 1}) {
        for (int round = 0; round < 3; ++round) {
          SCOPED_TRACE(std::string(mode) + " " + padding + (align ? " aligned " : " ") + std::to_string(round));
          Model model(++seed);
          auto pick = [&](int64_t low, int64_t high) {
            return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
          };
          const int64_t images = pick(1, 2);
          ir::AttrMap attrs;
          attrs.set("mode", std::string(mode));
          attrs.set("padding_mode", std::string(padding));
          attrs.set("align_corners", align);
          runtime::Tensor grid = model.random_tensor({images, pick(1, 7), pick(1, 30), 2}, -1.6F, 1.6F);
          // Places in the middle between pixels, far outside, and nowhere.
          auto places = grid.as<float>();
          const std::vector<float> special = {
              0, -1, 1, 0.5F, -0.25F, 0.75F, 3, -40, 2.0F / 3, std::nanf(""), std::numeric_limits<float>::infinity()};
          for (size_t i = 0; i < places.size(); ++i) {
            if (pick(0, 2) == 0) places[i] = special[static_cast<size_t>(pick(0, 10))];
          }
          ValueId x = model.input({images, pick(1, 5), round == 0 ? 1 : pick(2, 8), pick(1, 9)});
          model.graph.mark_output(model.op("GridSample", {x, model.input(std::move(grid))}, attrs));
          RunStats stats = check(model, *jit_, 2e-5);
          EXPECT_EQ(stats.kernels, 1);
          EXPECT_EQ(stats.references, 0);
        }
      }
    }
  }
}

// Reflected, too, what is no number is one pixel.
TEST_F(GridSampleKernels, ReflectsWhatIsNoNumber) {
  for (int64_t align : {0, 1}) {
    Model model(5);
    ir::AttrMap attrs;
    attrs.set("padding_mode", std::string("reflection"));
    attrs.set("align_corners", align);
    const float inf = std::numeric_limits<float>::infinity();
    ValueId grid = model.input<float>(ir::DType::F32, {1, 1, 3, 2}, {std::nanf(""), 0, inf, -inf, 0.3F, inf});
    model.graph.mark_output(model.op("GridSample", {model.input({1, 2, 5, 7}), grid}, attrs));
    EXPECT_EQ(check(model, *jit_, 2e-5).references, 0);
  }
}

// A picture half as large: every place is in the middle between pixels.
TEST_F(GridSampleKernels, DecidesMiddlesAsTheReferenceDoes) {
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (int64_t width : {6, 10, 14, 22}) {
      SCOPED_TRACE(std::string(padding) + " " + std::to_string(width));
      Model model(7);
      ir::AttrMap attrs;
      attrs.set("mode", std::string("nearest"));
      attrs.set("padding_mode", std::string(padding));
      const int64_t count = 3 * width / 2;
      runtime::Tensor grid(ir::DType::F32, {1, 1, count, 2});
      for (int64_t i = 0; i < count; ++i) {
        const auto place = static_cast<float>(2 * i + 1 - count) / static_cast<float>(width / 2);
        grid.as<float>()[static_cast<size_t>(2 * i)] = place;
        grid.as<float>()[static_cast<size_t>(2 * i + 1)] = 0;
      }
      model.graph.mark_output(
          model.op("GridSample", {model.input({1, 1, 3, width}), model.input(std::move(grid))}, attrs));
      EXPECT_EQ(check(model, *jit_, 0).references, 0);
    }
  }
}

TEST_F(GridSampleKernels, LargePlacesAreAtTheBorder) {
  Model model(8);
  ir::AttrMap attrs;
  attrs.set("padding_mode", std::string("border"));
  ValueId grid = model.input<float>(ir::DType::F32, {1, 1, 3, 2}, {3e38F, 0, -3e38F, 3e38F, 1e12F, -1e12F});
  model.graph.mark_output(model.op("GridSample", {model.input({1, 1, 4, 8}), grid}, attrs));
  EXPECT_EQ(check(model, *jit_, 0).references, 0);
}

}  // namespace
}  // namespace collage::codegen_test
