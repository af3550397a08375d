// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stages/dynamic_model.h"

#include <algorithm>

#include "compiler/driver/input/graph_ports.h"

namespace collage::driver {

using support::Code;

/// What was made for inputs of these types: a program, or stages.
struct DynamicModel::Version {
  std::vector<ir::TensorType> types;
  execution::ModelPorts ports{};
  std::unique_ptr<StageProgram> whole{};
  std::unique_ptr<StagedModel> staged{};
};

namespace {

std::vector<ir::TensorType> types_of(const std::vector<ir::Tensor>& tensors) {
  std::vector<ir::TensorType> types;
  for (const ir::Tensor& tensor : tensors) types.push_back({tensor.dtype(), tensor.shape()});
  return types;
}

size_t index_of(const std::vector<ir::OpenInput>& inputs, const std::string& name) {
  const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const auto& one) { return one.name == name; });
  return static_cast<size_t>(at - inputs.begin());
}

/// False after an error: what was specialised to these inputs takes others.
bool check_types(const execution::ModelPorts& ports, const std::vector<ir::OpenInput>& inputs,
                 const std::vector<ir::TensorType>& given, support::Diagnostics& diags) {
  for (const execution::Port& port : ports.inputs) {
    const ir::TensorType& type = given[index_of(inputs, port.name)];
    if (execution::TensorKind{type.dtype, type.shape} == port.kind) continue;
    return diags.error_at(Code::RunFailed, "input " + port.name, "is {}, need {}", ir::to_string(type),
                          execution::to_string(port.kind));
  }
  return true;
}

}  // namespace

DynamicModel::DynamicModel(std::unique_ptr<const ModelSource> source, StageSettings settings, size_t kept,
                           support::Diagnostics& diags)
    : source_(std::move(source)), settings_(std::move(settings)), kept_(std::max<size_t>(kept, 1)), diags_(diags) {}

DynamicModel::~DynamicModel() = default;

std::unique_ptr<DynamicModel::Version> DynamicModel::make_version(const std::vector<ir::Tensor>& inputs) {
  Specialisation to;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = this->inputs()[i].name;
    std::vector<ir::SizeRange> sizes;
    for (const int64_t size : inputs[i].shape()) sizes.push_back({size, size});
    to.bindings.push_back({name, std::move(sizes), "input " + name, true, false});
  }
  std::optional<Specialised> made = source_->specialise(to, diags_);
  if (!made) return nullptr;
  auto version = std::make_unique<Version>(Version{types_of(inputs)});
  version->ports = ports_of(made->whole ? made->whole->model.graph : made->first->graph);
  if (!check_types(version->ports, this->inputs(), version->types, diags_)) return nullptr;
  if (made->whole) {
    StageSettings settings = settings_;
    settings.compiles_little = true;
    version->whole = StageProgram::make(std::move(made->whole->model.graph), false, settings, diags_);
    if (version->whole == nullptr) return nullptr;
  } else {
    version->staged =
        std::make_unique<StagedModel>(source_->onnx(), *made->first, std::move(made->bound), settings_, kept_, diags_);
    version->ports = version->staged->ports();
  }
  ++made_;
  return version;
}

DynamicModel::Version* DynamicModel::version_for(const std::vector<ir::Tensor>& inputs) {
  const std::vector<ir::TensorType> types = types_of(inputs);
  const auto known =
      std::find_if(versions_.begin(), versions_.end(), [&](const auto& version) { return version->types == types; });
  if (known != versions_.end()) {
    versions_.splice(versions_.begin(), versions_, known);
    return versions_.front().get();
  }
  std::unique_ptr<Version> made = make_version(inputs);
  if (made == nullptr) return nullptr;
  versions_.push_front(std::move(made));
  if (versions_.size() > kept_) versions_.pop_back();
  return versions_.front().get();
}

std::optional<std::vector<DynamicModel::Output>> DynamicModel::run(const std::vector<ir::Tensor>& inputs) {
  if (inputs.size() != this->inputs().size()) {
    return diags_.error_at(Code::RunFailed, source_->path().string(), "takes {} inputs, not {}", this->inputs().size(),
                           inputs.size());
  }
  const Version* version = version_for(inputs);
  if (version == nullptr) return std::nullopt;
  std::vector<ir::Tensor> ordered;
  for (const execution::Port& port : version->ports.inputs)
    ordered.push_back(inputs[index_of(this->inputs(), port.name)]);
  auto results = version->whole != nullptr ? version->whole->run(ordered) : version->staged->run(ordered);
  if (!results) return diags_.error_at(Code::RunFailed, source_->path().string(), "{}", results.message());
  std::vector<Output> outputs;
  for (size_t i = 0; i < results->size(); ++i) {
    const execution::Port& port = version->ports.outputs[i];
    outputs.push_back({port.alias.empty() ? port.name : port.alias, std::move((*results)[i])});
  }
  return outputs;
}

}  // namespace collage::driver
