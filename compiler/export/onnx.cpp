// SPDX-License-Identifier: Apache-2.0
// Writes the model in ONNX's order: header, initializers, nodes, ports, types of the values in between.
#include "compiler/export/onnx.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <array>

#include "compiler/export/decompose.h"
#include "compiler/import/proto.h"
#include "compiler/import/upgrade.h"
#include "compiler/ir/ops/op_def.h"
#include "include/collage/version.h"

namespace collage::exporter {
namespace {

using runtime::Status;

/// The version of ONNX's file format that belongs to opset 17.
constexpr int kIrVersion = 8;

/// Constants up to this size stay in the model even if the others do not: readers need those that determine shapes.
constexpr size_t kSmallBytes = 1024;

/// Alignment of tensors in the data file: readers map it into memory by the page.
constexpr size_t kPage = 4096;
constexpr std::array<char, kPage> kPadding{};

void set_type(onnx::ValueInfoProto& info, const ir::Value& value) {
  info.set_name(value.name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(import::element_of(value.type.dtype));
  tensor.mutable_shape();  // a scalar has a shape too, without dimensions
  for (int64_t dim : value.type.shape) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

/// ONNX's schema determines the kind: an int is accepted as a float. Returns false if `value` is of another kind.
bool set_attribute(onnx::AttributeProto& proto, onnx::AttributeProto::AttributeType kind,
                   const runtime::AttrValue& value) {
  proto.set_type(kind);
  const auto* number = std::get_if<int64_t>(&value);
  switch (kind) {
    case onnx::AttributeProto::INT:
      if (number != nullptr) proto.set_i(*number);
      return number != nullptr;
    case onnx::AttributeProto::FLOAT: {
      const auto* real = std::get_if<double>(&value);
      if (number != nullptr) proto.set_f(static_cast<float>(*number));
      if (real != nullptr) proto.set_f(static_cast<float>(*real));
      return number != nullptr || real != nullptr;
    }
    case onnx::AttributeProto::STRING: {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr) proto.set_s(*text);
      return text != nullptr;
    }
    case onnx::AttributeProto::INTS: {
      const auto* numbers = std::get_if<runtime::Ints>(&value);
      if (numbers != nullptr) proto.mutable_ints()->Add(numbers->begin(), numbers->end());
      return numbers != nullptr;
    }
    case onnx::AttributeProto::FLOATS: {
      const auto* numbers = std::get_if<runtime::Floats>(&value);
      if (numbers == nullptr) return false;
      for (double real : *numbers) proto.add_floats(static_cast<float>(real));
      return true;
    }
    case onnx::AttributeProto::STRINGS: {
      const auto* texts = std::get_if<runtime::Strings>(&value);
      if (texts != nullptr) proto.mutable_strings()->Add(texts->begin(), texts->end());
      return texts != nullptr;
    }
    case onnx::AttributeProto::TENSOR: {
      const auto* tensor = std::get_if<runtime::Tensor>(&value);
      if (tensor != nullptr) *proto.mutable_t() = import::proto_of(*tensor, proto.name());
      return tensor != nullptr;
    }
    default: return false;  // graphs and the like: no operator of ours has one
  }
}

/// What the node means that its operator got after opset 17, under the same attributes; empty: nothing.
std::string newer_form(const ir::Graph& graph, const ir::Node& node) {
  auto is_given = [&](size_t i) {
    return node.inputs.size() > i && node.inputs[i].is_valid() &&
           runtime::element_count(graph.value(node.inputs[i]).type.shape) > 0;
  };
  if (node.inputs.empty() || !node.inputs[0].is_valid()) return "";
  const ir::TensorType& x = graph.value(node.inputs[0]).type;
  const std::string_view op = node.op->name;
  if (op == "Resize" && is_given(2) && is_given(3)) return "scales beside sizes";
  if (op == "GridSample" && x.shape.size() != 4) return "an operand of rank " + std::to_string(x.shape.size());
  if (op == "Pad" && ir::attrs_of(node).string_of("mode") == "wrap") return "mode wrap";
  if ((op == "ReduceMax" || op == "ReduceMin") && x.dtype == ir::DType::Bool) return "bools";
  return "";
}

/// Returns a failure if opset 17 has no such operator, or not with these attributes.
Status set_node(onnx::NodeProto& proto, const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  proto.set_name(graph.node_name(id));
  proto.set_op_type(std::string(node.op->name));
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(proto.op_type(), import::kOpset, "");
  if (schema == nullptr) {
    return Status::error(fmt::format("node `{}`: opset {} has no `{}`", proto.name(), import::kOpset, node.op->name));
  }
  if (std::string form = newer_form(graph, node); !form.empty()) {
    return Status::error(
        fmt::format("node `{}`: `{}` of opset {} has no {}", proto.name(), node.op->name, import::kOpset, form));
  }
  auto name_of = [&graph](ir::ValueId value) { return value.is_valid() ? graph.value(value).name : ""; };
  for (ir::ValueId input : node.inputs) proto.add_input(name_of(input));
  for (ir::ValueId output : node.outputs) proto.add_output(name_of(output));
  for (const auto& [name, value] : node.attrs) {
    onnx::AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name(name);
    auto known = schema->attributes().find(name);
    if (known == schema->attributes().end() || !set_attribute(attribute, known->second.type, value)) {
      return Status::error(fmt::format("node `{}`: `{}` of opset {} has no such attribute `{}`", proto.name(),
                                       node.op->name, import::kOpset, name));
    }
  }
  return Status::ok();
}

bool is_written(const ir::Value& value) {
  return value.is_constant() && (!value.uses.empty() || value.is_output);
}

bool fits_inside(const ir::Graph& graph, uint64_t most_bytes) {
  uint64_t bytes = 0;
  for (ir::ValueId id : graph.value_ids()) {
    if (is_written(graph.value(id))) bytes += graph.value(id).constant->data.bytes();
  }
  return bytes <= most_bytes;
}

/// The tensors of one data file, each at the start of a page.
class DataFile {
 public:
  explicit DataFile(std::string name) : name_(std::move(name)) {}

  /// Returns a tensor that refers to its elements in the file.
  onnx::TensorProto add(const runtime::Tensor& tensor, const std::string& name) {
    if (size_t rest = size_ % kPage; rest != 0) append({kPadding.data(), kPage - rest});
    onnx::TensorProto proto = import::header_of(tensor, name);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    set(proto, "location", name_);
    set(proto, "offset", std::to_string(size_));
    set(proto, "length", std::to_string(tensor.bytes()));
    append({reinterpret_cast<const char*>(tensor.data()), tensor.bytes()});
    tensors_.push_back(tensor);
    return proto;
  }

  void move_to(OnnxModel& model) {
    model.data = std::move(pieces_);
    model.tensors = std::move(tensors_);
  }

 private:
  void append(std::span<const char> piece) {
    pieces_.push_back(piece);
    size_ += piece.size();
  }
  static void set(onnx::TensorProto& proto, const std::string& key, const std::string& value) {
    onnx::StringStringEntryProto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }

  std::string name_;
  uint64_t size_ = 0;
  std::vector<std::span<const char>> pieces_;
  std::vector<runtime::Tensor> tensors_;
};

/// Stores all constants inside the model if `file` is null.
void set_initializers(onnx::GraphProto& proto, const ir::Graph& graph, DataFile* file) {
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (!is_written(value)) continue;
    const runtime::Tensor& data = value.constant->data;
    bool is_outside = file != nullptr && data.bytes() > kSmallBytes;
    *proto.add_initializer() = is_outside ? file->add(data, value.name) : import::proto_of(data, value.name);
  }
}

/// The dtypes of quantisation came with later opsets than the one that is written.
Status check_dtypes(const ir::Graph& graph) {
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.type.dtype == runtime::DType::Bool || runtime::is_arithmetic(value.type.dtype)) continue;
    return Status::error(
        fmt::format("`{}` is {}, which opset {} does not have", value.name, name_of(value.type.dtype), import::kOpset));
  }
  return Status::ok();
}

