// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes, softmax over any axis, normalisations, resampling, booleans.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class Reductions : public KernelTest {
 protected:
  static int64_t pick(Model& model, int64_t low, int64_t high) {
    return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
  }
  void expect_compiled(Model& model, double tolerance = 2e-6, float low = -2, float high = 2) {
    RunStats stats = check(model, *jit_, tolerance, low, high);
    EXPECT_GE(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
};

TEST_F(Reductions, OverRandomAxes) {
  const std::vector<std::string> ops = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                                        "ReduceProd", "ReduceL1",  "ReduceL2",  "ReduceSumSquare"};
  for (unsigned seed = 0; seed < 48; ++seed) {
    Model model(seed);
    Shape shape(static_cast<size_t>(pick(model, 1, 5)));
    for (int64_t& d : shape) d = pick(model, 0, 4) == 0 ? pick(model, 15, 35) : pick(model, 1, 5);
    std::vector<int64_t> axes;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (pick(model, 0, 1) == 0)
        axes.push_back(static_cast<int64_t>(d) - (seed % 2 == 0 ? 0 : static_cast<int64_t>(shape.size())));
    }
    const std::string& op = ops[seed % ops.size()];
    SCOPED_TRACE(op + " " + std::to_string(seed) + " " + runtime::to_string(shape));
    ir::AttrMap attrs;
    attrs.set("keepdims", pick(model, 0, 1));
    std::vector<ValueId> operands = {model.input(shape)};
    if (op == "ReduceSum" && !axes.empty()) {
      operands.push_back(model.ints(axes));
    } else if (!axes.empty()) {
      attrs.set("axes", runtime::Ints(axes.begin(), axes.end()));
    }
    model.graph.mark_output(model.op(op, operands, attrs));
    expect_compiled(model, 5e-6);
  }
}

TEST_F(Reductions, GlobalPools) {
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool"}) {
    for (const Shape& shape : {Shape{2, 3, 7, 7}, Shape{1, 5, 33}, Shape{2, 4, 3, 5, 2}}) {
      Model model(2);
      model.graph.mark_output(model.op(op, {model.input(shape)}));
      expect_compiled(model);
    }
  }
}

TEST_F(Reductions, SoftmaxOverAnyAxis) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    for (int64_t axis : {0, 1, -2, -1}) {
      Model model(2);
      ir::AttrMap attrs;
      attrs.set("axis", axis);
      model.graph.mark_output(model.op(op, {model.input({3, 6, 5, 19})}, attrs));
      expect_compiled(model);
    }
  }
}

TEST_F(Reductions, InstanceNormalization) {
  for (const Shape& shape : {Shape{2, 3, 7, 9}, Shape{1, 4, 16}, Shape{2, 2, 3, 4, 5}}) {
    Model model(2);
    int64_t c = shape[1];
    model.graph.mark_output(
        model.op("InstanceNormalization", {model.input(shape), model.constant({c}), model.constant({c})}));
    expect_compiled(model, 5e-6);
  }
}

TEST_F(Reductions, GroupNormalization) {
  for (const Shape& shape : {Shape{2, 12, 7, 9}, Shape{1, 6, 16}, Shape{3, 4, 1, 1}, Shape{2, 6, 3, 4, 5}}) {
    for (int64_t groups : {int64_t{1}, int64_t{2}, shape[1]}) {
      for (int64_t parameters : {shape[1], groups}) {
        Model model(2);
        ir::AttrMap attrs;
        attrs.set("num_groups", groups);
        attrs.set("epsilon", 1e-3);
        model.graph.mark_output(
            model.op("GroupNormalization",
                     {model.input(shape), model.constant({parameters}), model.constant({parameters})}, attrs));
        expect_compiled(model, 5e-6);
      }
    }
  }
}

TEST_F(Reductions, LocalResponseNormalization) {
  for (int64_t size : {1, 2, 5, 40}) {
    Model model(2);
    ir::AttrMap attrs;
    attrs.set("size", size);
    attrs.set("alpha", 0.3);
    attrs.set("beta", 0.6);
    attrs.set("bias", 1.5);
    model.graph.mark_output(model.op("LRN", {model.input({2, 9, 5, 7})}, attrs));
    expect_compiled(model, 5e-6);
  }
}

