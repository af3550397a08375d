// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution and a pointwise one as one kernel, with what lies between them, over random geometry.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class SeparableKernels : public KernelTest {
 protected:
  static codegen::LowerOptions options(const Model& model) {
    codegen::LowerOptions options;
    for (const auto* values : {&model.graph.inputs(), &model.graph.outputs()}) {
      for (ValueId value : *values) {
        const size_t rank = model.graph.value(value).type.shape.size();
        options.layouts[value] = runtime::layout_of_rank(runtime::kChannelsLast, rank);
      }
    }
    for (ir::NodeId node : model.graph.node_ids()) options.generators[node] = "separable";
    return options;
  }

  static constexpr int kActivations = 13;
  /// What stands between the two convolutions of a network, and other pointwise operators; 0: nothing.
  static ValueId activated(Model& model, int which, ValueId d) {
    const Shape shape = model.graph.value(d).type.shape;
    Shape by_channel = shape;
    std::fill(by_channel.begin(), by_channel.end(), 1);
    by_channel[1] = shape[1];
    by_channel.erase(by_channel.begin());
    const auto op = [&](const char* name, std::vector<ValueId> operands) {
      return model.op(name, std::move(operands));
    };
    switch (which) {
      case 1: return op("Relu", {d});
      case 2: return op("Clip", {d, model.scalar(-0.25F), model.scalar(0.5F)});
      case 3: return op("HardSwish", {d});
      case 4: return op("Mul", {d, op("Sigmoid", {d})});
      case 5: return op("Mish", {d});
      case 6: return op("Elu", {d});
      case 7: return op("PRelu", {d, model.constant(by_channel)});
      case 8: return op("Relu", {op("Add", {d, model.input(shape)})});
      case 9: return op("LeakyRelu", {op("Mul", {model.constant(by_channel), d})});
      case 10: return op("Mul", {d, op("Clip", {op("Add", {d, model.scalar(3)}), model.scalar(0), model.scalar(6)})});
      case 11: return op("Add", {d, op("Tanh", {model.input(shape)})});
      case 12: {
        const ValueId scale = model.constant({shape[1]});
        const ValueId shift = model.constant({shape[1]});
        const ValueId mean = model.constant({shape[1]});
        const ValueId variance = model.constant({shape[1]}, 0.5F, 2);
        return op("Relu", {op("BatchNormalization", {d, scale, shift, mean, variance})});
      }
      default: return d;
    }
  }
};

TEST_F(SeparableKernels, RandomGeometry) {
  int tried = 0;
  for (unsigned seed = 0; tried < 250; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 30 == 0) make(1 + static_cast<int>(seed / 30) % 3);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const auto rank = static_cast<size_t>(pick(0, 5) == 0 ? 1 : pick(0, 4) == 0 ? 3 : 2);
    const int64_t between = pick(0, 1) == 0 ? pick(2, 70) : 16 * pick(1, 5);
    const int64_t out = pick(0, 1) == 0 ? pick(1, 70) : 16 * pick(1, 6);
    Shape x = {pick(1, 3), between};
    Shape w = {between, 1};
    Shape v = {out, between};
    ir::AttrMap attrs;
    runtime::Ints strides, dilations, begins, ends;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t kernel = rank == 3 ? pick(1, 3) : pick(1, 7);
      const int64_t extent = rank == 3 ? pick(1, 8) : pick(1, rank == 1 ? 60 : 19);
      strides.push_back(pick(1, 3));
      dilations.push_back(pick(0, 2) == 0 ? 2 : 1);
      begins.push_back(pick(0, 3));
      ends.push_back(pick(0, 3));
      fits = fits && extent + begins[d] + ends[d] >= (kernel - 1) * dilations[d] + 1;
      x.push_back(extent);
      w.push_back(kernel);
      v.push_back(1);
    }
    if (!fits) continue;
    ++tried;
    begins.insert(begins.end(), ends.begin(), ends.end());
    attrs.set("strides", strides);
    attrs.set("pads", begins);
    attrs.set("dilations", dilations);
    attrs.set("group", between);
    std::vector<ValueId> operands = {model.input(x), model.constant(w)};
    if (pick(0, 1) == 0) operands.push_back(model.constant({between}));
    const int which = tried % 3 == 0 ? 0 : 1 + tried % (kActivations - 1);
    const ValueId row = activated(model, which, model.op("Conv", operands, attrs));
    std::vector<ValueId> pointwise = {row, model.constant(v)};
    if (pick(0, 1) == 0) pointwise.push_back(model.constant({out}));
    ValueId y = model.op("Conv", pointwise);
    if (pick(0, 2) == 0) y = model.op("Add", {y, model.input(model.graph.value(y).type.shape)});
    if (pick(0, 1) == 0) y = model.op(pick(0, 1) == 0 ? "Relu" : "Tanh", {y});
    model.graph.mark_output(y);
    const RunStats stats = check(model, *jit_, 4e-6, -1, 1, options(model));
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
    if (HasFailure()) return;
  }
}

