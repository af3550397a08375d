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

/// `ceil_mode` makes one window of what a window does not fit into.
TEST_F(RowKernels, PoolsWithWindowsWiderThanTheirOperand) {
  struct Case {
    Shape x;
    runtime::Ints kernel, strides, pads;
  };
  const std::vector<Case> cases = {{{2, 3, 5}, {6}, {2}, {0, 0}},
                                   {{2, 3, 5}, {7}, {3}, {0, 0}},
                                   {{1, 2, 3}, {7}, {3}, {1, 1}},
                                   {{1, 2, 2, 9}, {3, 2}, {2, 1}, {0, 0, 0, 0}},
                                   {{1, 2, 2, 3, 4}, {3, 4, 5}, {2, 2, 3}, {0, 0, 0, 0, 0, 0}}};
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const Case& one : cases) {
      SCOPED_TRACE(op + runtime::to_string(one.x));
      Model model(1);
      ir::AttrMap attrs;
      attrs.set("kernel_shape", one.kernel);
      attrs.set("strides", one.strides);
      attrs.set("pads", one.pads);
      attrs.set("ceil_mode", int64_t{1});
      model.graph.mark_output(model.op(op, {model.input(one.x)}, attrs));
      expect_compiled(model);
    }
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

ValueId along_rows(Model& model, const char* op, ValueId x) {
  ir::AttrMap attrs;
  attrs.set("axes", runtime::Ints{-1});
  return model.op(op, {x}, attrs);
}

// As exporters write it for opset 13 (Pow, Sqrt of the biased variance), and by the unbiased deviation.
TEST_F(RowKernels, DecomposedNormalisationIsOneKernel) {
  for (const Shape& shape : {Shape{2, 33, 256}, Shape{40, 16}, Shape{3, 7, 50}, Shape{20, 1027}}) {
    for (bool unbiased : {false, true}) {
      SCOPED_TRACE(runtime::to_string(shape) + (unbiased ? " unbiased" : ""));
      Model model(3);
      const int64_t n = shape.back();
      ValueId x = model.input(shape);
      ValueId centred = model.op("Sub", {x, along_rows(model, "ReduceMean", x)});
      ValueId y;
      if (unbiased) {
        ValueId squares = model.op("Mul", {centred, centred});
        ValueId total = model.op("ReduceSum", {squares, model.ints({-1})});
        ValueId variance = model.op("Div", {total, model.scalar(static_cast<float>(n - 1))});
        ValueId deviation = model.op("Add", {model.op("Sqrt", {variance}), model.scalar(1e-6F)});
        y = model.op("Div", {model.op("Mul", {centred, model.constant({n})}), deviation});
      } else {
        ValueId squares = model.op("Pow", {centred, model.scalar(2)});
        ValueId variance = along_rows(model, "ReduceMean", squares);
        ValueId deviation = model.op("Sqrt", {model.op("Add", {variance, model.scalar(1e-5F)})});
        y = model.op("Mul", {model.op("Div", {centred, deviation}), model.constant({n})});
      }
      model.graph.mark_output(model.op("Add", {y, model.constant({n})}));
      expect_compiled(model, 5e-6);
    }
  }
}

TEST_F(RowKernels, SoftmaxTakesItsScaleAndMask) {
  for (const Shape& shape : {Shape{2, 3, 17, 17}, Shape{1, 4, 32, 128}, Shape{2, 2, 9, 200}}) {
    const int64_t rows = shape[2];
    const int64_t columns = shape[3];
    for (const Shape& mask : {Shape{1, 1, rows, columns}, Shape{shape[0], 1, 1, columns}, Shape{rows, columns}}) {
      for (const char* op : {"Softmax", "LogSoftmax"}) {
        SCOPED_TRACE(std::string(op) + runtime::to_string(shape) + runtime::to_string(mask));
        Model model(4);
        ValueId scores = model.op("Div", {model.input(shape), model.scalar(8)});
        model.graph.mark_output(model.op(op, {model.op("Add", {scores, model.input(mask)})}));
        expect_compiled(model);
      }
    }
  }
}

// Causal masks are often a choice between the score and a large negative number.
TEST_F(RowKernels, SoftmaxOfAChoiceByBooleans) {
  Model model(5);
  std::vector<uint8_t> below(static_cast<size_t>(33 * 33));
  for (size_t i = 0; i < 33; ++i) {
    for (size_t j = 0; j < 33; ++j) below[i * 33 + j] = j <= i ? 1 : 0;
  }
  runtime::Tensor data(ir::DType::Bool, {1, 1, 33, 33});
  std::memcpy(data.data(), below.data(), below.size());
  ValueId mask = model.input(std::move(data));
  ValueId scores = model.op("Mul", {model.input({2, 2, 33, 33}), model.scalar(0.3F)});
  ValueId chosen = model.op("Where", {mask, scores, model.scalar(-std::numeric_limits<float>::infinity())});
  model.graph.mark_output(model.op("Softmax", {chosen}));
  expect_compiled(model);
}

// Results of every kind have readers outside: what waits, what is stored, one number per row.
TEST_F(RowKernels, EveryResultOfAGroupCanBeRead) {
  for (int64_t n : {16, 45, 128}) {
    Model model(6);
    ValueId x = model.input({3, 19, n});
    ValueId power = model.op("Exp", {x});
    ValueId total = model.op("ReduceSum", {power, model.ints({2})});
    ValueId most = along_rows(model, "ReduceMax", power);
    ValueId least = along_rows(model, "ReduceMin", power);
    ValueId norm = along_rows(model, "ReduceL2", power);
    ValueId span = model.op("Sub", {most, least});
    ValueId share = model.op("Div", {power, total});
    ValueId scaled = model.op("Mul", {share, model.op("Add", {span, norm})});
    ValueId per_row = model.op("Add", {scaled, model.input({3, 19, 1})});
    ValueId normal = model.op("LayerNormalization", {per_row, model.constant({n}), model.constant({n})});
    for (ValueId y : {power, total, span, share, per_row, normal}) model.graph.mark_output(y);
    expect_compiled(model, 1e-5);
  }
}

TEST_F(RowKernels, InfinitiesAndNaNsStayInTheirRows) {
  Model model(7);
  constexpr int64_t kLength = 37;
  std::vector<float> data(20 * kLength, 0.5F);
  const float infinity = std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < kLength; ++i) data[static_cast<size_t>(i)] = -infinity;
  data[kLength + 36] = std::numeric_limits<float>::quiet_NaN();
  data[2 * kLength + 3] = infinity;
  data[3 * kLength] = -infinity;
  ValueId x = model.input(ir::DType::F32, {20, kLength}, data);
  model.graph.mark_output(model.op("Softmax", {model.op("Mul", {x, model.scalar(2)})}));
  expect_compiled(model);
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
