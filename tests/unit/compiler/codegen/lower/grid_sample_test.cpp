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
              0, -1, 1, 0.5F, -0.25F, 0.75F, 3, -40, 1e12F, std::nanf(""), std::numeric_limits<float>::infinity()};
          for (size_t i = 0; i < places.size(); ++i) {
            if (pick(0, 2) == 0) places[i] = special[static_cast<size_t>(pick(0, padding[0] == 'r' ? 7 : 10))];
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

}  // namespace
}  // namespace collage::codegen_test
