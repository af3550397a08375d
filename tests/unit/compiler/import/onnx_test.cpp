// SPDX-License-Identifier: Apache-2.0
// The ONNX importer on models made here: what becomes of names, constants, opsets and faults.
#include "compiler/import/onnx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "compiler/import/tensor_proto.h"
#include "compiler/ir/evaluate.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/verify.h"

namespace collage::import {
namespace {

using onnx::TensorProto;
using runtime::DType;
using runtime::Shape;
using runtime::Tensor;

class ImportTest : public ::testing::Test {
 protected:
  ImportTest() : diags_(sources_) {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("collage_import_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    model_.set_ir_version(8);
    graph().set_name("m");
    set_opset(17);
  }
  ~ImportTest() override { std::filesystem::remove_all(folder_); }

  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  void set_opset(int version) {
    model_.clear_opset_import();
    model_.add_opset_import()->set_version(version);
  }

  void type(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape, int element) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(element);
    tensor.mutable_shape();
    for (int64_t dim : shape) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  void input(const std::string& name, const Shape& shape, int element = TensorProto::FLOAT) {
    type(*graph().add_input(), name, shape, element);
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }

  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    onnx::NodeProto& added = *graph().add_node();
    added.set_op_type(op);
    for (const auto& name : inputs) added.add_input(name);
    for (const auto& name : outputs) added.add_output(name);
    return added;
  }
  static void attr(onnx::NodeProto& node, const std::string& name, int64_t value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  static void attr(onnx::NodeProto& node, const std::string& name, float value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
  }
  static void attr(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (int64_t value : values) attribute.add_ints(value);
  }
  TensorProto& initializer(const std::string& name, const Shape& shape, int element) {
    TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(element);
    for (int64_t dim : shape) tensor.add_dims(dim);
    return tensor;
  }
  void floats(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    TensorProto& tensor = initializer(name, shape, TensorProto::FLOAT);
    for (float value : values) tensor.add_float_data(value);
  }

  std::string path(const std::string& name = "m.onnx") const { return (folder_ / name).string(); }
  void write(const std::string& bytes, const std::string& name = "m.onnx") const {
    // A new file each time: file systems flush one that is truncated, which is slow a thousand times over.
    std::filesystem::remove(path(name));
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::optional<ir::Graph> import_model(const OnnxOptions& options = {}) {
    write(model_.SerializeAsString());
    std::optional<ir::Graph> imported = import_onnx(path(), diags_, options);
    if (imported) ir::verify(*imported);
    return imported;
  }
  /// The model's only output for `x` = 1, 2, 3, … of its declared shape.
  std::vector<float> run(const ir::Graph& imported) {
    std::vector<Tensor> inputs;
    for (ir::ValueId id : imported.inputs()) {
      Tensor tensor(imported.value(id).type.dtype, imported.value(id).type.shape);
      for (int64_t i = 0; i < tensor.count(); ++i)
        tensor.as<float>()[static_cast<size_t>(i)] = static_cast<float>(i + 1);
      inputs.push_back(tensor);
    }
    auto outputs = ir::evaluate_graph(imported, inputs);
    EXPECT_TRUE(outputs.is_ok()) << (outputs.is_ok() ? "" : outputs.message());
    if (!outputs) return {};
    auto values = (*outputs)[0].as<float>();
    return {values.begin(), values.end()};
  }
  std::string messages() const { return diags_.render(); }

  support::SourceManager sources_;
  support::Diagnostics diags_;
  onnx::ModelProto model_;
  std::filesystem::path folder_;
};

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

TEST_F(ImportTest, FloatAttributesAreTheirShortestDecimal) {
  input("x", {1, 1, 2});
  floats("one", {1}, {1});
  attr(node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"y"}), "epsilon", 1e-5f);
  output("y");
  auto imported = import_model();
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->node(ir::NodeId(0)).attrs.get_float("epsilon", 0), 1e-5);
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
  four.input_shapes["x"] = {4, 3};
  imported = import_model(four);
  ASSERT_TRUE(imported) << messages();
  EXPECT_EQ(imported->value(imported->inputs()[0]).type.shape, (Shape{4, 3}));

  four.input_shapes["x"] = {4, 5};
  EXPECT_FALSE(import_model(four));
  EXPECT_NE(messages().find("dimension 1 is 3, but 5 was given"), std::string::npos) << messages();
  four.input_shapes = {{"z", {1}}};
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
  auto add_branch = [&branching](const std::string& name) -> onnx::GraphProto& {
    auto& attribute = *branching.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    return *attribute.mutable_g();
  };
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
    for (const char* name : {"else_branch", "then_branch"}) {
      auto& attribute = *branching.add_attribute();
      attribute.set_name(name);
      attribute.set_type(onnx::AttributeProto::GRAPH);
      attribute.mutable_g()->set_name(name);
    }
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
  EXPECT_NE(messages().find("its branch defines `r` twice"), std::string::npos) << messages();
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
  auto& branch = *node("If", {"c"}, {"y"}).add_attribute();
  branch.set_name("then_branch");
  branch.set_type(onnx::AttributeProto::GRAPH);
  branch.mutable_g()->set_name("g");
  output("y");
  EXPECT_FALSE(import_model());
  EXPECT_NE(messages().find("node 'y' (If)"), std::string::npos) << messages();
  EXPECT_NE(messages().find("the condition of an If must be constant"), std::string::npos) << messages();
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
