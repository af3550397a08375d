// SPDX-License-Identifier: Apache-2.0
// Operators on tensors that do not lie plainly compute what they compute on plain ones.
#include "compiler/codegen/layout/memory_order.h"

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class MemoryOrderKernels : public KernelTest {};

ir::AttrMap attrs_of(const std::string& name, runtime::AttrValue value) {
  ir::AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

/// `y` is an output of `model`, in the same layout as the values of `last`.
void expect_equal(Model& model, codegen::Jit& jit, ValueId y, const std::vector<ValueId>& last,
                  const std::string& layout) {
  model.graph.mark_output(y);
  codegen::ValueLayouts layouts;
  for (ValueId value : last) layouts[value] = layout;
  RunStats stats = check(model, jit, 3e-6, -1, 1, {layouts, {}});
  EXPECT_EQ(stats.references, 0);
  EXPECT_GE(stats.kernels, 1);
}

TEST_F(MemoryOrderKernels, PointwiseOperandsBroadcast) {
  for (const char* layout : {"NHWC", "NWHC", "CHWN"}) {
    SCOPED_TRACE(layout);
    for (const Shape& shape : {Shape{5, 1, 1}, Shape{7}, Shape{3, 7}, Shape{5, 3, 7}, Shape{}, Shape{2, 1, 1, 1}}) {
      Model model(3);
      ValueId x = model.input({2, 5, 3, 7});
      ValueId y = model.op("Relu", {model.op("Add", {x, model.constant(shape)})});
      expect_equal(model, *jit_, y, {x, y}, layout);
    }
    Model model(4);
    ValueId x = model.input({2, 5, 3, 7}), scale = model.input({1, 5, 1, 1});
    ValueId y = model.op("Mul", {scale, x});
    expect_equal(model, *jit_, y, {x, y}, layout);
  }
}

TEST_F(MemoryOrderKernels, ValuesInsideFollowThoseOutside) {
  Model model(5);
  ValueId x = model.input({1, 24, 6, 5});
  ValueId c = model.op("Conv", {x, model.constant({32, 24, 1, 1})});
  ValueId scale = model.op("Sigmoid", {model.op("GlobalAveragePool", {c})});
  ValueId y = model.op("Mul", {c, scale});
  expect_equal(model, *jit_, y, {x, y}, "NHWC");
}

TEST_F(MemoryOrderKernels, DimensionsAreRenamed) {
  const auto run = [&](const char* op, std::vector<ValueId> operands, ir::AttrMap attrs, Model& model,
                       bool keeps_rank = true) {
    SCOPED_TRACE(op);
    std::vector<ValueId> last = {operands[0]};
    ValueId y = model.op(op, std::move(operands), std::move(attrs));
    if (keeps_rank) last.push_back(y);
    expect_equal(model, *jit_, y, last, "NHWC");
  };
  for (int64_t axis : {1, 2, -1, 0}) {
    Model softmax(6), concat(7), split(8);
    run("Softmax", {softmax.input({2, 5, 3, 7})}, attrs_of("axis", axis), softmax);
    ValueId x = concat.input({2, 5, 3, 7});
    run("Concat", {x, x, concat.constant({2, 5, 3, 7})}, attrs_of("axis", axis), concat);
    ValueId whole = split.input({2, 4, 6, 8});
    std::vector<ValueId> parts = split.ops("Split", {whole}, attrs_of("axis", axis), 2);
    split.graph.mark_output(parts[1]);
    expect_equal(split, *jit_, parts[0], {whole, parts[0], parts[1]}, "NHWC");
  }
  Model mean(9), flat(10), all(11);
  run("ReduceMean", {mean.input({2, 5, 3, 7})}, attrs_of("axes", runtime::Ints{2, 3}), mean);
  ir::AttrMap drop = attrs_of("axes", runtime::Ints{2, -1});
  drop.set("keepdims", int64_t{0});
  run("ReduceMean", {flat.input({2, 5, 3, 7})}, drop, flat, false);
  run("GlobalMaxPool", {all.input({2, 5, 3, 7})}, {}, all);
  Model pad(12), slice(13), resize(14);
  run("Pad", {pad.input({2, 5, 3, 7}), pad.ints({0, 1, 2, 3, 0, 4, 0, 1})}, {}, pad);
  run("Slice", {slice.input({2, 5, 3, 7}), slice.ints({1, 2}), slice.ints({4, 6}), slice.ints({1, 3})}, {}, slice);
  ir::Constant scales;
  scales.data = runtime::Tensor(ir::DType::F32, {4});
  for (size_t i = 0; i < 4; ++i) scales.data.as<float>()[i] = i < 2 ? 1 : 2;
  ValueId factors = resize.graph.add_constant("scales", scales);
  ir::AttrMap nearest = attrs_of("coordinate_transformation_mode", std::string("asymmetric"));
  nearest.set("nearest_mode", std::string("floor"));
  run("Resize", {resize.input({2, 5, 3, 7}), ValueId(), factors}, nearest, resize);
}

TEST_F(MemoryOrderKernels, Windows) {
  int tried = 0;
  for (unsigned seed = 0; tried < 90; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const auto rank = static_cast<size_t>(pick(1, 3));
    Shape x = {pick(1, 2), pick(1, 40)};
    runtime::Ints kernel, strides, pads, dilations;
    bool fits = true;
    for (size_t d = 0; d < rank; ++d) {
      kernel.push_back(pick(1, 4));
      strides.push_back(pick(1, 3));
      dilations.push_back(pick(0, 3) == 0 ? 2 : 1);
      x.push_back(pick(1, 20));
    }
    for (size_t d = 0; d < 2 * rank; ++d) pads.push_back(pick(0, kernel[d % rank] - 1));
    for (size_t d = 0; d < rank; ++d) {
      fits = fits && x[d + 2] + pads[d] + pads[d + rank] >= (kernel[d] - 1) * dilations[d] + 1;
    }
    const int64_t kind = pick(0, 2);
    if (!fits || (kind == 1 && runtime::element_count(dilations) > 1)) continue;
    ++tried;
    ir::AttrMap attrs = attrs_of("kernel_shape", kernel);
    attrs.set("strides", strides);
    attrs.set("pads", pads);
    ValueId in = model.input(x), y;
    if (kind == 2) {
      Shape w = {x[1], 1};
      w.insert(w.end(), kernel.begin(), kernel.end());
      attrs.set("group", x[1]);
      attrs.set("dilations", dilations);
      y = model.op("Conv", {in, model.constant(w), model.constant({x[1]})}, attrs);
    } else if (kind == 1) {
      attrs.set("count_include_pad", pick(0, 1));
      y = model.op("AveragePool", {in}, attrs);
    } else {
      attrs.set("dilations", dilations);
      attrs.set("ceil_mode", pick(0, 1));
      y = model.op("MaxPool", {in}, attrs);
    }
    ValueId r = model.input(model.graph.value(y).type.shape);
    ValueId sum = model.op("Add", {y, r});
    expect_equal(model, *jit_, sum, {in, r, sum}, runtime::layout_of_rank(runtime::kChannelsLast, rank + 2));
    if (HasFailure()) FAIL() << "x " << runtime::to_string(x) << " kernel " << runtime::to_string(kernel);
  }
}

TEST_F(MemoryOrderKernels, PoolsWithWindowsWiderThanTheirOperand) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    SCOPED_TRACE(op);
    Model model(15);
    ir::AttrMap attrs = attrs_of("kernel_shape", runtime::Ints{3, 7});
    attrs.set("strides", runtime::Ints{2, 3});
    attrs.set("pads", runtime::Ints{0, 1, 0, 0});
    attrs.set("ceil_mode", int64_t{1});
    ValueId x = model.input({2, 19, 2, 4});
    ValueId y = model.op(op, {x}, attrs);
    expect_equal(model, *jit_, y, {x, y}, "NHWC");
  }
}

