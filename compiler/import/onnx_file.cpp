// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "compiler/import/attribute_kinds.h"
#include "compiler/import/functions.h"
#include "compiler/import/names.h"
#include "compiler/import/node_checks.h"
#include "compiler/import/own_names.h"
#include "compiler/import/proto.h"
#include "compiler/import/sparse.h"
#include "compiler/ir/analysis/value_tests.h"

namespace collage::import {

using support::Code;

namespace {

template <typename Nodes>
bool tests_any(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
    const bool is_of_one_value = node.input_size() == 2 && node.input(0) == node.input(1);
    const ir::OwnTests tests = ir::tests_of_operator(node.op_type(), is_of_one_value);
    if (tests.for_nan || tests.for_inf) return true;
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
      return attribute.has_g() && tests_any(attribute.g().node());
    });
  });
}

}  // namespace

std::shared_ptr<const OnnxFile> OnnxFile::read(const std::string& path, support::FileAccess access,
                                               support::Diagnostics& diags) {
  auto proto = std::make_unique<onnx::ModelProto>();
  const std::optional<std::string_view> in_memory = diags.sources().stand_in(path);
  runtime::Status status = in_memory ? parse_bytes(*in_memory, *proto) : parse_file(path, *proto);
  if (!status) diags.error_at(Code::CannotRead, path, "{}", status.message());
  if (status && !proto->has_graph()) diags.error_at(Code::BadModel, path, "holds no ONNX model");
  if (!status || !proto->has_graph()) return nullptr;
  std::shared_ptr<OnnxFile> file(new OnnxFile());
  file->path_ = path;
  file->folder_ = std::filesystem::path(path).parent_path().string();
  file->access_ = std::move(access);
  if (!check_nodes(*proto, path, diags)) return nullptr;
  make_names_visible(*proto->mutable_graph());
  give_own_names(*proto->mutable_graph());
  file->proto_ = std::move(proto);
  return file;
}

OnnxFile::~OnnxFile() = default;

GraphRef OnnxFile::graph() const {
  return &proto_->graph();
}

std::vector<ir::OpenInput> OnnxFile::inputs(bool have_default) const {
  std::set<std::string> defaults;
  for (const auto& initializer : proto_->graph().initializer()) defaults.insert(initializer.name());
  for (const auto& sparse : proto_->graph().sparse_initializer()) defaults.insert(sparse.values().name());
  std::vector<ir::OpenInput> inputs = open_inputs(proto_->graph());
  std::erase_if(inputs, [&](const ir::OpenInput& input) { return defaults.contains(input.name) != have_default; });
  return inputs;
}

std::vector<std::string> OnnxFile::input_names(GraphRef graph) const {
  std::vector<std::string> names;
  for (const auto& input : graph->input()) names.push_back(input.name());
  return names;
}

std::vector<std::string> OnnxFile::output_names(GraphRef graph) const {
  std::vector<std::string> names;
  for (const auto& output : graph->output()) names.push_back(output.name());
  return names;
}

size_t OnnxFile::node_count(GraphRef graph) const {
  return static_cast<size_t>(graph->node_size());
}

bool OnnxFile::tests_special_values() const {
  if (tests_any(proto_->graph().node())) return true;
  return std::any_of(proto_->functions().begin(), proto_->functions().end(),
                     [](const onnx::FunctionProto& function) { return tests_any(function.node()); });
}

std::optional<ir::TensorType> OnnxFile::output_type(GraphRef graph, size_t index) const {
  if (index >= static_cast<size_t>(graph->output_size())) return std::nullopt;
  const auto& type = graph->output(static_cast<int>(index)).type();
  if (!type.has_tensor_type()) return std::nullopt;
  std::optional<runtime::DType> dtype = dtype_of(type.tensor_type().elem_type());
  if (!dtype) return std::nullopt;
  ir::TensorType declared{*dtype, {}};
  for (const auto& dim : type.tensor_type().shape().dim())
    declared.shape.push_back(std::max<int64_t>(dim.dim_value(), 0));
  return declared;
}

int64_t OnnxFile::opset() const {
  for (const auto& import : proto_->opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return 0;
}

void OnnxFile::add_names(GraphRef graph, int index, std::set<std::string>& reads,
                         std::set<std::string>& results) const {
  const onnx::NodeProto& node = graph->node(index);
  for (const std::string& name : names_read(node)) reads.insert(name);
  results.insert(node.output().begin(), node.output().end());
}

runtime::Result<NodeView> OnnxFile::node(GraphRef graph, int index) const {
  const onnx::NodeProto& node = graph->node(index);
  NodeView view;
  view.op = node.op_type();
  view.domain = domain_of(node.domain());
  view.where = place_of(node, path_);
  view.inputs.assign(node.input().begin(), node.input().end());
  view.outputs.assign(node.output().begin(), node.output().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      view.bodies.emplace(attribute.name(), &attribute.g());
      continue;
    }
    if (attribute.has_tp()) continue;
    runtime::Result<runtime::AttrValue> value = attribute_of(attribute, {folder_, &access_});
    if (!value) return value.status();
    view.attrs.set(attribute.name(), std::move(*value));
  }
  if (view.domain.empty()) {
    if (auto problem = fit_foreign_attributes(view.op, view.attrs)) return runtime::Status::error(*problem);
  }
  return view;
}

runtime::Result<const ir::Tensor*> OnnxFile::initializer(GraphRef graph, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  auto [known, is_new] = initializers_.try_emplace(graph);
  if (is_new) {
    for (const auto& tensor : graph->initializer()) known->second.emplace(tensor.name(), Initializer{&tensor});
    for (const auto& tensor : graph->sparse_initializer())
      known->second.emplace(tensor.values().name(), Initializer{nullptr, &tensor});
  }
  auto found = known->second.find(name);
  if (found == known->second.end()) return static_cast<const ir::Tensor*>(nullptr);
  Initializer& initializer = found->second;
  if (!initializer.made) {
    const ExternalData external{folder_, &access_};
    runtime::Result<ir::Tensor> tensor = initializer.dense != nullptr ? tensor_of(*initializer.dense, external)
                                                                      : dense_tensor_of(*initializer.sparse, external);
    if (!tensor) return tensor.status();
    initializer.made = std::move(*tensor);
  }
  return static_cast<const ir::Tensor*>(&*initializer.made);
}

std::vector<ir::OpenInput> open_inputs(const onnx::GraphProto& graph) {
  std::vector<ir::OpenInput> inputs;
  for (const auto& input : graph.input()) {
    if (!input.type().has_tensor_type()) continue;
    ir::OpenInput open{input.name(), std::nullopt};
    const auto& type = input.type().tensor_type();
    if (type.has_shape()) {
      open.dims.emplace();
      for (const auto& dim : type.shape().dim()) {
        const bool has_size = dim.has_dim_value() && dim.dim_value() >= 0;
        open.dims->push_back({has_size ? dim.dim_value() : -1, dim.dim_param()});
      }
    }
    inputs.push_back(std::move(open));
  }
  return inputs;
}

}  // namespace collage::import
