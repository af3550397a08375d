// SPDX-License-Identifier: Apache-2.0
// The ONNX importer on models made here: what becomes of names, constants, opsets and faults.
#include "compiler/import/onnx.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "compiler/import/tensor_proto.h"
#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

TEST_F(ImportTest, KeepsNamesAndTypes) {
  input("data/0", {1, 2});
  node("Relu", {"data/0"}, {"prob:0"}).set_name("act");
  output("prob:0");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->name, "m");
  EXPECT_EQ(imported->value(imported->inputs()[0]).name, "data/0");
  EXPECT_EQ(imported->value(imported->outputs()[0]).name, "prob:0");
  EXPECT_EQ(imported->node(ir::NodeId(0)).origin, "act");
  EXPECT_EQ(ir::to_string(imported->value(imported->outputs()[0]).type), "f32[1, 2]");
}

TEST_F(ImportTest, FloatAttributesAreWrittenShortAndReadAsF32) {
  input("x", {1, 1, 2});
  floats("one", {1}, {1});
  attr(node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"y"}), "epsilon", 1e-5f);
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  const ir::AttrMap& attrs = imported->node(ir::NodeId(0)).attrs;
  EXPECT_EQ(std::get<double>(*attrs.find("epsilon")), 1e-5);
  EXPECT_EQ(attrs.get_float("epsilon", 0), 1e-5F);
}

TEST_F(ImportTest, IntsServeAsFloats) {
  input("x", {1, 2});
  floats("w", {2, 1}, {1, 1});
  auto& gemm = node("Gemm", {"x", "w"}, {"g"});
  attr(gemm, "alpha", int64_t{3});
  attr(node("Constant", {}, {"four"}), "value_float", int64_t{4});
  node("Add", {"g", "four"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(std::get<double>(*imported->node(ir::NodeId(0)).attrs.find("alpha")), 3.0);
  EXPECT_EQ(run(*imported), (std::vector<float>{13}));
}

TEST_F(ImportTest, ListsOfIntsServeAsFloats) {
  set_opset(7);
  input("x", {1, 1, 1, 2});
  attr(node("Upsample", {"x"}, {"y"}), "scales", std::vector<int64_t>{1, 1, 1, 2});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 1, 2, 2}));
}

// Attributes of the operators here, and those of other opsets, which are rewritten.
TEST_F(ImportTest, AttributesOfOtherKindsAreRefused) {
  const auto refusal = [this](const std::string& op, int opset, const std::string& name, const auto& value) {
    model_.clear_graph();
    graph().set_name("m");
    set_opset(opset);
    input("x", {1, 2});
    attr(node(op, {"x", "x"}, {"y"}), name, value);
    output("y");
    support::Diagnostics diags(sources_);
    write(model_.SerializeAsString());
    EXPECT_FALSE(import_onnx(path(), diags)) << op << " " << name;
    return diags.render();
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  // 2^24 + 1, and the largest int.
  expect(refusal("Gemm", 17, "alpha", int64_t{16777217}),
         "attribute `alpha` of `Gemm` is a float, and 16777217 is none of 32 bits");
  expect(refusal("Gemm", 17, "alpha", std::numeric_limits<int64_t>::max()), "9223372036854775807 is none of 32 bits");
  expect(refusal("Gemm", 17, "alpha", std::string("1")), "attribute `alpha` of `Gemm` is a string, needs a float");
  expect(refusal("Gemm", 17, "transA", 1.0F), "attribute `transA` of `Gemm` is a float, needs an int");
  expect(refusal("ReduceMax", 17, "axes", int64_t{1}),
         "attribute `axes` of `ReduceMax` is an int, needs a list of ints");
  expect(refusal("ReduceMax", 18, "noop_with_empty_axes", 1.0F),
         "attribute `noop_with_empty_axes` of `ReduceMax` is a float, needs an int");
  expect(refusal("Add", 6, "broadcast", std::string("1")), "attribute `broadcast` of `Add` is a string, needs an int");
  expect(refusal("Unsqueeze", 12, "axes", int64_t{0}),
         "attribute `axes` of `Unsqueeze` is an int, needs a list of ints");
  expect(refusal("GlobalLpPool", 1, "p", std::string("2")),
         "attribute `p` of `GlobalLpPool` is a string, needs a float");
  expect(refusal("SplitToSequence", 17, "axis", 0.0F),
         "attribute `axis` of `SplitToSequence` is a float, needs an int");
}

TEST_F(ImportTest, AttributesWhoseValueIsOfAnotherKindThanStated) {
  input("x", {1, 2});
  auto& gemm = node("Gemm", {"x", "x"}, {"y"});
  attr(gemm, "alpha", 2.0F);
  gemm.mutable_attribute(0)->set_type(onnx::AttributeProto::INT);
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("attribute `alpha` states the kind INT, and its value is of kind FLOAT"), std::string::npos)
      << messages();
}

