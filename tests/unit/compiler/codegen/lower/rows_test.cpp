// SPDX-License-Identifier: Apache-2.0
// Pools, softmax, reductions, layer normalisation, transposes.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class RowKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto jit = codegen::Jit::create({});
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }
  void expect_compiled(Model& model, double tolerance = 2e-6) {
    RunStats stats = check(model, *jit_, tolerance, -3, 3);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
  std::unique_ptr<codegen::Jit> jit_;
};

TEST_F(RowKernels, RandomPools) {
  int tried = 0;
  for (unsigned seed = 0; tried < 40; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    auto rank = static_cast<size_t>(pick(1, 3));
    Shape x = {pick(1, 2), pick(1, 4)};
    runtime::Ints kernel, strides, begins, ends;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      kernel.push_back(pick(1, 3));
      strides.push_back(pick(1, 3));
      begins.push_back(pick(0, kernel[d] - 1));
      ends.push_back(pick(0, kernel[d] - 1));
      x.push_back(pick(1, d + 1 == rank ? 50 : 9));
      fits = fits && x.back() + begins[d] + ends[d] >= kernel[d];
    }
    if (!fits) continue;
    ++tried;
    begins.insert(begins.end(), ends.begin(), ends.end());
    ir::AttrMap attrs;
    attrs.set("kernel_shape", kernel);
    attrs.set("strides", strides);
    attrs.set("pads", begins);
    bool average = pick(0, 1) == 0;
    if (average) attrs.set("count_include_pad", pick(0, 1));
    if (!average) attrs.set("ceil_mode", pick(0, 1));
    ValueId y = model.op(average ? "AveragePool" : "MaxPool", {model.input(x)}, attrs);
    if (pick(0, 1) == 0) y = model.op("Relu", {y});
    model.graph.mark_output(y);
    expect_compiled(model);
  }
}

TEST_F(RowKernels, SoftmaxOverTheLastAxis) {
  for (const Shape& shape : {Shape{3, 5}, Shape{2, 3, 128}, Shape{1000}, Shape{4, 17}}) {
    for (const char* op : {"Softmax", "LogSoftmax"}) {
      SCOPED_TRACE(std::string(op) + runtime::to_string(shape));
      Model model(2);
      model.graph.mark_output(model.op(op, {model.input(shape)}));
      expect_compiled(model);
    }
  }
}

TEST_F(RowKernels, ReductionsOverTrailingAxes) {
  Model pool(2);
  pool.graph.mark_output(pool.op("GlobalAveragePool", {pool.input({2, 3, 7, 7})}));
  expect_compiled(pool);
  Model mean(2);
  ir::AttrMap attrs;
  attrs.set("axes", runtime::Ints{-1});
  mean.graph.mark_output(mean.op("ReduceMean", {mean.input({2, 9, 100})}, attrs));
  expect_compiled(mean);
}

TEST_F(RowKernels, LayerNormalization) {
  for (int64_t length : {1, 7, 16, 768}) {
    Model model(2);
    model.graph.mark_output(model.op(
        "LayerNormalization", {model.input({2, 5, length}), model.constant({length}), model.constant({length})}));
    expect_compiled(model, 5e-6);
  }
}

TEST_F(RowKernels, Transposes) {
  for (const runtime::Ints& perm : {runtime::Ints{0, 2, 1, 3}, runtime::Ints{3, 2, 1, 0}, runtime::Ints{0, 2, 3, 1}}) {
    Model model(2);
    ir::AttrMap attrs;
    attrs.set("perm", perm);
    model.graph.mark_output(model.op("Sigmoid", {model.op("Transpose", {model.input({2, 5, 18, 33})}, attrs)}));
    expect_compiled(model);
  }
}

}  // namespace
}  // namespace collage::codegen_test