TEST_F(MemoryOrderKernels, ConvolutionsTakeInNearestNeighbours) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    auto pick = [&](int64_t low, int64_t high) {
      return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
    };
    const int64_t group = pick(0, 3) == 0 ? 2 : 1, kh = pick(1, 4), kw = pick(2, 4);
    const Shape shape = {pick(1, 2), group * pick(1, 9), pick(1, 7), pick(1, 9)};
    ir::Constant scales;
    scales.data = runtime::Tensor(ir::DType::F32, {4});
    for (size_t i = 0; i < 4; ++i) scales.data.as<float>()[i] = i < 2 ? 1 : static_cast<float>(pick(1, 3));
    ir::AttrMap attrs = attrs_of("mode", std::string("nearest"));
    if (pick(0, 1) == 0) {
      attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
      attrs.set("nearest_mode", std::string("floor"));
    }
    ValueId x = model.input(shape);
    ValueId large = model.op("Resize", {x, ValueId(), model.graph.add_constant("scales", scales)}, attrs);
    ir::AttrMap window = attrs_of("pads", runtime::Ints{pick(0, 3), pick(0, 3), pick(0, 3), pick(0, 3)});
    window.set("group", group);
    const Shape& in = model.graph.value(large).type.shape;
    const runtime::Ints pads = window.get_ints("pads");
    if (in[2] + pads[0] + pads[2] < kh || in[3] + pads[1] + pads[3] < kw) continue;
    const int64_t channels = group * pick(1, 20);
    ValueId y = model.op(
        "Conv", {large, model.constant({channels, shape[1] / group, kh, kw}), model.constant({channels})}, window);
    y = model.op("Relu", {y});
    model.graph.mark_output(y);
    RunStats stats = check(model, *jit_, 6e-6, -1, 1, {{{x, "NHWC"}, {y, "NHWC"}}, {}});
    EXPECT_EQ(stats.references, 0);
    EXPECT_EQ(model.graph.value(large).uses.size(), 1u);
  }
}