TEST_F(ImportTest, ReadsEveryKindOfElement) {
  struct Case {
    int element;
    DType dtype;
    std::string raw;
    double second;
  };
  const std::vector<Case> cases = {
      {TensorProto::FLOAT, DType::F32, std::string("\0\0\x80\x3f\0\0\0\xc0", 8), -2.0},
      {TensorProto::DOUBLE, DType::F64, std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f", 16), 1.0},
      {TensorProto::FLOAT16, DType::F16, std::string("\0\x3c\0\xc0", 4), -2.0},
      {TensorProto::BFLOAT16, DType::BF16, std::string("\x80\x3f\0\xc0", 4), -2.0},
      {TensorProto::INT8, DType::I8, std::string("\x01\xff", 2), -1.0},
      {TensorProto::UINT8, DType::U8, std::string("\x01\xff", 2), 255.0},
      {TensorProto::INT16, DType::I16, std::string("\x01\0\xfe\xff", 4), -2.0},
      {TensorProto::INT32, DType::I32, std::string("\x01\0\0\0\xfd\xff\xff\xff", 8), -3.0},
      {TensorProto::INT64, DType::I64, std::string("\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0", 16), 7.0},
      {TensorProto::BOOL, DType::Bool, std::string("\0\x02", 2), 1.0},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    initializer(fmt::format("c{}", i), {2}, cases[i].element).set_raw_data(cases[i].raw);
    node("Identity", {fmt::format("c{}", i)}, {fmt::format("y{}", i)});
    output(fmt::format("y{}", i));
  }
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  for (size_t i = 0; i < cases.size(); ++i) {
    ir::ValueId id = imported->find_value(fmt::format("c{}", i));
    ASSERT_TRUE(id.is_valid());
    const Tensor& data = imported->value(id).constant->data;
    EXPECT_EQ(data.dtype(), cases[i].dtype);
    EXPECT_EQ(runtime::element_as_double(data.view(), 1), cases[i].second) << i;
  }
  EXPECT_EQ(messages().find("FLOAT16"), std::string::npos) << messages();
}

TEST_F(ImportTest, ReadsBitsOfHalfFloats) {
  TensorProto& half = initializer("h", {5}, TensorProto::FLOAT16);
  for (int bits : {0x0001, 0x03ff, 0x7bff, 0x7c00, 0xfc00}) half.add_int32_data(bits);
  node("Identity", {"h"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  auto got = imported->value(imported->find_value("h")).constant->data.as<runtime::Half>();
  EXPECT_EQ(got[0], std::ldexp(1.0f, -24));
  EXPECT_EQ(got[1], std::ldexp(1023.0f, -24));
  EXPECT_EQ(got[2], 65504.0f);
  EXPECT_EQ(got[3], INFINITY);
  EXPECT_EQ(got[4], -INFINITY);
}

TEST_F(ImportTest, ExternalDataIsReadWithinItsFolder) {
  TensorProto& tensor = initializer("w", {2}, TensorProto::FLOAT);
  tensor.set_data_location(TensorProto::EXTERNAL);
  auto entry = [&tensor](const std::string& key, const std::string& value) {
    auto& added = *tensor.add_external_data();
    added.set_key(key);
    added.set_value(value);
  };
  entry("location", "weights.bin");
  entry("offset", "4");
  entry("length", "8");
  write(std::string("....\0\0\x80\x3f\0\0\0\x40", 12), "weights.bin");
  input("x", {2});
  node("Mul", {"x", "w"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 4}));

  for (const auto& [key, value, message] :
       std::vector<std::array<std::string, 3>>{{"location", "../weights.bin", "is not inside the model's folder"},
                                               {"location", "/etc/passwd", "is not inside the model's folder"},
                                               {"location", "none.bin", "cannot read"},
                                               {"offset", "8", "of a file of 12"},
                                               {"offset", "18446744073709551615", "is not a size"},
                                               {"length", "4", "4 bytes for a tensor of 8"}}) {
    onnx::ModelProto good = model_;
    for (auto& e : *graph().mutable_initializer(0)->mutable_external_data()) {
      if (e.key() == key) e.set_value(value);
    }
    EXPECT_FALSE(import_model()) << key << " " << value;
    EXPECT_NE(messages().find(message), std::string::npos) << messages();
    model_ = good;
  }
}

TEST_F(ImportTest, ConstantNodesOfEveryForm) {
  input("x", {2});
  auto& f = *node("Constant", {}, {"f"}).add_attribute();
  f.set_name("value_float");
  f.set_type(onnx::AttributeProto::FLOAT);
  f.set_f(2.5f);
  attr(node("Constant", {}, {"shape"}), "value_ints", std::vector<int64_t>{2, 1});
  node("Mul", {"x", "f"}, {"scaled"});
  node("Reshape", {"scaled", "shape"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 2u);
  EXPECT_EQ(run(*imported), (std::vector<float>{2.5f, 5.0f}));
}

TEST_F(ImportTest, ShapeArithmeticIsEvaluatedWhileImporting) {
  // Reshape(x, Concat(Gather(Shape(x), 0), [-1])): known only after three nodes ran.
  input("x", {2, 3, 4});
  initializer("zero", {1}, TensorProto::INT64).add_int64_data(0);
  initializer("rest", {1}, TensorProto::INT64).add_int64_data(-1);
  node("Shape", {"x"}, {"s"});
  node("Gather", {"s", "zero"}, {"n"});
  attr(node("Concat", {"n", "rest"}, {"target"}), "axis", int64_t{0});
  node("Reshape", {"x", "target"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 1u);
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, (Shape{2, 12}));
}

TEST_F(ImportTest, NodesInAnyOrder) {
  input("x", {2});
  node("Relu", {"b"}, {"y"});
  node("Neg", {"a"}, {"b"});
  node("Neg", {"x"}, {"a"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2}));
}

TEST_F(ImportTest, OutputsOfInputsAndConstantsAreNodes) {
  input("x", {2});
  floats("c", {2}, {5, 6});
  output("c");
  output("x");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  ASSERT_EQ(imported->outputs().size(), 2u);
  EXPECT_EQ(imported->value(imported->outputs()[0]).name, "c");
  for (ir::ValueId id : imported->outputs()) EXPECT_TRUE(imported->value(id).producer.is_valid());
  EXPECT_EQ(run(*imported), (std::vector<float>{5, 6}));
}

TEST_F(ImportTest, OpenDimensions) {
  input("x", {2, 3});
  graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  node("Relu", {"x"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->inputs()[0]).type.shape, (Shape{1, 3}));
  EXPECT_NE(messages().find("input 'x'"), std::string::npos) << messages();
  EXPECT_FALSE(diags_.has_errors());

  OnnxOptions four;
  four.bindings = {{"x", *ir::parse_sizes("4x3"), "--shape x"}};
  imported = import_model(four);
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->inputs()[0]).type.shape, (Shape{4, 3}));

  four.bindings = {{"N", *ir::parse_sizes("5"), "--shape N"}};
  imported = import_model(four);
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->inputs()[0]).type.shape, (Shape{5, 3}));

  four.bindings = {{"x", *ir::parse_sizes("4x5"), "--shape x"}};
  EXPECT_FALSE(import_model(four));
  EXPECT_NE(messages().find("dimension 1 is 3, but 5 was given"), std::string::npos) << messages();
  four.bindings = {{"z", *ir::parse_sizes("1"), "--shape z"}};
  EXPECT_FALSE(import_model(four));
  EXPECT_NE(messages().find("a shape was given for `z`, which is not an input"), std::string::npos) << messages();

  auto& dims = *graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims.mutable_dim(1)->set_dim_param("width");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("dimension 1 (`width`) is open"), std::string::npos) << messages();
}

