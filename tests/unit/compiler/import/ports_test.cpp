// SPDX-License-Identifier: Apache-2.0
// Outputs that are listed several times, and inputs that have a default.
#include "tests/unit/compiler/import/import_test.h"

namespace collage::import {
namespace {

using Row = std::vector<float>;

class PortsTest : public ImportTest {
 protected:
  /// The elements of all outputs for x = 1, 2.
  std::vector<Row> results(const OnnxOptions& options = {}) {
    auto imported = import_model(options);
    EXPECT_TRUE(imported) << messages();
    if (!imported) return {};
    Tensor x(DType::F32, {2});
    x.as<float>()[0] = 1;
    x.as<float>()[1] = 2;
    auto outputs = ir::evaluate_graph(*imported, {x});
    EXPECT_TRUE(outputs.is_ok()) << outputs.message();
    std::vector<Row> all;
    names_.clear();
    for (ir::ValueId id : imported->outputs()) names_.push_back(imported->value(id).name);
    for (size_t i = 0; outputs && i < outputs->size(); ++i)
      all.emplace_back((*outputs)[i].as<float>().begin(), (*outputs)[i].as<float>().end());
    return all;
  }
  static Tensor pair(float first, float second) {
    Tensor tensor(DType::F32, {2});
    tensor.as<float>()[0] = first;
    tensor.as<float>()[1] = second;
    return tensor;
  }
  std::vector<std::string> names_;  ///< of the outputs
};

TEST_F(PortsTest, AnOutputMayBeListedSeveralTimes) {
  input("x", {2});
  node("Neg", {"x"}, {"y"});
  for (const char* name : {"y", "x", "y", "y", "x"}) output(name);
  EXPECT_EQ(results(), (std::vector<Row>{{-1, -2}, {1, 2}, {-1, -2}, {-1, -2}, {1, 2}}));
  EXPECT_EQ(names_, (std::vector<std::string>{"y", "x.1", "y.1", "y.2", "x.2"}));
}

TEST_F(PortsTest, AConstantMayBeListedSeveralTimes) {
  input("x", {2});
  floats("w", {2}, {3, 4});
  node("Add", {"x", "w"}, {"y"});
  for (const char* name : {"w", "y", "w"}) output(name);
  EXPECT_EQ(results(), (std::vector<Row>{{3, 4}, {4, 6}, {3, 4}}));
}

TEST_F(PortsTest, AnInitializerThatIsAnInputIsADefault) {
  input("x", {2});
  input("w", {2});
  floats("w", {2}, {3, 4});
  node("Mul", {"x", "w"}, {"y"});
  output("y");
  EXPECT_EQ(results(), (std::vector<Row>{{3, 8}}));
  OnnxOptions options;
  options.bound_inputs["w"] = pair(10, 100);
  EXPECT_EQ(results(options), (std::vector<Row>{{10, 200}}));
  auto file = OnnxFile::read(path(), {}, diags_);
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(file->inputs().size(), 1u);
  EXPECT_EQ(file->inputs()[0].name, "x");
  ASSERT_EQ(file->inputs_with_default().size(), 1u);
  EXPECT_EQ(file->inputs_with_default()[0].name, "w");
}

// A default may decide shapes, and so may what replaces it.
TEST_F(PortsTest, ADefaultDecidesAShape) {
  input("x", {2});
  input("times", {1}, TensorProto::INT64);
  initializer("times", {1}, TensorProto::INT64).add_int64_data(2);
  node("Tile", {"x", "times"}, {"y"});
  output("y");
  EXPECT_EQ(results(), (std::vector<Row>{{1, 2, 1, 2}}));
  OnnxOptions options;
  options.bound_inputs["times"] = Tensor(DType::I64, {1});
  options.bound_inputs["times"].as<int64_t>()[0] = 1;
  EXPECT_EQ(results(options), (std::vector<Row>{{1, 2}}));
}

// What a body calls by the name of a default is its own.
TEST_F(PortsTest, ABodyHidesADefault) {
  input("x", {2});
  input("w", {2});
  floats("w", {2}, {3, 4});
  initializer("yes", {}, TensorProto::BOOL).add_int32_data(1);
  auto& branching = node("If", {"yes"}, {"b"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::GraphProto& branch = graph_attr(branching, name);
    TensorProto& own = *branch.add_initializer();
    own.set_name("w");
    own.set_data_type(TensorProto::FLOAT);
    own.add_float_data(5);
    onnx::NodeProto& product = *branch.add_node();
    product.set_op_type("Mul");
    product.add_input("x");
    product.add_input("w");
    product.add_output("p");
    branch.add_output()->set_name("p");
  }
  node("Add", {"b", "w"}, {"y"});
  output("y");
  OnnxOptions options;
  options.bound_inputs["w"] = pair(100, 200);
  EXPECT_EQ(results(options), (std::vector<Row>{{105, 210}}));
}

}  // namespace
}  // namespace collage::import
