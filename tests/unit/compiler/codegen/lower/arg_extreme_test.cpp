// SPDX-License-Identifier: Apache-2.0
// ArgMax and ArgMin against their reference kernels.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class ArgExtremeKernels : public KernelTest {
 protected:
  void expect_compiled(Model& model) {
    RunStats stats = check(model, *jit_);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
};

// Few different numbers, so that many are equal; some NaN.
TEST_F(ArgExtremeKernels, RandomShapesAndAxes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const int64_t rank = pick(1, 4);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(pick(1, d + 1 == rank ? 70 : 6));
    if (pick(0, 2) == 0) shape[static_cast<size_t>(pick(0, rank - 1))] = pick(1, 40);
    runtime::Tensor x(ir::DType::F32, shape);
    const bool has_nan = pick(0, 1) == 0;
    for (float& each : x.as<float>()) {
      each = static_cast<float>(pick(-4, 4));
      if (each == 0 && pick(0, 1) == 0) each = -0.0F;
      if (has_nan && pick(0, 9) == 0) each = std::numeric_limits<float>::quiet_NaN();
      if (pick(0, 99) == 0) each = std::numeric_limits<float>::infinity();
    }
    ir::AttrMap attrs;
    attrs.set("axis", pick(-rank, rank - 1));
    attrs.set("keepdims", pick(0, 1));
    attrs.set("select_last_index", pick(0, 1));
    model.graph.mark_output(model.op(pick(0, 1) == 0 ? "ArgMax" : "ArgMin", {model.input(std::move(x))}, attrs));
    expect_compiled(model);
  }
}

}  // namespace
}  // namespace collage::codegen_test