// Old opsets. Each expected result is computed by hand from the definition of that opset.

TEST_F(ImportTest, LegacyBroadcastAlignsAtAxis) {
  set_opset(6);
  input("x", {1, 2, 2});  // 1 2 3 4
  floats("b", {2}, {10, 20});
  auto& add = node("Add", {"x", "b"}, {"y"});
  attr(add, "broadcast", int64_t{1});
  attr(add, "axis", int64_t{1});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{11, 12, 23, 24}));
  add.mutable_attribute(1)->set_i(std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("axis -9223372036854775808 does not fit operands of shape [1, 2, 2] and [2]"),
            std::string::npos)
      << messages();
}

TEST_F(ImportTest, SoftmaxBeforeOpset13FlattensAtItsAxis) {
  set_opset(11);
  input("x", {2, 2, 2});
  attr(node("Softmax", {"x"}, {"y"}), "axis", int64_t{1});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->outputs()[0]).type.shape, (Shape{2, 2, 2}));
  std::vector<float> got = run(*imported);
  double total = 0;
  for (int i = 1; i <= 4; ++i) total += std::exp(i);
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(got[static_cast<size_t>(i)], std::exp(i % 4 + 1) / total, 1e-6);
}

TEST_F(ImportTest, SoftmaxBeforeOpset13OverOneWideDimensionStaysOneNode) {
  set_opset(9);
  input("x", {1, 3, 1, 1});
  node("Softmax", {"x"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 1u);
  EXPECT_EQ(imported->node(ir::NodeId(0)).attrs.get_int("axis", -9), 1);
}

TEST_F(ImportTest, AttributesThatBecameOperands) {
  set_opset(9);
  input("x", {1, 4});
  auto& clip = node("Clip", {"x"}, {"clipped"});
  attr(clip, "max", 3.0f);
  auto& slice = node("Slice", {"clipped"}, {"sliced"});
  attr(slice, "starts", std::vector<int64_t>{1});
  attr(slice, "ends", std::vector<int64_t>{4});
  attr(slice, "axes", std::vector<int64_t>{1});
  auto& pad = node("Pad", {"sliced"}, {"padded"});
  attr(pad, "pads", std::vector<int64_t>{0, 1, 0, 0});
  attr(pad, "value", 9.0f);
  attr(node("Unsqueeze", {"padded"}, {"deep"}), "axes", std::vector<int64_t>{0});
  attr(node("Squeeze", {"deep"}, {"flat"}), "axes", std::vector<int64_t>{0, 1});
  attr(node("Split", {"flat"}, {"left", "right"}), "split", std::vector<int64_t>{1, 3});
  auto& sum = node("ReduceSum", {"right"}, {"y"});
  attr(sum, "axes", std::vector<int64_t>{0});
  attr(sum, "keepdims", int64_t{0});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{8}));  // 1 2 3 4 -> 1 2 3 3 -> 2 3 3 -> 9 | 2 3 3
}