// The convolution reads what the Resize reads: it has to be in memory, though the Add also reads it.
TEST_F(MemoryOrderKernels, WhatAPrologueReadsIsStored) {
  Model model(16);
  ir::Constant scales;
  scales.data = runtime::Tensor(ir::DType::F32, {4});
  for (size_t i = 0; i < 4; ++i) scales.data.as<float>()[i] = i < 2 ? 1 : 2;
  ir::AttrMap attrs = attrs_of("mode", std::string("nearest"));
  attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  attrs.set("nearest_mode", std::string("floor"));
  ValueId x = model.input({1, 16, 4, 4});
  ValueId r = model.op("Relu", {x});
  ValueId large = model.op("Resize", {r, ValueId(), model.graph.add_constant("scales", scales)}, attrs);
  ValueId c = model.op("Conv", {large, model.constant({16, 16, 5, 5})});
  ValueId y = model.op("Add", {c, r});
  model.graph.mark_output(y);
  EXPECT_EQ(check(model, *jit_, 1e-5, -1, 1, {{{x, "NHWC"}, {y, "NHWC"}}, {}}).references, 0);
}

// Its rows and columns are those of the plain tensor.
TEST_F(MemoryOrderKernels, TrianglesLiePlainly) {
  Model model(17);
  ValueId x = model.input({2, 6, 4, 4});
  ValueId y = model.op("Trilu", {x});
  model.graph.mark_output(y);
  EXPECT_FALSE(jit_->lower(model.graph, model.graph.node_ids(), {{{x, "NHWC"}, {y, "NHWC"}}, {}}));
}

TEST_F(MemoryOrderKernels, RefusesWhatHasNoOrder) {
  Model model(15);
  ValueId x = model.input({2, 6, 4, 4});
  ValueId y = model.op("Reshape", {x, model.ints({2, 96})});
  model.graph.mark_output(y);
  auto lowered = jit_->lower(model.graph, model.graph.node_ids(), {{{x, "NHWC"}}, {}});
  ASSERT_FALSE(lowered);
  EXPECT_NE(lowered.message().find("NHWC"), std::string::npos) << lowered.message();
}

}  // namespace
}  // namespace collage::codegen_test
