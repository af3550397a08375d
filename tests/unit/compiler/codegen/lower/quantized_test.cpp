// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of bytes, and what leads into and out of them: exactly what the reference kernels compute,
// on every instruction set.
#include <span>

#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class QuantizedModel : public Model {
 public:
  using Model::Model;

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random()() % static_cast<unsigned>(high - low + 1));
  }
  bool coin() { return pick(0, 1) == 0; }

  /// Every third tensor has only the least and the greatest number.
  runtime::Tensor bytes(ir::DType dtype, const Shape& shape) {
    runtime::Tensor tensor(dtype, shape);
    const bool extreme = pick(0, 2) == 0;
    for (std::byte& x : std::span(tensor.data(), tensor.bytes())) {
      const auto any = static_cast<uint8_t>(pick(0, 255));
      const int low = dtype == ir::DType::I8 ? 0x80 : 0x00, high = dtype == ir::DType::I8 ? 0x7f : 0xff;
      x = static_cast<std::byte>(extreme ? (coin() ? low : high) : any);
    }
    return tensor;
  }
  ValueId byte_constant(ir::DType dtype, const Shape& shape) { return constant_of(bytes(dtype, shape)); }
  ValueId byte_zeros(ir::DType dtype, const Shape& shape) {
    runtime::Tensor tensor(dtype, shape);
    std::memset(tensor.data(), 0, tensor.bytes());
    return constant_of(std::move(tensor));
  }
  ValueId constant_of(runtime::Tensor data) {
    ir::Constant c;
    c.data = std::move(data);
    return graph.add_constant(graph.unique_name("const"), c);
  }
  ValueId i32_constant(const Shape& shape, int64_t most) {
    runtime::Tensor tensor(ir::DType::I32, shape);
    for (int32_t& x : tensor.as<int32_t>()) x = static_cast<int32_t>(pick(-most, most));
    return constant_of(std::move(tensor));
  }
  ir::DType byte_type() { return coin() ? ir::DType::I8 : ir::DType::U8; }
};

std::unique_ptr<codegen::Jit> byte_jit(const std::string& cpu, int threads = 1, bool keep_text = false) {
  codegen::JitOptions options;
  options.cpu = cpu;
  options.threads = threads;
  options.keep_text = keep_text;
  auto jit = codegen::Jit::create(options);
  EXPECT_TRUE(jit.is_ok()) << jit.message();
  return std::move(*jit);
}

/// Processors with vpdpbusd on wide vectors, on narrow ones, and without.
const std::vector<std::string> kProcessors = runnable({"", "haswell", "x86-64-v2"});

void check_exact(QuantizedModel& model, codegen::Jit& jit, int most_kernels = 2) {
  const RunStats stats = check(model, jit);
  EXPECT_EQ(stats.references, 0);
  EXPECT_GE(stats.kernels, 1);
  EXPECT_LE(stats.kernels, most_kernels);
}

/// Operands and attributes of a random convolution.
struct RandomConv {
  Shape x, w;
  ir::AttrMap attrs;
};

RandomConv random_conv(QuantizedModel& model) {
  RandomConv conv;
  const int64_t rank = model.pick(1, 6) == 1 ? 1 : model.pick(1, 8) == 1 ? 3 : 2;
  const int64_t group = model.coin() ? 1 : model.pick(1, 5);
  const bool is_depthwise = model.pick(0, 3) == 0;
  const int64_t in = is_depthwise ? 1 : model.pick(1, 19);
  const int64_t out = model.pick(1, is_depthwise ? 2 : 23);
  conv.x = {model.pick(1, 2), group * in};
  conv.w = {group * out, in};
  runtime::Ints pads, strides, dilations;
  for (int64_t d = 0; d < rank; ++d) {
    conv.x.push_back(model.pick(7, rank == 3 ? 9 : 21));
    conv.w.push_back(model.pick(1, 3));
    pads.push_back(model.pick(0, 2));
    strides.push_back(model.pick(1, 3));
    dilations.push_back(model.pick(1, 2));
  }
  for (int64_t d = 0; d < rank; ++d) pads.push_back(model.pick(0, 2));
  if (model.pick(0, 3) == 0) {
    std::fill(conv.w.begin() + 2, conv.w.end(), 1);
    std::fill(pads.begin(), pads.end(), 0);
    std::fill(strides.begin(), strides.end(), 1);
  }
  conv.attrs.set("group", group);
  conv.attrs.set("pads", pads);
  conv.attrs.set("strides", strides);
  conv.attrs.set("dilations", dilations);
  return conv;
}