TEST_F(ImportTest, UpsampleIsResizeInItsOwnCoordinates) {
  set_opset(9);
  input("x", {1, 1, 1, 2});
  floats("scales", {4}, {1, 1, 2, 2});
  node("Upsample", {"x", "scales"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST_F(ImportTest, ReductionsAndSplitOfOpset18) {
  set_opset(18);
  input("x", {1, 5});
  attr(node("Split", {"x"}, {"a", "b"}), "axis", int64_t{1});
  attr(*graph().mutable_node(0), "num_outputs", int64_t{2});
  initializer("axes", {1}, TensorProto::INT64).add_int64_data(1);
  node("ReduceMean", {"a", "axes"}, {"m"});
  node("Add", {"m", "b"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{6, 7}));
}

TEST_F(ImportTest, DropoutAndBatchNormalizationOfInferenceOnly) {
  set_opset(6);
  input("x", {1, 1, 2});
  floats("one", {1}, {1});
  auto& norm = node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"n", "mean", "var"});
  attr(norm, "is_test", int64_t{1});
  attr(norm, "epsilon", 0.0f);
  attr(norm, "consumed_inputs", std::vector<int64_t>{0, 0, 0, 1, 1});
  attr(node("Dropout", {"n"}, {"y", "mask"}), "ratio", 0.5f);
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2}));

  output("mask");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("the mask of Dropout before opset 10 is not supported"), std::string::npos) << messages();
}

TEST_F(ImportTest, DropoutWhoseModeIsAnInputIsReported) {
  input("x", {2});
  input("training", {}, TensorProto::BOOL);
  initializer("ratio", {}, TensorProto::FLOAT).add_float_data(0.5f);
  node("Dropout", {"x", "ratio", "training"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("Dropout needs a constant `training_mode`"), std::string::npos) << messages();
}

TEST_F(ImportTest, BatchNormalizationOfAListHasOneChannel) {
  input("x", {2});
  floats("scale", {1}, {2});
  floats("bias", {1}, {0.5f});
  floats("mean", {1}, {1});
  floats("variance", {1}, {4});
  attr(node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"}), "epsilon", 0.0f);
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0.5f, 1.5f}));  // of 1 and 2: (x - 1) / 2 * 2 + 0.5
}

TEST_F(ImportTest, DropoutOfTrainingThatDropsNothing) {
  input("x", {2});
  floats("ratio", {}, {0});
  initializer("training", {}, TensorProto::BOOL).add_int32_data(1);
  node("Dropout", {"x", "ratio", "training"}, {"d", "mask"});
  node("Where", {"mask", "d", "ratio"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2}));
}

