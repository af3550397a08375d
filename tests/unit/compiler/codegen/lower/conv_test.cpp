// SPDX-License-Identifier: Apache-2.0
// Convolutions over random geometry, with epilogues.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class ConvKernels : public KernelTest {};

ir::AttrMap conv_attrs(const runtime::Ints& strides, const runtime::Ints& pads, const runtime::Ints& dilations,
                       int64_t group) {
  ir::AttrMap attrs;
  attrs.set("strides", strides);
  attrs.set("pads", pads);
  attrs.set("dilations", dilations);
  attrs.set("group", group);
  return attrs;
}

TEST_F(ConvKernels, RandomGeometry) {
  int tried = 0;
  for (unsigned seed = 0; tried < 240; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 30 == 0) make(1 + static_cast<int>(seed / 15) % 3);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    auto rank = static_cast<size_t>(pick(0, 5) == 0 ? 1 : pick(0, 4) == 0 ? 3 : 2);
    int64_t group = pick(0, 2) == 0 ? pick(2, 5) : 1;
    int64_t in_channels = group * pick(1, 6);
    int64_t out_channels = group * (pick(0, 3) == 0 ? pick(20, 40) : pick(1, 9));
    Shape x = {pick(1, 2), in_channels};
    Shape w = {out_channels, in_channels / group};
    runtime::Ints strides, dilations, begins, ends;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      int64_t kernel = pick(0, 1) == 0 ? 3 : pick(1, 5);
      int64_t extent = rank == 3 ? pick(1, 8) : pick(1, rank == 1 ? 60 : 19);
      strides.push_back(pick(0, 1) == 0 ? 1 : pick(1, 3));
      dilations.push_back(pick(0, 2) == 0 ? pick(2, 3) : 1);
      begins.push_back(pick(0, 3));
      ends.push_back(pick(0, 3));
      fits = fits && extent + begins[d] + ends[d] >= (kernel - 1) * dilations[d] + 1;
      x.push_back(extent);
      w.push_back(kernel);
    }
    if (!fits) continue;
    ++tried;
    begins.insert(begins.end(), ends.begin(), ends.end());
    const std::string last = runtime::layout_of_rank(runtime::kChannelsLast, rank + 2);
    const int64_t layout = pick(0, 3);
    codegen::ValueLayouts layouts;
    std::vector<ValueId> operands = {model.input(x), model.constant(w)};
    if (layout >= 2) layouts[operands[0]] = last;
    if (pick(0, 1) == 0) operands.push_back(model.constant({out_channels}));
    ValueId y = model.op("Conv", operands, conv_attrs(strides, begins, dilations, group));
    Shape shape = model.graph.value(y).type.shape;
    int64_t c = out_channels;
    if (pick(0, 2) == 0) {
      y = model.op("BatchNormalization",
                   {y, model.constant({c}), model.constant({c}), model.constant({c}), model.constant({c}, 0.5F, 2)});
    }
    if (pick(0, 2) == 0) {
      const ValueId addend = pick(0, 3) == 0 ? model.constant(shape) : model.input(shape);
      if (layout >= 1 && !model.graph.value(addend).is_constant()) layouts[addend] = last;
      y = model.op("Add", {y, addend});
    }
    Shape per_channel(rank, 1);
    per_channel.insert(per_channel.begin(), c);
    if (pick(0, 2) == 0) y = model.op("Mul", {y, model.constant(per_channel)});
    if (pick(0, 1) == 0) y = model.op("Relu", {y});
    model.graph.mark_output(y);
    if (layout >= 1) layouts[y] = last;
    RunStats stats = check(model, *jit_, 3e-6, -1, 1, {layouts, {}});
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
    if (HasFailure()) FAIL() << "x " << runtime::to_string(x) << " w " << runtime::to_string(w);
  }
}