TEST(QuantizedKernels, QLinearConv) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu, 1 + static_cast<int>(seed % 3));
      QuantizedModel model(seed);
      const RandomConv conv = random_conv(model);
      const ir::DType x = model.byte_type(), w = model.byte_type(), y = model.byte_type();
      const int64_t channels = conv.w[0];
      const Shape lines = model.coin() ? Shape{channels} : Shape{};
      const float scale = model.coin() ? 0.01F : 0.4F;  // some results, or most, are clamped
      std::vector<ValueId> operands = {model.input(model.bytes(x, conv.x)),
                                       model.scalar(scale),
                                       model.byte_constant(x, {}),
                                       model.byte_constant(w, conv.w),
                                       model.constant(lines, 0.01F, 0.9F),
                                       ValueId(),
                                       model.scalar(0.7F),
                                       model.byte_constant(y, {})};
      operands[5] = model.coin() ? model.byte_constant(w, lines) : model.byte_zeros(w, {});
      if (model.coin()) operands.push_back(model.i32_constant({channels}, 20000));
      model.graph.mark_output(model.op("QLinearConv", operands, conv.attrs));
      check_exact(model, *jit);
    }
  }
}

TEST(QuantizedKernels, ConvInteger) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 100; seed < 114; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu);
      QuantizedModel model(seed);
      const RandomConv conv = random_conv(model);
      const ir::DType x = model.byte_type(), w = model.byte_type();
      std::vector<ValueId> operands = {model.input(model.bytes(x, conv.x)), model.byte_constant(w, conv.w)};
      // Computed, constant, or absent.
      const int64_t zero = model.pick(0, 2);
      if (zero > 0) {
        operands.push_back(zero == 1 ? model.input(model.bytes(x, {})) : model.byte_constant(x, {}));
        if (model.coin()) operands.push_back(model.byte_constant(w, model.coin() ? Shape{conv.w[0]} : Shape{}));
      }
      model.graph.mark_output(model.op("ConvInteger", operands, conv.attrs));
      check_exact(model, *jit);
    }
  }
}

TEST(QuantizedKernels, QLinearMatMul) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 200; seed < 220; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu, 1 + static_cast<int>(seed % 3));
      QuantizedModel model(seed);
      const int64_t k = model.pick(1, 140), n = model.pick(1, 150);
      const Shape a = model.coin()   ? Shape{model.pick(1, 40), k}
                      : model.coin() ? Shape{model.pick(1, 3), model.pick(1, 5), k}
                                     : Shape{k};
      const ir::DType x = model.byte_type(), w = model.byte_type(), y = model.byte_type();
      const Shape lines = model.coin() ? Shape{n} : Shape{};
      std::vector<ValueId> operands = {model.input(model.bytes(x, a)),
                                       model.scalar(0.02F),
                                       model.byte_constant(x, {}),
                                       model.byte_constant(w, {k, n}),
                                       model.constant(lines, 0.01F, 0.9F),
                                       model.byte_constant(w, lines),
                                       model.scalar(0.7F),
                                       model.byte_constant(y, {})};
      if (model.coin()) operands[5] = model.byte_zeros(w, lines);
      model.graph.mark_output(model.op("QLinearMatMul", operands));
      check_exact(model, *jit);
    }
  }
}

TEST(QuantizedKernels, MatMulInteger) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 300; seed < 314; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu);
      QuantizedModel model(seed);
      const int64_t k = model.pick(1, 140), n = model.pick(1, 70);
      const ir::DType x = model.byte_type(), w = model.byte_type();
      std::vector<ValueId> operands = {model.input(model.bytes(x, {model.pick(1, 40), k})),
                                       model.byte_constant(w, {k, n})};
      const int64_t zero = model.pick(0, 2);
      if (zero > 0) {
        operands.push_back(zero == 1 ? model.input(model.bytes(x, {})) : model.byte_constant(x, {}));
        if (model.coin()) operands.push_back(model.byte_constant(w, model.coin() ? Shape{n} : Shape{}));
      }
      model.graph.mark_output(model.op("MatMulInteger", operands));
      check_exact(model, *jit);
    }
  }
}

// Halves go to even, and a sum of 2^24 and more is exact.
TEST(QuantizedKernels, RoundsInDouble) {
  for (const std::string& cpu : kProcessors) {
    SCOPED_TRACE(cpu);
    const auto jit = byte_jit(cpu);
    QuantizedModel model(7);
    const int64_t k = 2000;
    const ValueId a = model.input(model.bytes(ir::DType::U8, {64, k}));
    const ValueId b = model.byte_constant(ir::DType::I8, {k, 48});
    model.graph.mark_output(model.op(
        "QLinearMatMul", {a, model.scalar(0.5F), model.byte_zeros(ir::DType::U8, {}), b, model.scalar(0.001953125F),
                          model.byte_zeros(ir::DType::I8, {}), model.scalar(32), model.byte_zeros(ir::DType::I8, {})}));
    check_exact(model, *jit);
  }
}