TEST_F(ImportTest, ResizeOfOpset18NamesItsAxes) {
  set_opset(18);
  input("x", {1, 2, 2});
  floats("scales", {1}, {2});
  auto& resize = node("Resize", {"x", "", "scales"}, {"y"});
  attr(resize, "axes", std::vector<int64_t>{-1});
  attr(resize, "antialias", int64_t{0});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST_F(ImportTest, QuantizeLinearOfOpset21NamesItsElements) {
  set_opset(21);
  input("x", {4});
  floats("scale", {}, {2});
  auto& quantize = node("QuantizeLinear", {"x", "scale"}, {"q"});
  attr(quantize, "output_dtype", int64_t{TensorProto::INT8});
  attr(quantize, "saturate", int64_t{1});
  attr(quantize, "block_size", int64_t{0});
  attr(node("DequantizeLinear", {"q", "scale"}, {"y"}), "block_size", int64_t{0});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->find_value("q")).type.dtype, DType::I8);
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 2, 4, 4}));
}

TEST_F(ImportTest, QuantizationInBlocks) {
  set_opset(21);
  input("x", {1, 4});
  floats("scale", {1, 2}, {1, 2});
  attr(node("QuantizeLinear", {"x", "scale"}, {"q"}), "block_size", int64_t{2});
  attr(node("DequantizeLinear", {"q", "scale"}, {"y"}), "block_size", int64_t{2});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 2, 4, 4}));
}

// Weights are quantised while importing, but not back: an integer engine wants the bytes.
TEST_F(ImportTest, QuantizedWeightsStayBytes) {
  input("x", {1, 2});
  floats("w", {2, 1}, {3, 4});
  floats("scale", {}, {1});
  node("QuantizeLinear", {"w", "scale"}, {"wq"});
  node("DequantizeLinear", {"wq", "scale"}, {"wf"});
  node("MatMul", {"x", "wf"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 2u);
  ASSERT_TRUE(imported->value(imported->find_value("wq")).is_constant());
  EXPECT_EQ(imported->value(imported->find_value("wq")).type.dtype, DType::U8);
  EXPECT_EQ(run(*imported), (std::vector<float>{11}));
}

TEST_F(ImportTest, HintsAndFloatNormsOfTheFirstOpsets) {
  set_opset(1);
  input("x", {1, 1, 1});
  floats("w", {1, 1, 1}, {0});
  attr(node("RNN", {"x", "w", "w"}, {"r"}), "output_sequence", int64_t{1});
  attr(node("GlobalLpPool", {"x"}, {"n"}), "p", 1.0f);
  node("Flatten", {"r"}, {"f"});
  node("Flatten", {"n"}, {"m"});
  node("Sum", {"f", "m"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1}));
}

TEST_F(ImportTest, ConstantFillBeforeOpset9) {
  set_opset(8);
  input("x", {1, 2});
  node("Shape", {"x"}, {"s"});
  auto& fill = node("ConstantFill", {"s"}, {"c"});
  attr(fill, "input_as_shape", int64_t{1});
  attr(fill, "dtype", int64_t{TensorProto::FLOAT});
  attr(fill, "value", 2.5f);
  node("Add", {"x", "c"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{3.5f, 4.5f}));
}

// An If whose condition folds becomes its branch: what exporters write around Squeeze of an unknown dimension.
TEST_F(ImportTest, BranchesOfConstantConditions) {
  input("x", {2, 1});
  node("Shape", {"x"}, {"s"});
  attr(node("Gather", {"s", "last"}, {"extent"}), "axis", int64_t{0});
  initializer("last", {}, TensorProto::INT64).add_int64_data(1);
  initializer("one", {}, TensorProto::INT64).add_int64_data(1);
  node("Equal", {"extent", "one"}, {"is_one"});
  node("Neg", {"x"}, {"outer"});
  auto& branching = node("If", {"is_one"}, {"y"});
  auto add_branch = [&branching](const std::string& name) -> onnx::GraphProto& { return graph_attr(branching, name); };
  auto& then_graph = add_branch("then_branch");
  auto& axes = *then_graph.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(1);
  auto& squeeze = *then_graph.add_node();
  squeeze.set_op_type("Squeeze");
  squeeze.add_input("outer");
  squeeze.add_input("axes");
  squeeze.add_output("branch_result");
  then_graph.add_output()->set_name("branch_result");
  auto& else_graph = add_branch("else_branch");
  else_graph.add_output()->set_name("outer");
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(ir::to_string(imported->value(imported->outputs()[0]).type), "f32[2]");
  EXPECT_EQ(run(*imported), (std::vector<float>{-1, -2}));

  // The other branch hands on a value of the outer graph.
  graph().mutable_initializer(1)->set_int64_data(0, 7);
  imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(ir::to_string(imported->value(imported->outputs()[0]).type), "f32[2, 1]");
  EXPECT_EQ(run(*imported), (std::vector<float>{-1, -2}));
}

