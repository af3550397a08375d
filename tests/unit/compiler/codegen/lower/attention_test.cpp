// SPDX-License-Identifier: Apache-2.0
// Two products with a softmax between them, as exporters write attention: one kernel with the Transposes around it.
#include <array>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class AttentionKernels : public KernelTest {
 protected:
  static ValueId transpose(Model& model, ValueId x, const runtime::Ints& perm) {
    ir::AttrMap attrs;
    attrs.set("perm", perm);
    return model.op("Transpose", {x}, attrs);
  }
  void expect_kernels(Model& model, int count) {
    RunStats stats = check(model, *jit_, 4e-6, -2, 2);
    EXPECT_EQ(stats.kernels, count);
    EXPECT_EQ(stats.references, 0);
  }
};

struct Sizes {
  int64_t batch, heads, queries, keys, depth, width;
};

const std::vector<Sizes> kSizes = {{1, 8, 64, 64, 32, 32}, {2, 3, 17, 33, 19, 21},   {1, 12, 128, 128, 64, 64},
                                   {1, 1, 1, 40, 64, 64},  {1, 2, 100, 257, 8, 130}, {3, 1, 5, 16, 1, 3}};

// [batch, position, heads * depth] split into heads, as BERT and GPT-2 are exported.
TEST_F(AttentionKernels, TransposesAreReadThroughStrides) {
  for (int threads : {1, 2, 3}) {
    make(threads);
    for (const Sizes& s : kSizes) {
      SCOPED_TRACE(testing::Message() << s.heads << " heads, " << s.queries << " x " << s.keys << " x " << s.depth
                                      << ", threads " << threads);
      Model model(11);
      ValueId q = transpose(model, model.input({s.batch, s.queries, s.heads, s.depth}), {0, 2, 1, 3});
      ValueId k = transpose(model, model.input({s.batch, s.keys, s.heads, s.depth}), {0, 2, 3, 1});
      ValueId v = transpose(model, model.input({s.batch, s.keys, s.heads, s.width}), {0, 2, 1, 3});
      ValueId scores = model.op("Div", {model.op("MatMul", {q, k}), model.scalar(5.5F)});
      scores = model.op("Add", {scores, model.input({1, 1, s.queries, s.keys})});
      ValueId mixed = model.op("MatMul", {model.op("Softmax", {scores}), v});
      model.graph.mark_output(transpose(model, mixed, {0, 2, 1, 3}));
      expect_kernels(model, 1);
    }
  }
}

TEST_F(AttentionKernels, PlainOperandsAndSharedKeys) {
  make(2);
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(testing::Message() << s.queries << " x " << s.keys << " x " << s.depth);
    Model model(12);
    ValueId q = model.input({s.batch, s.heads, s.queries, s.depth});
    // One head of keys and values for all heads of queries.
    ValueId k = model.input({s.batch, 1, s.depth, s.keys});
    ValueId v = model.input({s.keys, s.width});
    ValueId scores = model.op("Mul", {model.op("MatMul", {q, k}), model.scalar(0.25F)});
    ValueId mixed = model.op("MatMul", {model.op("Softmax", {scores}), v});
    model.graph.mark_output(mixed);
    expect_kernels(model, 1);
  }
}

TEST_F(AttentionKernels, KeysThatArePermutedBeforeTheProduct) {
  make(2);
  Model model(13);
  ValueId k = transpose(model, model.input({2, 4, 21, 16}), {0, 1, 3, 2});
  ValueId scores = model.op("MatMul", {model.input({2, 4, 33, 16}), k});
  ValueId mask = model.input(ir::DType::Bool, {21},
                             std::vector<uint8_t>{1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  scores = model.op("Where", {mask, scores, model.scalar(-1e4F)});
  ValueId mixed = model.op("MatMul", {model.op("Softmax", {scores}), model.input({2, 4, 21, 48})});
  model.graph.mark_output(transpose(model, mixed, {1, 2, 0, 3}));
  expect_kernels(model, 1);
}

TEST_F(AttentionKernels, OtherReadersKeepTheProductsApart) {
  make(2);
  Model model(14);
  ValueId scores = model.op("MatMul", {model.input({2, 20, 16}), model.input({2, 16, 32})});
  ValueId weights = model.op("Softmax", {scores});
  model.graph.mark_output(model.op("MatMul", {weights, model.input({2, 32, 8})}));
  model.graph.mark_output(weights);
  expect_kernels(model, 3);
}

// The mask of the second product depends on the first: joined, they would wait for themselves.
TEST_F(AttentionKernels, NoCycleArises) {
  make(2);
  Model model(15);
  ValueId scores = model.op("MatMul", {model.input({1, 20, 16}), model.input({1, 16, 32})});
  ValueId weights = model.op("Softmax", {scores});
  ir::AttrMap attrs;
  attrs.set("axis", int64_t{1});
  ValueId values = model.op("Softmax", {model.op("MatMul", {model.input({1, 32, 20}), scores})}, attrs);
  model.graph.mark_output(model.op("MatMul", {weights, values}));
  RunStats stats = check(model, *jit_, 4e-6, -1, 1);
  EXPECT_GT(stats.kernels, 1);
}

TEST_F(AttentionKernels, MaskedRowsAndNaNsAreAsInTheReference) {
  make(2);
  Model model(16);
  std::vector<float> mask(20 * 40, 0);
  const float infinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < 20; ++i) {
    for (size_t j = i + 1; j < 40; ++j) mask[i * 40 + j] = -infinity;
  }
  for (size_t j = 0; j < 40; ++j) mask[3 * 40 + j] = -infinity;
  mask[5 * 40 + 1] = std::numeric_limits<float>::quiet_NaN();
  ValueId scores = model.op("MatMul", {model.input({2, 20, 16}), model.input({2, 16, 40})});
  scores = model.op("Add", {scores, model.input(ir::DType::F32, {20, 40}, mask)});
  model.graph.mark_output(model.op("MatMul", {model.op("Softmax", {scores}), model.input({2, 40, 24})}));
  expect_kernels(model, 1);
}

// Attention pooling: one query for all keys, or one key.
TEST_F(AttentionKernels, VectorsAreNoOperandsOfOneKernel) {
  const std::vector<std::array<Shape, 3>> shapes = {{Shape{8}, Shape{4, 8, 16}, Shape{16, 8}},
                                                    {Shape{4, 16, 8}, Shape{8}, Shape{16, 8}}};
  for (const auto& [q, k, v] : shapes) {
    Model model(6);
    ValueId scores = model.op("MatMul", {model.input(q), model.input(k)});
    ValueId weights = model.op("Softmax", {scores});
    model.graph.mark_output(model.op("MatMul", {weights, model.input(v)}));
    check(model, *jit_, 2e-6);
  }
}

}  // namespace
}  // namespace collage::codegen_test