// Per-row numbers of the left matrix, and computed weights, run on the reference kernel.
TEST(QuantizedKernels, RefusesWhatItDoesNotTake) {
  const auto jit = byte_jit("");
  QuantizedModel model(8);
  const ValueId a = model.input(model.bytes(ir::DType::U8, {5, 7}));
  const ValueId b = model.input(model.bytes(ir::DType::I8, {7, 9}));
  model.graph.mark_output(model.op("MatMulInteger", {a, b}));
  model.graph.mark_output(model.op(
      "MatMulInteger", {a, model.byte_constant(ir::DType::I8, {7, 9}), model.byte_constant(ir::DType::U8, {5})}));
  const RunStats stats = check(model, *jit);
  EXPECT_EQ(stats.references, 2);
}

TEST(QuantizedKernels, UsesTheInstruction) {
  const auto jit = byte_jit("cascadelake", 1, true);
  QuantizedModel model(9);
  const ValueId a = model.input(model.bytes(ir::DType::U8, {32, 64}));
  model.graph.mark_output(model.op("MatMulInteger", {a, model.byte_constant(ir::DType::I8, {64, 64})}));
  const auto lowered = jit->lower(model.graph, model.graph.node_ids());
  ASSERT_TRUE(lowered.is_ok());
  EXPECT_NE(jit->asm_text().find("vpdpbusd"), std::string::npos);
}

void check_pointwise(QuantizedModel& model, codegen::Jit& jit) {
  const RunStats stats = check(model, jit, 0);
  EXPECT_EQ(stats.references, 0);
  EXPECT_EQ(stats.kernels, 1);
}

TEST(QuantizedKernels, QuantizeLinear) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 400; seed < 420; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu);
      QuantizedModel model(seed);
      const Shape shape = {model.pick(1, 3), model.pick(1, 20), model.pick(1, 40)};
      const int64_t axis = model.pick(-3, 2);
      const Shape lines = model.coin() ? Shape{} : Shape{shape[static_cast<size_t>(axis < 0 ? axis + 3 : axis)]};
      runtime::Tensor x = model.random_tensor(shape, -300, 300);
      const std::vector<float> special = {std::numeric_limits<float>::quiet_NaN(),
                                          std::numeric_limits<float>::infinity(),
                                          -std::numeric_limits<float>::infinity(),
                                          1e30F,
                                          -1e30F,
                                          -0.0F,
                                          0.5F,
                                          1.5F,
                                          -2.5F};
      for (size_t i = 0; i < x.as<float>().size(); i += 3) x.as<float>()[i] = special[i / 3 % special.size()];
      std::vector<ValueId> operands = {model.input(x), model.coin() ? model.constant(lines, 0.5F, 2)
                                                                    : model.input(model.random_tensor(lines, 1, 1))};
      if (model.pick(0, 2) > 0) operands.push_back(model.byte_constant(model.byte_type(), lines));
      ir::AttrMap attrs;
      attrs.set("axis", axis);
      model.graph.mark_output(model.op("QuantizeLinear", operands, attrs));
      check_pointwise(model, *jit);
    }
  }
}

TEST(QuantizedKernels, DequantizeLinear) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 500; seed < 516; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu);
      QuantizedModel model(seed);
      const Shape shape = {model.pick(1, 3), model.pick(1, 20), model.pick(1, 40)};
      const int64_t axis = model.pick(-3, 2);
      const Shape lines = model.coin() ? Shape{1} : Shape{shape[static_cast<size_t>(axis < 0 ? axis + 3 : axis)]};
      const ir::DType dtype = model.byte_type();
      std::vector<ValueId> operands = {model.input(model.bytes(dtype, shape)), model.constant(lines, 0.01F, 2)};
      if (model.coin()) operands.push_back(model.byte_constant(dtype, lines));
      ir::AttrMap attrs;
      attrs.set("axis", axis);
      model.graph.mark_output(model.op("DequantizeLinear", operands, attrs));
      check_pointwise(model, *jit);
    }
  }
}

