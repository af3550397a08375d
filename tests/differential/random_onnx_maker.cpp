// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of a growing ONNX model: names, initializers, outputs.
#include <cstring>
#include <set>

#include "tests/differential/random_onnx.h"

namespace collage::testing {

int64_t element_count(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

namespace {

void set_type(onnx::ValueInfoProto& info, const Dims& dims) {
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  auto& shape = *type.mutable_shape();
  for (int64_t dim : dims) shape.add_dim()->set_dim_value(dim);
}

}  // namespace

OnnxMaker::OnnxMaker(uint64_t seed) : random(seed * 2 + 1), opset(static_cast<int>(random.in(9, 17))) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  model_.mutable_graph()->set_name("random_" + std::to_string(seed));
}

OnnxValue OnnxMaker::add_input(const Dims& dims) {
  OnnxValue value{fresh("x"), dims, true};
  auto& info = *model_.mutable_graph()->add_input();
  info.set_name(value.name);
  set_type(info, dims);
  keep(value);
  return value;
}

void OnnxMaker::keep(const OnnxValue& value) {
  auto& info = *model_.mutable_graph()->add_value_info();
  info.set_name(value.name);
  set_type(info, value.dims);
  values_.push_back(value);
}

std::vector<OnnxValue> OnnxMaker::add(const std::string& op, const std::vector<std::string>& inputs,
                                      const std::vector<Dims>& outputs) {
  auto& node = *model_.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_name(fresh(op + "_"));
  for (const std::string& input : inputs) node.add_input(input);
  std::vector<OnnxValue> results;
  for (const Dims& dims : outputs) {
    results.push_back({fresh("v"), dims, false});
    node.add_output(results.back().name);
  }
  return results;
}

OnnxValue OnnxMaker::add1(const std::string& op, const std::vector<std::string>& inputs, const Dims& dims) {
  return add(op, inputs, {dims})[0];
}

onnx::AttributeProto* OnnxMaker::attribute(const std::string& name) {
  auto& graph = *model_.mutable_graph();
  auto* made = graph.mutable_node(graph.node_size() - 1)->add_attribute();
  made->set_name(name);
  return made;
}

OnnxMaker& OnnxMaker::set(const std::string& name, int64_t value) {
  auto* made = attribute(name);
  made->set_type(onnx::AttributeProto::INT);
  made->set_i(value);
  return *this;
}

OnnxMaker& OnnxMaker::set(const std::string& name, float value) {
  auto* made = attribute(name);
  made->set_type(onnx::AttributeProto::FLOAT);
  made->set_f(value);
  return *this;
}

OnnxMaker& OnnxMaker::set(const std::string& name, const std::string& value) {
  auto* made = attribute(name);
  made->set_type(onnx::AttributeProto::STRING);
  made->set_s(value);
  return *this;
}

OnnxMaker& OnnxMaker::set(const std::string& name, const Dims& values) {
  auto* made = attribute(name);
  made->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) made->add_ints(value);
  return *this;
}

OnnxMaker& OnnxMaker::set_floats(const std::string& name, const std::vector<float>& values) {
  auto* made = attribute(name);
  made->set_type(onnx::AttributeProto::FLOATS);
  for (float value : values) made->add_floats(value);
  return *this;
}

std::string OnnxMaker::weights(const Dims& dims, float scale, float shift) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("w"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : dims) tensor.add_dims(dim);
  std::vector<float> elements(static_cast<size_t>(element_count(dims)));
  for (float& element : elements) element = random.unit() * scale + shift;
  if (random.chance(50)) {
    tensor.set_raw_data(elements.data(), elements.size() * sizeof(float));
  } else {
    for (float element : elements) tensor.add_float_data(element);
  }
  return tensor.name();
}

std::string OnnxMaker::scalar(float value) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("s"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return tensor.name();
}

std::string OnnxMaker::floats(const std::vector<float>& values) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("f"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (float value : values) tensor.add_float_data(value);
  return tensor.name();
}

std::string OnnxMaker::ints(const Dims& values) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("i"));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (int64_t value : values) tensor.add_int64_data(value);
  return tensor.name();
}

std::string OnnxMaker::integer(int64_t value) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("i"));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_int64_data(value);
  return tensor.name();
}

std::string OnnxMaker::small_ints(onnx::TensorProto::DataType type, const Dims& dims, int64_t low, int64_t high) {
  auto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(fresh("q"));
  tensor.set_data_type(type);
  for (int64_t dim : dims) tensor.add_dims(dim);
  bool is_raw = type != onnx::TensorProto::INT32 && random.chance(50);
  for (int64_t i = 0; i < element_count(dims); ++i) {
    int64_t value = random.in(low, high);
    if (is_raw) {
      tensor.mutable_raw_data()->push_back(static_cast<char>(value));
    } else {
      tensor.add_int32_data(static_cast<int32_t>(value));
    }
  }
  return tensor.name();
}

std::optional<OnnxValue> OnnxMaker::pick(int low, int high, bool exact_only) {
  std::vector<const OnnxValue*> fitting;
  for (const OnnxValue& value : values_) {
    int rank = static_cast<int>(value.dims.size());
    if (rank >= low && rank <= high && (value.is_exact || !exact_only)) fitting.push_back(&value);
  }
  if (fitting.empty()) return std::nullopt;
  // The newest are preferred: deep graphs find more than wide ones.
  return random.chance(60) ? *fitting.back() : *random.pick(fitting);
}

onnx::ModelProto OnnxMaker::finish() {
  auto& graph = *model_.mutable_graph();
  std::set<std::string> read, inputs;
  for (const auto& node : graph.node()) read.insert(node.input().begin(), node.input().end());
  for (const auto& input : graph.input()) inputs.insert(input.name());
  for (const OnnxValue& value : values_) {
    if (inputs.count(value.name) != 0 || (read.count(value.name) != 0 && !random.chance(8))) continue;
    auto& output = *graph.add_output();
    output.set_name(value.name);
    set_type(output, value.dims);
  }
  return model_;
}

}  // namespace collage::testing