/// Windows of more taps than have code of their own, also wider than the input and with positions beside it.
TEST_F(ConvKernels, WideWindows) {
  make(2);
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const int64_t group = pick(0, 2) == 0 ? 2 : 1;
    const int64_t kernel = pick(11, 40);
    const int64_t dilation = pick(0, 3) == 0 ? 2 : 1;
    const int64_t pad = pick(0, kernel + 2);
    const int64_t behind = pick(0, kernel);
    const int64_t extent = std::max<int64_t>(pick(1, 60), (kernel - 1) * dilation + 1 - pad - behind);
    const ValueId x = model.input({pick(1, 2), 5 * group, extent});
    const int64_t channels = group * pick(8, 20);
    const ValueId y = model.op("Conv", {x, model.constant({channels, 5, kernel}), model.constant({channels})},
                               conv_attrs({pick(1, 3)}, {pad, behind}, {dilation}, group));
    model.graph.mark_output(y);
    const std::string last = runtime::layout_of_rank(runtime::kChannelsLast, 3);
    const RunStats stats = check(model, *jit_, 3e-6, -1, 1, {{{x, last}, {y, last}}, {}});
    EXPECT_EQ(stats.references, 0);
  }
}

/// Taps that meet no input are dropped, in any generator.
TEST_F(ConvKernels, TapsBesideASmallInput) {
  make(1);
  for (const int64_t group : {1, 4, 16}) {
    for (const bool is_last : {false, true}) {
      SCOPED_TRACE(testing::Message() << group << " groups" << (is_last ? ", channels last" : ""));
      Model model(static_cast<unsigned>(group));
      const ValueId x = model.input({1, 16, 1, 7});
      const ValueId y = model.op("Conv", {x, model.constant({16, 16 / group, 3, 3})},
                                 conv_attrs({1, 1}, {1, 1, 1, 1}, {1, 1}, group));
      model.graph.mark_output(y);
      codegen::LowerOptions options;
      if (is_last) options.layouts = {{x, "NHWC"}, {y, "NHWC"}};
      const RunStats stats = check(model, *jit_, 3e-6, -1, 1, options);
      EXPECT_EQ(stats.references, 0);
    }
  }
}

TEST_F(ConvKernels, RandomTransposedGeometry) {
  int tried = 0;
  for (unsigned seed = 0; tried < 90; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 30 == 0) make(1 + static_cast<int>(seed / 15) % 3);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    auto rank = static_cast<size_t>(pick(0, 4) == 0 ? 1 : pick(0, 4) == 0 ? 3 : 2);
    int64_t group = pick(0, 2) == 0 ? pick(2, 3) : 1;
    Shape x = {pick(1, 2), group * pick(1, 4)};
    Shape w = {x[1], pick(1, 9)};
    runtime::Ints strides, dilations, pads, extra;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      int64_t kernel = pick(1, 5);
      strides.push_back(pick(1, 3));
      dilations.push_back(pick(0, 2) == 0 ? pick(2, 3) : 1);
      x.push_back(pick(1, rank == 3 ? 5 : 12));
      w.push_back(kernel);
      pads.push_back(pick(0, 2));
      extra.push_back(pick(0, std::max(strides[d], dilations[d]) - 1));
      fits = fits && (x.back() - 1) * strides[d] + (kernel - 1) * dilations[d] + 1 + extra[d] > 2 * pads[d];
    }
    if (!fits) continue;
    ++tried;
    pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<long>(rank));
    std::vector<ValueId> operands = {model.input(x), model.constant(w)};
    if (pick(0, 1) == 0) operands.push_back(model.constant({group * w[1]}));
    ir::AttrMap attrs = conv_attrs(strides, pads, dilations, group);
    attrs.set("output_padding", extra);
    ValueId y = model.op("ConvTranspose", operands, attrs);
    const std::string last = runtime::layout_of_rank(runtime::kChannelsLast, rank + 2);
    const int64_t layout = pick(0, 2);
    codegen::ValueLayouts layouts;
    if (layout == 2) layouts[operands[0]] = last;
    if (pick(0, 2) == 0) {
      const ValueId addend = model.input(model.graph.value(y).type.shape);
      if (layout >= 1) layouts[addend] = last;
      y = model.op("Add", {y, addend});
    }
    if (pick(0, 1) == 0) y = model.op("Tanh", {y});
    model.graph.mark_output(y);
    if (layout >= 1) layouts[y] = last;
    RunStats stats = check(model, *jit_, 3e-6, -1, 1, {layouts, {}});
    EXPECT_EQ(stats.references, 0);
    if (HasFailure()) FAIL() << "x " << runtime::to_string(x) << " w " << runtime::to_string(w);
  }
}