TEST(QuantizedKernels, MaxPool) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 800; seed < 824; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu, 1 + static_cast<int>(seed % 3));
      QuantizedModel model(seed);
      const int64_t rank = model.pick(1, 3);
      Shape x = {model.pick(1, 2), model.pick(1, 5)};
      runtime::Ints kernel, begin, end, strides, dilations;
      for (int64_t d = 0; d < rank; ++d) {
        x.push_back(model.pick(7, rank == 3 ? 9 : 40));
        kernel.push_back(model.pick(1, 3));
        begin.push_back(model.pick(0, kernel.back() - 1));
        end.push_back(model.pick(0, kernel.back() - 1));
        strides.push_back(model.pick(1, 3));
        dilations.push_back(model.pick(1, 2));
      }
      begin.insert(begin.end(), end.begin(), end.end());
      ir::AttrMap attrs;
      attrs.set("kernel_shape", kernel);
      attrs.set("pads", begin);
      attrs.set("strides", strides);
      attrs.set("dilations", dilations);
      attrs.set("ceil_mode", model.pick(0, 1));
      const ir::DType dtype = model.byte_type();
      ValueId y = model.op("MaxPool", {model.input(model.bytes(dtype, x))}, attrs);
      if (model.coin()) {
        model.graph.mark_output(y);
        y = model.op("DequantizeLinear", {y, model.scalar(0.3F), model.byte_constant(dtype, {})});
      }
      model.graph.mark_output(y);
      check_exact(model, *jit, 3);
    }
  }
}

TEST(QuantizedKernels, DynamicQuantizeLinear) {
  for (const std::string& cpu : kProcessors) {
    for (unsigned seed = 600; seed < 615; ++seed) {
      SCOPED_TRACE(cpu + " " + std::to_string(seed));
      const auto jit = byte_jit(cpu);
      QuantizedModel model(seed);
      const Shape shape = {model.pick(1, 3), model.pick(1, 6000)};
      const std::vector<std::pair<float, float>> ranges = {{-3, 5}, {2, 5}, {-7, -1}, {0, 0}};
      const auto [low, high] = ranges[seed % ranges.size()];
      runtime::Tensor x = model.random_tensor(shape, low, high);
      const std::vector<float> special = {std::numeric_limits<float>::quiet_NaN(), -0.0F,
                                          std::numeric_limits<float>::infinity()};
      if (seed % 5 == 0) x.as<float>()[0] = special[seed / 5 % special.size()];
      for (ValueId y : model.ops("DynamicQuantizeLinear", {model.input(x)}, {}, 3)) model.graph.mark_output(y);
      check_exact(model, *jit);
    }
  }
}

// Bytes in, bytes out, one kernel; also in another layout, with scales along the channels.
TEST(QuantizedKernels, AddsBytes) {
  for (const std::string& cpu : kProcessors) {
    for (const char* layout : {"plain", "NHWC"}) {
      SCOPED_TRACE(cpu + " " + layout);
      const auto jit = byte_jit(cpu);
      QuantizedModel model(11);
      const Shape shape = {2, 19, 5, 7};
      const ValueId a = model.input(model.bytes(ir::DType::I8, shape));
      const ValueId b = model.input(model.bytes(ir::DType::U8, shape));
      const ValueId x =
          model.op("DequantizeLinear", {a, model.constant({19}, 0.1F, 1), model.byte_constant(ir::DType::I8, {19})});
      const ValueId y = model.op("DequantizeLinear", {b, model.scalar(0.3F), model.byte_constant(ir::DType::U8, {})});
      const ValueId sum = model.op("Relu", {model.op("Add", {x, y})});
      const ValueId q =
          model.op("QuantizeLinear", {sum, model.constant({19}, 0.3F, 1), model.byte_constant(ir::DType::U8, {19})});
      model.graph.mark_output(q);
      codegen::LowerOptions options;
      if (std::string(layout) != "plain") options.layouts = {{a, layout}, {b, layout}, {q, layout}};
      const RunStats stats = check(model, *jit, 0, -1, 1, options);
      EXPECT_EQ(stats.references, 0);
      EXPECT_EQ(stats.kernels, 1);
    }
  }
}

TEST(QuantizedKernels, CastsBytes) {
  for (const std::string& cpu : kProcessors) {
    SCOPED_TRACE(cpu);
    const auto jit = byte_jit(cpu);
    for (ir::DType dtype : {ir::DType::I8, ir::DType::U8}) {
      QuantizedModel model(12);
      ir::AttrMap to_float, to_byte;
      to_float.set("to", int64_t{1});
      to_byte.set("to", int64_t{dtype == ir::DType::I8 ? 3 : 2});
      model.graph.mark_output(model.op("Cast", {model.input(model.bytes(dtype, {3, 37}))}, to_float));
      runtime::Tensor numbers = model.random_tensor({3, 37}, -400, 400);
      numbers.as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      numbers.as<float>()[1] = -0.7F;
      model.graph.mark_output(model.op("Cast", {model.input(numbers)}, to_byte));
      const RunStats stats = check(model, *jit, 0);
      EXPECT_EQ(stats.references, 0);
    }
  }
}

}  // namespace
}  // namespace collage::codegen_test
