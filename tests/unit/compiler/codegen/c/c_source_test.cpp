// SPDX-License-Identifier: Apache-2.0
// Partitions as C source: compiled by the C compiler without warnings, loaded, held against the reference kernels.
#include "compiler/codegen/c/c_source.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/ir/analysis/evaluate.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen {
namespace {

using codegen_test::Model;

/// `void call(void **p) { f(p[0], p[1], …); }`
std::string caller(const CFunction& function) {
  std::string args;
  for (size_t i = 0; i <= function.parameters.size(); ++i) args += (i == 0 ? "p[" : ", p[") + std::to_string(i) + "]";
  return "void call(void **p) { " + function.symbol + "(" + args + "); }\n";
}

using Call = void (*)(void**);

/// Null, and a failure of the test, where the compiler complains.
Call compile(const std::string& text) {
  static int count = 0;
  std::filesystem::path stem = std::filesystem::temp_directory_path() /
                               ("collage_c_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  std::string source = stem.string() + ".c", library = stem.string() + ".so";
  std::ofstream(source) << text;
  std::string command = std::string(COLLAGE_CC) +
                        " -std=c99 -O2 -Wall -Werror -Wno-missing-prototypes -shared -fPIC -o " + library + " " +
                        source + " -lm";
  EXPECT_EQ(std::system(command.c_str()), 0) << text.substr(0, 20000);
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove(source);
  std::filesystem::remove(library);
  return handle == nullptr ? nullptr : reinterpret_cast<Call>(::dlsym(handle, "call"));
}

/// All nodes of the model as one function.
void expect_same(Model& model, double tolerance = 2e-5) {
  const ir::Graph& graph = model.graph;
  auto function = c_function(graph, graph.node_ids(), "model");
  ASSERT_TRUE(function) << function.message();
  Call call = compile(c_file(graph, {*function}) + caller(*function));
  ASSERT_NE(call, nullptr);
  std::vector<runtime::Tensor> inputs;
  for (ir::ValueId input : graph.inputs()) {
    const ir::TensorType& type = graph.value(input).type;
    inputs.push_back(model.random_tensor(type.shape, -2, 2, type.dtype));
  }
  auto expected = ir::evaluate_graph(graph, inputs);
  ASSERT_TRUE(expected) << expected.message();
  std::vector<runtime::Tensor> outputs;
  for (ir::ValueId output : graph.outputs())
    outputs.emplace_back(graph.value(output).type.dtype, graph.value(output).type.shape);
  runtime::Tensor workspace(runtime::DType::U8, {static_cast<int64_t>(function->workspace_bytes) + 1});
  std::vector<void*> pointers;
  auto index_of = [](const std::vector<ir::ValueId>& list, ir::ValueId value) {
    return static_cast<size_t>(std::find(list.begin(), list.end(), value) - list.begin());
  };
  for (const CParameter& parameter : function->parameters) {
    if (parameter.kind == CParameter::Kind::Weight) {
      pointers.push_back(graph.value(parameter.value).constant->data.data());
    } else if (parameter.kind == CParameter::Kind::Input) {
      pointers.push_back(inputs[index_of(graph.inputs(), parameter.value)].data());
    } else {
      pointers.push_back(outputs[index_of(graph.outputs(), parameter.value)].data());
    }
  }
  pointers.push_back(workspace.data());
  call(pointers.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    double largest = 0, difference = 0;
    for (int64_t e = 0; e < outputs[i].count(); ++e) {
      double want = runtime::element_as_double((*expected)[i].view(), e);
      double got = runtime::element_as_double(outputs[i].view(), e);
      largest = std::max(largest, std::abs(want));
      difference = std::max(difference, std::isnan(got) ? INFINITY : std::abs(got - want));
    }
    EXPECT_LE(difference, tolerance * largest) << "output " << i;
  }
}

TEST(CSource, Pointwise) {
  Model model(1);
  ir::ValueId x = model.input({3, 7, 5});
  ir::ValueId s = model.op("Sigmoid", {x});
  ir::ValueId e = model.op("Erf", {model.op("Mul", {s, model.constant({7, 1})})});
  model.graph.mark_output(model.op("Tanh", {model.op("Add", {e, x})}));
  model.graph.mark_output(model.op("Exp", {e}));
  expect_same(model);
}

TEST(CSource, ConvolutionWithEpilogue) {
  Model model(2);
  ir::ValueId x = model.input({1, 6, 9, 11});
  ir::AttrMap pads;
  pads.set("pads", runtime::Ints{1, 1, 1, 1});
  ir::ValueId c = model.op("Conv", {x, model.constant({10, 6, 3, 3}), model.constant({10})}, pads);
  ir::ValueId r = model.op("Relu", {c});
  ir::AttrMap pool;
  pool.set("kernel_shape", runtime::Ints{2, 2});
  pool.set("strides", runtime::Ints{2, 2});
  model.graph.mark_output(model.op("MaxPool", {r}, pool));
  expect_same(model);
}

TEST(CSource, DepthwiseAndStrided) {
  Model model(3);
  ir::AttrMap attrs;
  attrs.set("group", int64_t{8});
  attrs.set("strides", runtime::Ints{2, 2});
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  model.graph.mark_output(model.op("Conv", {model.input({2, 8, 13, 10}), model.constant({8, 1, 3, 3})}, attrs));
  expect_same(model);
}

TEST(CSource, ProductsAndReductions) {
  Model model(4);
  ir::ValueId m = model.op("MatMul", {model.input({13, 17}), model.constant({17, 19})});
  ir::ValueId g = model.op("Gemm", {m, model.constant({19, 6}), model.constant({6})});
  model.graph.mark_output(model.op("Softmax", {g}));
  ir::AttrMap axes;
  axes.set("axes", runtime::Ints{1});
  model.graph.mark_output(model.op("ReduceMean", {m}, axes));
  expect_same(model);
}

template <typename T>
ir::ValueId whole_constant(Model& model, runtime::DType dtype, const runtime::Shape& shape, int64_t low, int64_t high) {
  ir::Constant c;
  c.data = runtime::Tensor(dtype, shape);
  for (T& x : c.data.as<T>()) x = static_cast<T>(low + static_cast<int64_t>(model.random()() % (high - low + 1)));
  return model.graph.add_constant(model.graph.unique_name("const"), c);
}

TEST(CSource, Bytes) {
  Model model(6);
  using runtime::DType;
  const ir::ValueId scale = model.scalar(0.02F);
  const ir::ValueId zero = whole_constant<int8_t>(model, DType::I8, {}, -5, 5);
  ir::AttrMap window;
  window.set("pads", runtime::Ints{1, 1, 1, 1});
  window.set("strides", runtime::Ints{2, 2});
  const ir::ValueId q = model.op("QuantizeLinear", {model.input({1, 7, 9, 11}), scale, zero});
  const ir::ValueId w = whole_constant<int8_t>(model, DType::I8, {10, 7, 3, 3}, -128, 127);
  const ir::ValueId bias = whole_constant<int32_t>(model, DType::I32, {10}, -900, 900);
  const ir::ValueId w_zero = whole_constant<int8_t>(model, DType::I8, {10}, -9, 9);
  ir::ValueId y = model.op("QLinearConv",
                           {q, scale, zero, w, model.constant({10}, 0.001F, 0.02F), w_zero, scale, zero, bias}, window);
  window.set("group", int64_t{10});
  y = model.op("QLinearConv",
               {y, scale, zero, whole_constant<int8_t>(model, DType::I8, {10, 1, 3, 3}, -128, 127), model.scalar(0.01F),
                zero, scale, zero},
               window);
  const ir::ValueId v = whole_constant<uint8_t>(model, DType::U8, {3, 6}, 0, 255);
  const ir::ValueId v_zero = whole_constant<uint8_t>(model, DType::U8, {}, 0, 255);
  y = model.op("QLinearMatMul", {y, scale, zero, v, model.scalar(0.01F), v_zero, scale, zero});
  model.graph.mark_output(model.op("DequantizeLinear", {y, scale, zero}));
  expect_same(model, 0);
}

TEST(CSource, Movement) {
  Model model(5);
  ir::ValueId x = model.input({4, 6, 5});
  ir::AttrMap perm;
  perm.set("perm", runtime::Ints{2, 0, 1});
  ir::ValueId t = model.op("Transpose", {x}, perm);
  ir::AttrMap axis;
  axis.set("axis", int64_t{1});
  model.graph.mark_output(model.op("Concat", {t, model.op("Neg", {t})}, axis));
  expect_same(model);
}

// Elements of one and two bytes are words in vectors, where they do not make up words: in rows, by a table of offsets,
// by strides, and one alone.
TEST(CSource, MovedSmallElements) {
  for (ir::DType dtype : {ir::DType::Bool, ir::DType::U8, ir::DType::I8, ir::DType::F16, ir::DType::BF16}) {
    SCOPED_TRACE(runtime::name_of(dtype));
    Model model(11);
    model.dtype = dtype;
    const ir::ValueId x = model.input({3, 7, 5});
    ir::AttrMap swapped;
    swapped.set("perm", runtime::Ints{0, 2, 1});
    model.graph.mark_output(model.op("Slice", {x, model.ints({1}), model.ints({6}), model.ints({1})}));
    model.graph.mark_output(
        model.op("Slice", {x, model.ints({4}), model.ints({0}), model.ints({2}), model.ints({-2})}));
    model.graph.mark_output(model.op("Transpose", {x}, swapped));
    model.graph.mark_output(model.op("Transpose", {model.input({37, 67})}));
    model.graph.mark_output(model.op("Identity", {model.input(runtime::Shape{})}));
    expect_same(model, 0);
  }
}

TEST(CSource, PlacesAndRemainders) {
  Model model(7);
  const ir::ValueId x = model.input({7, 13});
  ir::AttrMap like_c, lower, smallest;
  like_c.set("fmod", int64_t{1});
  lower.set("upper", int64_t{0});
  smallest.set("largest", int64_t{0});
  const ir::ValueId index = whole_constant<int64_t>(model, runtime::DType::I64, {7}, -15, 15);
  const ir::ValueId hot = model.op("OneHot", {index, model.ints({13}), model.constant({2})});
  model.graph.mark_output(model.op("Mul", {hot, model.op("Trilu", {x, model.ints({2})}, lower)}));
  model.graph.mark_output(model.op("Trilu", {model.op("Mod", {x, model.input({13})}, like_c)}));
  for (const ir::ValueId y : model.ops("TopK", {x, model.ints({6})}, smallest, 2)) model.graph.mark_output(y);
  smallest.set("axis", int64_t{0});
  for (const ir::ValueId y : model.ops("TopK", {x, model.ints({3})}, smallest, 2)) model.graph.mark_output(y);
  expect_same(model);
}

// Sums of f32 are added in f64; lists of i64 have vectors of two lanes.
TEST(CSource, ScansOfEveryNumber) {
  for (ir::DType dtype : {ir::DType::F32, ir::DType::F64, ir::DType::I32, ir::DType::I64}) {
    SCOPED_TRACE(runtime::name_of(dtype));
    Model model(8);
    model.dtype = dtype;
    const ir::ValueId x = model.input({3, 11, 7});
    ir::AttrMap backwards, without_own, middle;
    backwards.set("reverse", int64_t{1});
    without_own.set("exclusive", int64_t{1});
    middle.set("axis", int64_t{1});
    model.graph.mark_output(model.op("CumSum", {x, model.ints({1})}));
    model.graph.mark_output(model.op("CumSum", {x, model.ints({-1})}, without_own));
    model.graph.mark_output(model.op("CumProd", {x, model.ints({0})}, backwards));
    for (const ir::ValueId y : model.ops("TopK", {x, model.ints({5})}, {}, 2)) model.graph.mark_output(y);
    for (const ir::ValueId y : model.ops("TopK", {x, model.ints({3})}, middle, 2)) model.graph.mark_output(y);
    expect_same(model, 0);
  }
}

TEST(CSource, WholeNumbers) {
  for (ir::DType dtype : {ir::DType::I32, ir::DType::I64}) {
    SCOPED_TRACE(runtime::name_of(dtype));
    Model model(9);
    model.dtype = dtype;
    const ir::ValueId x = model.input({5, 13});
    const ir::ValueId seven = dtype == ir::DType::I32 ? whole_constant<int32_t>(model, dtype, {}, 7, 7)
                                                      : whole_constant<int64_t>(model, dtype, {}, 7, 7);
    const ir::ValueId rest = model.op("Mod", {x, seven});
    const ir::ValueId off_on = dtype == ir::DType::I32 ? whole_constant<int32_t>(model, dtype, {2}, -9, 9)
                                                       : whole_constant<int64_t>(model, dtype, {2}, -9, 9);
    model.graph.mark_output(model.op("OneHot", {rest, model.ints({7}), off_on}));
    model.graph.mark_output(model.op("Trilu", {model.op("Mul", {model.op("Add", {x, rest}), x})}));
    model.graph.mark_output(model.op("ReduceSum", {model.op("Min", {x, rest}), model.ints({1})}));
    model.graph.mark_output(model.op("ReduceMax", {model.op("Sub", {x, rest})}));
    expect_same(model, 0);
  }
}

TEST(CSource, Doubles) {
  Model model(10);
  model.dtype = ir::DType::F64;
  const ir::ValueId x = model.input({5, 13});
  const ir::ValueId y = model.op("Sigmoid", {model.op("MatMul", {x, model.input({13, 9})})});
  model.graph.mark_output(model.op("Softmax", {model.op("Mul", {y, model.op("Exp", {y})})}));
  ir::AttrMap rows;
  rows.set("axes", runtime::Ints{0});
  model.graph.mark_output(model.op("ReduceMean", {model.op("Erf", {x})}, rows));
  expect_same(model, 1e-12);
}

// Rotary positions of halves and of neighbours.
TEST(CSource, MovedRows) {
  Model model(7);
  ir::ValueId x = model.input({2, 3, 22});
  ir::ValueId sin = model.input({3, 22});
  ir::AttrMap last;
  last.set("axis", int64_t{-1});
  auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return model.op("Slice", {x, model.ints({start}), model.ints({end}), model.ints({-1}), model.ints({step})});
  };
  ir::ValueId halves = model.op("Concat", {model.op("Neg", {slice(11, 22, 1)}), slice(0, 11, 1)}, last);
  model.graph.mark_output(model.op("Add", {x, model.op("Mul", {halves, sin})}));
  ir::ValueId second = model.op("Unsqueeze", {model.op("Neg", {slice(1, 22, 2)}), model.ints({-1})});
  ir::ValueId first = model.op("Unsqueeze", {slice(0, 22, 2), model.ints({-1})});
  ir::ValueId pairs = model.op("Reshape", {model.op("Concat", {second, first}, last), model.ints({2, 3, 22})});
  model.graph.mark_output(model.op("Add", {x, model.op("Mul", {pairs, sin})}));
  expect_same(model);
}

TEST(CSource, RefusesWhatHasNoGeneratedCode) {
  Model model(6);
  model.dtype = ir::DType::U8;
  model.graph.mark_output(model.op("CumSum", {model.input({4}), model.ints({0})}));
  auto function = c_function(model.graph, model.graph.node_ids(), "model");
  ASSERT_FALSE(function);
  EXPECT_NE(function.message().find("`CumSum` has no generated code here"), std::string::npos);
}

TEST(CSource, NamesAreLegal) {
  EXPECT_EQ(c_name("layer4/conv-1:0"), "layer4_conv_1_0");
  EXPECT_EQ(c_name("7"), "_7");
  EXPECT_EQ(c_name("double"), "double_");
  EXPECT_EQ(c_name(""), "_");
}

}  // namespace
}  // namespace collage::codegen
