// SPDX-License-Identifier: Apache-2.0
// Models of ONNX as protobuf text, opened to be run in stages: what tests of stages start from.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/request/model_source.h"
#include "compiler/stages/staged_model.h"

namespace collage::stages {

using ir::DType;
using ir::Shape;
using ir::Tensor;
using Tensors = std::vector<Tensor>;

template <typename T>
Tensor tensor(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor made(dtype, shape);
  std::copy(values.begin(), values.end(), made.as<T>().begin());
  return made;
}
inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  return tensor(DType::F32, shape, values);
}
inline Tensor ints(const Shape& shape, const std::vector<int64_t>& values) {
  return tensor(DType::I64, shape, values);
}
inline Tensor boolean(bool value) {
  return tensor<uint8_t>(DType::Bool, {}, {static_cast<uint8_t>(value)});
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.as<T>().begin(), tensor.as<T>().end()};
}

class Staged : public ::testing::Test {
 protected:
  Staged() {
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(::testing::TempDir()) / ("collage_stages_" + name);
    std::filesystem::create_directories(folder_);
  }
  ~Staged() override { std::filesystem::remove_all(folder_); }

  /// `graph`: the fields of a GraphProto; `functions`: further fields of the ModelProto.
  std::unique_ptr<StagedModel> open(const std::string& graph, const request::Specialisation& to = {}, size_t kept = 64,
                                    const std::string& functions = "") {
    onnx::ModelProto proto;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(functions, &proto));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(graph, proto.mutable_graph()));
    proto.mutable_graph()->set_name("m");
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(17);
    const std::string path = (folder_ / "m.onnx").string();
    std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
    source_ = request::ModelSource::open(path, {}, sources_, diags_);
    if (source_ == nullptr) return nullptr;
    made_ = source_->specialise(to, diags_);
    if (!made_ || !made_->first) return nullptr;
    return std::make_unique<StagedModel>(source_->onnx(), *made_->first, made_->bound, settings(), kept, diags_);
  }

  StageSettings settings() const {
    StageSettings settings{folder_ / "m.onnx", std::make_shared<const request::RuleFiles>(), {}};
    settings.settings.cache = "";
    settings.settings.costs.mode = request::CostMode::Estimate;
    settings.checks = true;
    return settings;
  }

  Tensors run(StagedModel& model, const Tensors& inputs) {
    auto outputs = model.run(inputs);
    EXPECT_TRUE(outputs.is_ok()) << (outputs.is_ok() ? "" : outputs.message()) << diags_.render();
    return outputs ? *outputs : Tensors();
  }

  std::filesystem::path folder_;
  support::SourceManager sources_;
  support::Diagnostics diags_{sources_};
  std::unique_ptr<request::ModelSource> source_;
  std::optional<request::Specialised> made_;
};

/// `name: "x" type { … }` of a port.
inline std::string port(const std::string& name, int element, const std::vector<std::string>& dims) {
  std::string shape;
  for (const std::string& dim : dims) {
    const bool is_size = dim.find_first_not_of("0123456789") == std::string::npos;
    shape += is_size ? "dim { dim_value: " + dim + " } " : "dim { dim_param: \"" + dim + "\" } ";
  }
  return "name: \"" + name + "\" type { tensor_type { elem_type: " + std::to_string(element) + " shape { " + shape +
         "} } }";
}
inline std::string input(const std::string& name, int element, const std::vector<std::string>& dims) {
  return "input { " + port(name, element, dims) + " }\n";
}
inline std::string output(const std::string& name) {
  return "output { name: \"" + name + "\" }\n";
}
inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& attributes = "") {
  std::string text = "node { op_type: \"" + op + "\" ";
  for (const std::string& name : inputs) text += "input: \"" + name + "\" ";
  for (const std::string& name : outputs) text += "output: \"" + name + "\" ";
  return text + attributes + " }\n";
}
inline std::string body(const std::string& name, const std::string& graph) {
  return "attribute { name: \"" + name + "\" type: GRAPH g { name: \"" + name + "\" " + graph + " } } ";
}
inline std::string number(const std::string& name, int64_t value) {
  return "attribute { name: \"" + name + "\" type: INT i: " + std::to_string(value) + " } ";
}
inline std::string int_constant(const std::string& name, const std::vector<int64_t>& values) {
  std::string text = "initializer { name: \"" + name + "\" data_type: 7 dims: " + std::to_string(values.size()) + " ";
  for (int64_t value : values) text += "int64_data: " + std::to_string(value) + " ";
  return text + "}\n";
}

/// A call of a function of the model.
inline std::string call(const std::string& name, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
  return node(name, inputs, outputs, "domain: \"local\"");
}
/// A function, among the fields of a ModelProto.
inline std::string function(const std::string& name, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const std::string& nodes) {
  std::string text = "functions { domain: \"local\" name: \"" + name + "\" opset_import { version: 17 } ";
  for (const std::string& one : inputs) text += "input: \"" + one + "\" ";
  for (const std::string& one : outputs) text += "output: \"" + one + "\" ";
  return text + nodes + " }\n";
}

inline constexpr int kFloat = onnx::TensorProto::FLOAT;
inline constexpr int kInt = onnx::TensorProto::INT64;
inline constexpr int kBool = onnx::TensorProto::BOOL;

}  // namespace collage::stages