TEST_F(ConvKernels, ComputedWeights) {
  for (int64_t group : {1, 2, 4}) {
    Model model(4);
    ValueId w = model.op("Relu", {model.input({12, 4 / group, 3, 3})});
    ValueId y = model.op("Conv", {model.input({2, 4, 9, 11}), w}, conv_attrs({1, 1}, {1, 1, 1, 1}, {1, 1}, group));
    model.graph.mark_output(y);
    RunStats stats = check(model, *jit_, 3e-6);
    EXPECT_EQ(stats.references, 0);
  }
}

struct Layer {
  int64_t channels, size, out, kernel, stride, pad, group;
};

TEST_F(ConvKernels, LayersOfRealNetworks) {
  for (int threads : {1, 2}) {
    make(threads);
    for (const Layer& l : std::vector<Layer>{{3, 112, 64, 7, 2, 3, 1},
                                             {64, 28, 64, 3, 1, 1, 1},
                                             {128, 7, 70, 3, 1, 1, 1},
                                             {64, 56, 32, 1, 1, 0, 1},
                                             {64, 28, 48, 1, 2, 0, 1},
                                             {64, 14, 64, 3, 1, 1, 16},
                                             {32, 30, 32, 3, 1, 1, 32},
                                             {32, 31, 32, 3, 2, 1, 32},
                                             {16, 9, 16, 5, 1, 2, 16}}) {
      SCOPED_TRACE(std::to_string(l.channels) + "x" + std::to_string(l.size) + " group " + std::to_string(l.group));
      Model model(4);
      ValueId x = model.input({1, l.channels, l.size, l.size});
      ValueId w = model.constant({l.out, l.channels / l.group, l.kernel, l.kernel});
      ValueId y = model.op("Conv", {x, w, model.constant({l.out})},
                           conv_attrs({l.stride, l.stride}, {l.pad, l.pad, l.pad, l.pad}, {1, 1}, l.group));
      model.graph.mark_output(model.op("Relu", {y}));
      RunStats stats = check(model, *jit_, 3e-6);
      EXPECT_EQ(stats.kernels, 1);
    }
  }
}

// A row-wise operand cannot be read along flattened positions: a kernel of its own.
TEST_F(ConvKernels, RowBroadcastIsNoEpilogue) {
  Model model(4);
  ValueId y = model.op("Conv", {model.input({1, 3, 8, 8}), model.constant({4, 3, 3, 3})});
  model.graph.mark_output(model.op("Add", {y, model.input({6})}));
  RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.kernels, 2);
}

// The sum of two convolutions: the second one's epilogue reads the first one's result.
TEST_F(ConvKernels, ResidualSum) {
  Model model(4);
  ValueId x = model.input({1, 8, 10, 10});
  ValueId a = model.op("Conv", {x, model.constant({8, 8, 1, 1})});
  ValueId b = model.op("Conv", {model.op("Relu", {a}), model.constant({8, 8, 1, 1})});
  model.graph.mark_output(model.op("Relu", {model.op("Add", {a, b})}));
  RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.kernels, 2);
}

TEST_F(ConvKernels, TheInnerLoopIsMultiplyAddsWithoutCallsOrSpills) {
  for (const std::string& cpu : runnable({"haswell", "skylake-avx512", "znver4"})) {
    SCOPED_TRACE(cpu);
    make(1, true, cpu);
    Model model(5);
    ValueId x = model.input({1, 64, 28, 28});
    model.graph.mark_output(
        model.op("Conv", {x, model.constant({64, 64, 3, 3})}, conv_attrs({1, 1}, {1, 1, 1, 1}, {1, 1}, 1)));
    check(model, *jit_, 3e-6);
    std::string text = jit_->asm_text();
    EXPECT_EQ(text.find("call"), std::string::npos);
    EXPECT_NE(text.find("vfmadd"), std::string::npos);
    EXPECT_EQ(text.find("64-byte Spill"), std::string::npos);
  }
}

}  // namespace
}  // namespace collage::codegen_test