// Names of a branch are its own, also where branches lie in branches.
TEST_F(ImportTest, BranchesUseTheSameNames) {
  input("x", {2});
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  auto add = [](onnx::GraphProto& to, const std::string& op, const std::vector<std::string>& inputs,
                const std::string& output) -> onnx::NodeProto& {
    auto& added = *to.add_node();
    added.set_op_type(op);
    for (const auto& name : inputs) added.add_input(name);
    added.add_output(output);
    return added;
  };
  auto add_branches = [](onnx::NodeProto& branching) -> onnx::GraphProto& {
    for (const char* name : {"else_branch", "then_branch"}) graph_attr(branching, name).set_name(name);
    branching.mutable_attribute(0)->mutable_g()->add_output()->set_name("x");
    return *branching.mutable_attribute(1)->mutable_g();
  };
  auto add_two = [](onnx::GraphProto& to) {
    auto& two = *to.add_initializer();
    two.set_name("w");
    two.set_data_type(TensorProto::FLOAT);
    two.add_float_data(2);
  };
  // a = (x + 2) * (x + 2) through t and w
  auto& first = add_branches(node("If", {"yes"}, {"a"}));
  add_two(first);
  add(first, "Add", {"x", "w"}, "t");
  add(first, "Mul", {"t", "t"}, "r");
  first.add_output()->set_name("r");
  // b = -(2 a) + 2 a + |2 a|: the branch inside reads the t around it, and defines an r of its own
  auto& second = add_branches(node("If", {"yes"}, {"b"}));
  add_two(second);
  add(second, "Mul", {"a", "w"}, "t");
  auto& inner = add_branches(add(second, "If", {"yes"}, "s"));
  add(inner, "Neg", {"t"}, "r");
  add(inner, "Add", {"r", "t"}, "u");
  inner.add_output()->set_name("u");
  add(second, "Abs", {"t"}, "r");
  add(second, "Add", {"s", "r"}, "u");
  second.add_output()->set_name("u");
  output("b");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{18, 32}));

  add(second, "Abs", {"t"}, "r");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("its graph defines `r` twice"), std::string::npos) << messages();
}

TEST_F(ImportTest, ABranchThatGivesWhatItsNodeMakesIsReported) {
  input("x", {2});
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  auto& branching = node("If", {"yes"}, {"r"});
  for (const char* name : {"then_branch", "else_branch"}) graph_attr(branching, name).add_output()->set_name("r");
  output("r");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("its graph gives `r`, which nothing defines"), std::string::npos) << messages();
}

TEST_F(ImportTest, SparseInitializersOfABranchHideThoseAround) {
  input("x", {2});
  floats("w", {2}, {100, 100});
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  auto& branching = node("If", {"yes"}, {"r"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& branch = graph_attr(branching, name);
    sparse(*branch.add_sparse_initializer(), "w", {2}, {5}, {1});
    onnx::NodeProto& sum = *branch.add_node();
    sum.set_op_type("Add");
    for (const char* operand : {"x", "w"}) sum.add_input(operand);
    sum.add_output("s");
    branch.add_output()->set_name("s");
  }
  node("Add", {"r", "w"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{101, 107}));
}

// Faults: a message that names the file and the node, never a crash.

TEST_F(ImportTest, UnknownOperatorsAreNamedOnceWithANearOne) {
  input("x", {2});
  node("Rellu", {"x"}, {"a"}).set_name("act1");
  node("Rellu", {"a"}, {"b"}).set_name("act2");
  node("Foo", {"x"}, {"y"}).set_domain("com.example");
  output("b");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("m.onnx: node 'act1' (Rellu)"), std::string::npos) << messages();
  EXPECT_NE(messages().find("did you mean `Relu`?"), std::string::npos) << messages();
  EXPECT_NE(messages().find("domain `com.example`"), std::string::npos) << messages();
  EXPECT_EQ(diags_.error_count(), 2u);
}

TEST_F(ImportTest, ControlFlowIsRefused) {
  input("c", {}, TensorProto::BOOL);
  auto& branching = node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) graph_attr(branching, name).set_name(name);
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("node 'y' (If)"), std::string::npos) << messages();
  EXPECT_NE(messages().find("the condition of an If must be constant"), std::string::npos) << messages();
}