TEST_F(Reductions, RandomResizes) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = {pick(model, 1, 2), pick(model, 1, 3), pick(model, 1, 9), pick(model, 1, 20)};
    std::vector<int64_t> sizes = {shape[0], shape[1], pick(model, 1, 20), pick(model, 1, 40)};
    ir::AttrMap attrs;
    attrs.set("mode", std::string(seed % 2 == 0 ? "nearest" : "linear"));
    static const char* const kModes[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
    attrs.set("coordinate_transformation_mode", std::string(kModes[pick(model, 0, 3)]));
    ir::Constant scales;
    scales.data = runtime::Tensor(ir::DType::F32, {4});
    for (size_t d = 0; d < 4; ++d) {
      scales.data.as<float>()[d] = static_cast<float>(sizes[d]) / static_cast<float>(shape[d]);
    }
    bool by_scale = pick(model, 0, 2) == 0;
    if (by_scale) scales.data.as<float>()[2] = scales.data.as<float>()[3] = 2;
    std::vector<ValueId> operands = {model.input(shape), ValueId()};
    operands.push_back(by_scale ? model.graph.add_constant("scales", scales) : ValueId());
    if (!by_scale) operands.push_back(model.ints(sizes));
    model.graph.mark_output(model.op("Resize", operands, attrs));
    expect_compiled(model);
  }
}

// A result that does not read an infinite element is finite, also where others have more taps than it.
TEST_F(Reductions, ResizesOfInfiniteElements) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (int64_t at : {0, 9, 29}) {
      // At the edge the reference reads one element under weights of two signs, and Inf - Inf is NaN there.
      if (std::string(mode) == "cubic" && at != 9) continue;
      SCOPED_TRACE(std::string(mode) + " " + std::to_string(at));
      Model model(3);
      std::vector<float> values(30);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
      values[static_cast<size_t>(at)] = std::numeric_limits<float>::infinity();
      ir::AttrMap attrs;
      attrs.set("mode", std::string(mode));
      attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
      ValueId x = model.input(ir::DType::F32, {1, 1, 5, 6}, values);
      ValueId y = model.op("Resize", {x, ValueId(), ValueId(), model.ints({1, 1, 10, 18})}, attrs);
      model.graph.mark_output(y);
      expect_compiled(model);
    }
  }
}

TEST_F(Reductions, PadsThatRepeatElements) {
  for (const char* mode : {"edge", "reflect"}) {
    Model model(2);
    ir::AttrMap attrs;
    attrs.set("mode", std::string(mode));
    model.graph.mark_output(model.op("Pad", {model.input({2, 3, 6, 19}), model.ints({0, 0, 2, 1, 0, 0, 3, 4})}, attrs));
    expect_compiled(model, 0);
  }
}

TEST_F(Reductions, Booleans) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    SCOPED_TRACE(op);
    Model model(2);
    ValueId x = model.op("Round", {model.input({3, 37})});
    ValueId y = model.op("Round", {model.input({3, 37})});
    ValueId test = model.op(op, {x, y});
    ValueId other = model.op("Less", {x, model.scalar(0.5F)});
    ValueId both = model.op("And", {test, other});
    ValueId either = model.op("Or", {test, model.op("Not", {other})});
    model.graph.mark_output(model.op("Where", {model.op("Xor", {both, either}), x, model.scalar(-9)}));
    model.graph.mark_output(test);
    ir::AttrMap attrs;
    attrs.set("to", static_cast<int64_t>(1));
    model.graph.mark_output(model.op("Cast", {either}, attrs));
    expect_compiled(model, 0);
  }
}

TEST_F(Reductions, AMaskFromMemory) {
  Model model(2);
  std::vector<uint8_t> bits(5 * 21);
  for (uint8_t& b : bits) b = static_cast<uint8_t>(model.random()() % 2);
  ValueId mask = model.input(ir::DType::Bool, {1, 5, 21}, bits);
  ValueId one = model.input(ir::DType::Bool, {1, 1, 1}, std::vector<uint8_t>{1});
  ValueId x = model.input({2, 5, 21});
  model.graph.mark_output(model.op("Where", {mask, x, model.scalar(-1e4F)}));
  model.graph.mark_output(model.op("Where", {one, x, model.scalar(-1e4F)}));
  expect_compiled(model, 0);
}

}  // namespace
}  // namespace collage::codegen_test
