// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm over random shapes, with epilogues.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class GemmKernels : public KernelTest {};

TEST_F(GemmKernels, RandomGemms) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 20 == 0) make(1 + static_cast<int>(seed) / 20);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    int64_t m = pick(0, 3) == 0 ? 1 : pick(1, 70);
    int64_t n = pick(1, 150);
    int64_t k = pick(1, 90);
    bool trans_a = pick(0, 2) == 0;
    bool trans_b = pick(0, 1) == 0;
    bool fixed_b = pick(0, 2) > 0;
    ir::AttrMap attrs;
    attrs.set("transA", static_cast<int64_t>(trans_a));
    attrs.set("transB", static_cast<int64_t>(trans_b));
    if (pick(0, 1) == 0) attrs.set("alpha", 0.5);
    if (pick(0, 1) == 0) attrs.set("beta", -2.0);
    Shape b_shape = trans_b ? Shape{n, k} : Shape{k, n};
    std::vector<ValueId> operands = {model.input(trans_a ? Shape{k, m} : Shape{m, k}),
                                     fixed_b ? model.constant(b_shape) : model.input(b_shape)};
    const std::vector<Shape> c_shapes = {{m, n}, {n}, {m, 1}, {1}, {}};
    if (pick(0, 1) == 0) operands.push_back(model.input(c_shapes[static_cast<size_t>(pick(0, 4))]));
    ValueId y = model.op("Gemm", operands, attrs);
    if (pick(0, 1) == 0) y = model.op("Relu", {y});
    if (pick(0, 2) == 0) y = model.op("Add", {y, model.input({m, n})});
    model.graph.mark_output(y);
    RunStats stats = check(model, *jit_);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
}

TEST_F(GemmKernels, BatchedMatMulsBroadcast) {
  struct Case {
    Shape a, b;
    bool fixed_b;
  };
  const std::vector<Case> cases = {
      {{2, 17, 33}, {33, 50}, true},          {{2, 17, 33}, {33, 50}, false},    {{3, 2, 9, 8}, {3, 2, 8, 20}, false},
      {{3, 1, 9, 8}, {2, 8, 20}, false},      {{9, 8}, {4, 8, 20}, true},        {{2, 3, 9, 8}, {2, 1, 8, 70}, true},
      {{1, 128, 64}, {1, 64, 40}, true},      {{8, 1, 64}, {8, 64, 128}, false}, {{5, 7, 1}, {1, 3}, true},
      {{1, 4, 50, 16}, {1, 4, 16, 50}, false}};
  for (int threads : {1, 3}) {
    make(threads);
    for (const Case& c : cases) {
      SCOPED_TRACE(runtime::to_string(c.a) + runtime::to_string(c.b));
      Model model(5);
      ValueId y = model.op("MatMul", {model.input(c.a), c.fixed_b ? model.constant(c.b) : model.input(c.b)});
      Shape shape = model.graph.value(y).type.shape;
      y = model.op("Add", {y, model.constant({shape.back()})});
      y = model.op("Mul", {y, model.op("Sigmoid", {y})});
      model.graph.mark_output(model.op("Add", {y, model.input(shape)}));
      RunStats stats = check(model, *jit_);
      EXPECT_EQ(stats.kernels, 1);
      EXPECT_EQ(stats.references, 0);
    }
  }
}

TEST_F(GemmKernels, LargeOnesUseEveryBlockAndChunk) {
  make(2);
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{300, 64, 576}, {131, 200, 300}, {1, 1000, 512}, {700, 17, 2000}}) {
    Model model(5);
    model.graph.mark_output(model.op("MatMul", {model.input({m, k}), model.constant({k, n})}));
    check(model, *jit_);
  }
}

TEST_F(GemmKernels, TheInnerLoopIsMultiplyAddsWithoutCallsOrSpills) {
  for (const std::string& cpu : runnable({"haswell", "skylake-avx512", "znver4"})) {
    SCOPED_TRACE(cpu);
    make(1, true, cpu);
    Model model(5);
    model.graph.mark_output(model.op("MatMul", {model.input({128, 768}), model.constant({768, 768})}));
    check(model, *jit_);
    std::string text = jit_->asm_text();
    EXPECT_EQ(text.find("call"), std::string::npos);
    EXPECT_NE(text.find("vfmadd"), std::string::npos);
    EXPECT_EQ(text.find("64-byte Spill"), std::string::npos);
    EXPECT_EQ(text.find("32-byte Spill"), std::string::npos);
  }
}

}  // namespace
}  // namespace collage::codegen_test