TEST_F(ImportTest, AnIfHasBothBranches) {
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  input("x", {2});
  graph_attr(node("If", {"yes"}, {"y"}), "then_branch").add_output()->set_name("x");
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("node 'y' (If): error: an If has a `then_branch` and an `else_branch`"), std::string::npos)
      << messages();
}

TEST_F(ImportTest, AttributesAreGivenOnce) {
  input("x", {2});
  auto& branching = node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::NodeProto& inner = *graph_attr(branching, name).add_node();
    inner.set_op_type("Softmax");
    inner.add_input("x");
    inner.add_output(name);
    for (int64_t axis : {0, 1}) attr(inner, "axis", axis);
  }
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_EQ(diags_.error_count(), 2u);
  EXPECT_NE(messages().find("node 'else_branch' (Softmax): error: attribute `axis` is given twice"), std::string::npos)
      << messages();
}

TEST_F(ImportTest, FaultsOfManyNodesAreReportedOnlyOfTheFirst) {
  for (int i = 0; i < 100; ++i) node("If", {"c"}, {fmt::format("y{}", i)});
  output("y0");
  EXPECT_FALSE(import_model());
  EXPECT_EQ(diags_.error_count(), 20u);
}

TEST_F(ImportTest, CyclesAndDoubleAndMissingDefinitions) {
  input("x", {2});
  node("Add", {"x", "b"}, {"a"});
  node("Relu", {"a"}, {"b"});
  output("b");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("cycle"), std::string::npos) << messages();

  graph().clear_node();
  node("Relu", {"x"}, {"b"});
  node("Neg", {"x"}, {"b"});
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("`b` is defined twice"), std::string::npos) << messages();

  graph().clear_node();
  node("Relu", {"xx"}, {"b"});
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("reads `xx`, which nothing defines"), std::string::npos) << messages();

  graph().clear_node();
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("output 'b'"), std::string::npos) << messages();
}

TEST_F(ImportTest, AbsurdTensorsAreRefusedWithoutAllocating) {
  input("x", {2});
  initializer("w", {int64_t{1} << 40, int64_t{1} << 40}, TensorProto::FLOAT).set_raw_data("abcd");
  node("Add", {"x", "w"}, {"y"});
  output("y");
  EXPECT_FALSE(import_model());
  graph().mutable_initializer(0)->clear_dims();
  graph().mutable_initializer(0)->add_dims(1 << 30);
  EXPECT_FALSE(import_model());
  graph().mutable_initializer(0)->clear_dims();
  graph().mutable_initializer(0)->add_dims(-1);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("initializer 'w'"), std::string::npos) << messages();
  EXPECT_EQ(diags_.error_count(), 3u);
}

TEST_F(ImportTest, SparseInitializersAreMadeDense) {
  input("x", {2, 3});
  auto& weights = *graph().add_sparse_initializer();
  sparse(weights, "w", {2, 3}, {5, 7}, {1, 5});
  auto& indices = *weights.mutable_indices();
  node("Mul", {"x", "w"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 10, 0, 0, 0, 42}));

  indices.add_dims(2);
  for (int64_t at : {1, 2}) indices.add_int64_data(at);
  indices.set_int64_data(0, 0);
  indices.set_int64_data(1, 1);  // [0, 1] and [1, 2]
  imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 10, 0, 0, 0, 42}));

  indices.set_int64_data(3, 3);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("value 1 of a sparse tensor lies outside of shape [2, 3]"), std::string::npos)
      << messages();
  weights.set_dims(0, int64_t{1} << 40);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("too large to be made dense"), std::string::npos) << messages();
}

TEST_F(ImportTest, ConstantsThatGiveNothing) {
  input("x", {1});
  attr(node("Constant", {}, {""}), "value_int", int64_t{1});
  node("Relu", {"x"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node_count(), 1u);
  attr(node("Constant", {}, {"s"}), "value_string", std::string("text"));
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("a Constant of strings (`value_string`) is not supported"), std::string::npos)
      << messages();
}

TEST_F(ImportTest, TheNewestOpsetsAreReadWithoutAWarning) {
  set_opset(28);
  input("x", {2});
  attr(node("Cast", {"x"}, {"c"}), "to", int64_t{TensorProto::DOUBLE});
  auto& back = node("Cast", {"c"}, {"y"});
  attr(back, "to", int64_t{TensorProto::FLOAT});
  attr(back, "round_mode", std::string("up"));
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(messages(), "");
  set_opset(29);
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("opset 29 is not supported: 1 to 28 are"), std::string::npos) << messages();
}