Status set_model(onnx::ModelProto& model, const ir::Graph& graph, DataFile* file) {
  if (Status status = check_dtypes(graph); !status) return status;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("collage");
  model.set_producer_version(COLLAGE_VERSION);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(import::kOpset);
  onnx::GraphProto& proto = *model.mutable_graph();
  proto.set_name(graph.name);
  set_initializers(proto, graph, file);
  for (ir::ValueId id : graph.inputs()) set_type(*proto.add_input(), graph.value(id));
  for (ir::ValueId id : graph.outputs()) set_type(*proto.add_output(), graph.value(id));
  for (ir::NodeId id : graph.node_ids()) {
    if (Status status = set_node(*proto.add_node(), graph, id); !status) return status;
    for (ir::ValueId result : graph.node(id).outputs) {
      if (result.is_valid() && !graph.value(result).is_output) set_type(*proto.add_value_info(), graph.value(result));
    }
  }
  return Status::ok();
}

}  // namespace

runtime::Result<OnnxModel> export_onnx(const ir::Graph& graph, const OnnxOptions& options) {
  if (has_newer_ops(graph)) return export_onnx(decompose_newer_ops(graph), options);
  DataFile file(options.data_file);
  bool all_inside = fits_inside(graph, options.most_bytes_inside);
  onnx::ModelProto model;
  if (Status status = set_model(model, graph, all_inside ? nullptr : &file); !status) return status;
  OnnxModel result;
  if (!model.SerializeToString(&result.bytes)) return Status::error("the model is too large for protobuf");
  file.move_to(result);
  return result;
}

}  // namespace collage::exporter