TEST_F(SeparableKernels, KeepWhatOthersRead) {
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("group", int64_t{16});
  const ValueId between = model.op("Conv", {model.input({1, 16, 6, 6}), model.constant({16, 1, 3, 3})}, attrs);
  model.graph.mark_output(model.op("Conv", {between, model.constant({32, 16, 1, 1})}));
  model.graph.mark_output(model.op("Relu", {between}));
  const auto lowered = jit_->lower(model.graph, model.graph.node_ids(), options(model));
  ASSERT_FALSE(lowered.is_ok());
  EXPECT_NE(lowered.message().find("generator `separable` does not take"), std::string::npos) << lowered.message();
}

TEST_F(SeparableKernels, KeepWhatOthersReadOfAnActivation) {
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("group", int64_t{16});
  const ValueId d = model.op("Conv", {model.input({1, 16, 6, 6}), model.constant({16, 1, 3, 3})}, attrs);
  const ValueId gate = model.op("Sigmoid", {d});
  model.graph.mark_output(gate);
  const ValueId between = model.op("Mul", {d, gate});
  model.graph.mark_output(model.op("Conv", {between, model.constant({32, 16, 1, 1})}));
  const auto lowered = jit_->lower(model.graph, model.graph.node_ids(), options(model));
  ASSERT_FALSE(lowered.is_ok());
  EXPECT_NE(lowered.message().find("generator `separable` does not take"), std::string::npos) << lowered.message();
}

// %t is read in front of the first convolution, between the two, and after the second: it has a kernel of its own.
TEST_F(SeparableKernels, ReadWhatIsAlsoReadBehindThem) {
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("group", int64_t{16});
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  const ValueId t = model.op("Relu", {model.input({1, 16, 6, 6})});
  const ValueId d = model.op("Conv", {t, model.constant({16, 1, 3, 3})}, attrs);
  const ValueId c = model.op("Conv", {model.op("Mul", {d, t}), model.constant({16, 16, 1, 1})});
  model.graph.mark_output(model.op("Add", {c, t}));
  EXPECT_EQ(check(model, *jit_, 4e-6, -1, 1, options(model)).kernels, 2);
}

// What is no number passes through as it does alone.
TEST_F(SeparableKernels, SpecialValuesBetween) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (int which = 0; which < kActivations; ++which) {
    SCOPED_TRACE(which);
    Model model(static_cast<unsigned>(which));
    runtime::Tensor x = model.random_tensor({1, 20, 5, 5}, -1, 1);
    x.as<float>()[0] = kNaN;
    x.as<float>()[3 * 25 + 24] = kInfinity;
    x.as<float>()[19 * 25 + 4] = -kInfinity;
    ir::AttrMap attrs;
    attrs.set("group", int64_t{20});
    const ValueId d = model.op("Conv", {model.input(x), model.constant({20, 1, 3, 3})}, attrs);
    model.graph.mark_output(model.op("Conv", {activated(model, which, d), model.constant({9, 20, 1, 1})}));
    EXPECT_EQ(check(model, *jit_, 4e-6, -1, 1, options(model)).kernels, 1);
  }
}

}  // namespace
}  // namespace collage::codegen_test