TEST_F(ImportTest, FlagsAreReducedSinceOpset20) {
  set_opset(20);
  input("x", {2, 2});
  floats("three", {}, {3});
  node("Less", {"three", "x"}, {"flags"});
  initializer("axes", {1}, TensorProto::INT64).add_int64_data(1);
  attr(node("ReduceMax", {"flags", "axes"}, {"any"}), "keepdims", int64_t{0});
  attr(node("Cast", {"any"}, {"y"}), "to", int64_t{TensorProto::FLOAT});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 1}));
}

// Found by fuzzing: an operand that is absent has the same name.
TEST_F(ImportTest, InitializersWithoutANameAreIgnored) {
  input("x", {2});
  floats("", {2}, {5, 5});
  *graph().add_sparse_initializer()->mutable_values() = graph().initializer(0);
  floats("most", {}, {1});
  node("Clip", {"x", "", "most"}, {"y"});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{1, 1}));
}

TEST_F(ImportTest, AmongNoFlagsNoneIsSetAndAllAre) {
  set_opset(20);
  input("x", {2, 0});
  floats("three", {}, {3});
  node("Less", {"three", "x"}, {"flags"});
  initializer("axes", {1}, TensorProto::INT64).add_int64_data(1);
  attr(node("ReduceMax", {"flags", "axes"}, {"any"}), "keepdims", int64_t{0});
  attr(node("ReduceMin", {"flags", "axes"}, {"all"}), "keepdims", int64_t{0});
  attr(node("Cast", {"any"}, {"any_number"}), "to", int64_t{TensorProto::FLOAT});
  attr(node("Cast", {"all"}, {"all_number"}), "to", int64_t{TensorProto::FLOAT});
  attr(node("Concat", {"any_number", "all_number"}, {"y"}), "axis", int64_t{0});
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(run(*imported), (std::vector<float>{0, 0, 1, 1}));
}

TEST_F(ImportTest, MissingAndForeignFiles) {
  EXPECT_FALSE(import_onnx(path("none.onnx"), diags_));
  write("model @m() -> () {}\n", "text.onnx");
  EXPECT_FALSE(import_onnx(path("text.onnx"), diags_));
  write("", "empty.onnx");
  EXPECT_FALSE(import_onnx(path("empty.onnx"), diags_));
  EXPECT_FALSE(import_onnx(folder_.string(), diags_));
  EXPECT_EQ(diags_.error_count(), 4u) << messages();
}

TEST_F(ImportTest, DamagedFilesNeverCrash) {
  input("x", {1, 2, 4, 4});
  floats("w", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6});
  attr(node("Conv", {"x", "w"}, {"c"}), "pads", std::vector<int64_t>{1, 1, 1, 1});
  node("Relu", {"c"}, {"r"});
  attr(node("Softmax", {"r"}, {"y"}), "axis", int64_t{1});
  output("y");
  ASSERT_TRUE(import_model()) << messages();
  std::string good = model_.SerializeAsString();
  for (size_t length = 0; length < good.size(); ++length) {
    write(good.substr(0, length));
    support::Diagnostics diags(sources_);
    auto imported = import_onnx(path(), diags);
    EXPECT_TRUE(imported || diags.has_errors()) << length;
  }
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    write(bad);
    support::Diagnostics diags(sources_);
    auto imported = import_onnx(path(), diags);
    EXPECT_TRUE(imported || diags.has_errors()) << round;
    if (imported) ir::verify(*imported);
  }
}

TEST(TensorProtoTest, WriteThenReadIsTheIdentity) {
  std::string path = ::testing::TempDir() + "/collage_tensor.pb";
  for (DType dtype : {DType::F32, DType::F64, DType::I8, DType::U8, DType::I16, DType::I32, DType::I64, DType::Bool}) {
    Tensor tensor(dtype, {2, 3});
    for (size_t i = 0; i < 6; ++i) tensor.data()[i * size_of(dtype)] = static_cast<std::byte>(i % 2);
    ASSERT_TRUE(write_tensor_pb(tensor, "t", path).is_ok());
    auto read = read_tensor_pb(path);
    ASSERT_TRUE(read.is_ok()) << read.message();
    EXPECT_TRUE(runtime::identical(tensor, *read)) << name_of(dtype);
  }
  std::filesystem::remove(path);
  EXPECT_FALSE(read_tensor_pb(path).is_ok());
}

}  // namespace
}  // namespace collage::import
