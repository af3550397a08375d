// SPDX-License-Identifier: Apache-2.0
// A model built in memory, written to a file and imported: what tests of the importer start from.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "compiler/import/onnx.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/verify.h"

namespace collage::import {

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
  /// A new, empty graph in an attribute of the node.
  static onnx::GraphProto& graph_attr(onnx::NodeProto& node, const std::string& name) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    return *attribute.mutable_g();
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
  static void attr(onnx::NodeProto& node, const std::string& name, const std::string& value) {
    auto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(value);
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

  /// `values` at `places` of the flat tensor; elsewhere 0.
  static void sparse(onnx::SparseTensorProto& tensor, const std::string& name, const Shape& shape,
                     const std::vector<float>& values, const std::vector<int64_t>& places) {
    TensorProto& given = *tensor.mutable_values();
    given.set_name(name);
    given.set_data_type(TensorProto::FLOAT);
    given.add_dims(static_cast<int64_t>(values.size()));
    for (float value : values) given.add_float_data(value);
    TensorProto& indices = *tensor.mutable_indices();
    indices.set_data_type(TensorProto::INT64);
    indices.add_dims(static_cast<int64_t>(places.size()));
    for (int64_t place : places) indices.add_int64_data(place);
    for (int64_t dim : shape) tensor.add_dims(dim);
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

}  // namespace collage::import
