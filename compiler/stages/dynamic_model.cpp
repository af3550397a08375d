// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/dynamic_model.h"

#include <algorithm>

#include "compiler/request/graph_ports.h"
#include "compiler/shapes/padded_sizes.h"

namespace collage::stages {

using support::Code;

/// What was made for inputs of these types: a program, or stages.
struct DynamicModel::Version {
  std::vector<ir::TensorType> types;
  runner::ModelPorts ports{};
  std::unique_ptr<StageProgram> whole{};
  std::unique_ptr<StagedModel> staged{};
};

namespace {

/// Answers of the proof that are kept; older ones are found again.
constexpr size_t kMostPaddings = 1024;

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
bool check_types(const runner::ModelPorts& ports, const std::vector<ir::OpenInput>& inputs,
                 const std::vector<ir::TensorType>& given, support::Diagnostics& diags) {
  for (const runner::Port& port : ports.inputs) {
    const ir::TensorType& type = given[index_of(inputs, port.name)];
    if (runner::TensorKind{type.dtype, type.shape} == port.kind) continue;
    return diags.error_at(Code::RunFailed, "input " + port.name, "is {}, need {}", ir::to_string(type),
                          runner::to_string(port.kind));
  }
  return true;
}

std::vector<ir::Shape> shapes_of(const std::vector<ir::Tensor>& tensors) {
  std::vector<ir::Shape> shapes;
  for (const ir::Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  return shapes;
}

/// Whether tensors have the sizes that the inputs fix.
bool have_fixed_sizes(const std::vector<ir::OpenInput>& inputs, const std::vector<ir::Tensor>& tensors) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].dims) continue;
    const ir::Shape& shape = tensors[i].shape();
    if (shape.size() != inputs[i].dims->size()) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      const ir::OpenDim& dim = (*inputs[i].dims)[d];
      if (!dim.is_open() && dim.size != shape[d]) return false;
    }
  }
  return true;
}

bool have_dtypes(const std::vector<ir::Tensor>& tensors, const std::vector<std::optional<ir::DType>>& dtypes) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (dtypes[i] && *dtypes[i] != tensors[i].dtype()) return false;
  }
  return true;
}

/// The bindings that inputs of these shapes are.
std::vector<ir::ShapeBinding> bindings_of_shapes(const std::vector<ir::OpenInput>& inputs,
                                                 const std::vector<ir::Shape>& shapes) {
  std::vector<ir::ShapeBinding> bindings;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<ir::SizeRange> sizes;
    for (const int64_t size : shapes[i]) sizes.push_back({size, size});
    bindings.push_back({inputs[i].name, std::move(sizes), "input " + inputs[i].name, true, false});
  }
  return bindings;
}

/// Calls `visit` with each input and axis that is the dimension.
template <typename Visit>
void for_each_axis(const std::vector<ir::OpenInput>& inputs, const std::string& dimension, const Visit& visit) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; inputs[i].dims && d < inputs[i].dims->size(); ++d) {
      const ir::OpenDim& dim = (*inputs[i].dims)[d];
      if (dim.is_open() && dim.name == dimension) visit(i, d);
    }
  }
}

}  // namespace

DynamicModel::DynamicModel(std::unique_ptr<const request::ModelSource> source, StageSettings settings, size_t kept,
                           support::Diagnostics& diags, const std::vector<std::vector<ir::ShapeBinding>>& buckets)
    : source_(std::move(source)), settings_(std::move(settings)), kept_(std::max<size_t>(kept, 1)), diags_(diags) {
  for (const std::string& name : shapes::bucket_dimensions(*source_, buckets)) {
    for (const std::vector<ir::ShapeBinding>& bucket : buckets) {
      for (const ir::ShapeBinding& binding : bucket) {
        if (binding.name == name) buckets_[name].insert(binding.sizes.front().least);
      }
    }
  }
}

DynamicModel::~DynamicModel() = default;

std::unique_ptr<DynamicModel::Version> DynamicModel::make_version(const std::vector<ir::Tensor>& inputs) {
  std::optional<request::Specialised> made =
      source_->specialise({bindings_of_shapes(this->inputs(), shapes_of(inputs)), {}}, diags_);
  if (!made) return nullptr;
  auto version = std::make_unique<Version>(Version{types_of(inputs)});
  version->ports = request::ports_of(made->whole ? made->whole->model.graph : made->first->graph);
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

std::optional<int64_t> DynamicModel::size_in(const std::vector<ir::Tensor>& inputs,
                                             const std::string& dimension) const {
  std::optional<int64_t> size;
  bool agree = true;
  for_each_axis(this->inputs(), dimension, [&](size_t input, size_t axis) {
    const ir::Shape& shape = inputs[input].shape();
    agree = agree && axis < shape.size() && (!size || *size == shape[axis]);
    if (agree) size = shape[axis];
  });
  return agree ? size : std::nullopt;
}

const DynamicModel::KnownPadding& DynamicModel::padding_for(const std::vector<ir::Tensor>& inputs,
                                                            const std::string& dimension,
                                                            const shapes::RowSizes& sizes) {
  std::vector<ir::Shape> shapes = shapes_of(inputs);
  for (const KnownPadding& known : paddings_) {
    if (known.dimension == dimension && known.bucket == sizes.bucket && known.shapes == shapes) return known;
  }
  std::vector<ir::Shape> of_bucket = shapes;
  for_each_axis(this->inputs(), dimension, [&](size_t input, size_t axis) { of_bucket[input][axis] = sizes.bucket; });
  shapes::SizeProver prover(*source_, dimension, diags_);
  const shapes::RowProof proof =
      prover.prove(bindings_of_shapes(this->inputs(), shapes), bindings_of_shapes(this->inputs(), of_bucket), sizes);
  KnownPadding found{dimension, std::move(shapes), sizes.bucket};
  if (proof.holds()) {
    runtime::RowPadding& padding = found.padding.emplace(
        runtime::RowPadding{std::vector<runtime::DimensionPlace>(inputs.size()), {}, sizes.exact, sizes.bucket});
    found.dtypes.resize(inputs.size());
    for (size_t i = 0; i < proof.inputs.size(); ++i) {
      const size_t input = index_of(this->inputs(), prover.inputs()[i]);
      padding.inputs[input] = {proof.inputs[i].axis, proof.inputs[i].factor};
      found.dtypes[input] = prover.dtype_of(i);
    }
    for (const shapes::RowPort& port : proof.outputs) padding.outputs.push_back({port.axis, port.factor});
  } else if (warned_.insert(dimension).second) {
    diags_.warning_at(Code::NotPadded, "buckets " + dimension, "{} is not padded: {}", dimension, proof.obstacle);
  }
  if (paddings_.size() == kMostPaddings) paddings_.erase(paddings_.begin());
  paddings_.push_back(std::move(found));
  return paddings_.back();
}

std::vector<runtime::RowPadding> DynamicModel::pad(std::vector<ir::Tensor>* inputs) {
  std::vector<runtime::RowPadding> done;
  if (!have_fixed_sizes(this->inputs(), *inputs)) return done;  // an error, which is about the shapes that were given
  for (const auto& [dimension, sizes] : buckets_) {
    const std::optional<int64_t> size = size_in(*inputs, dimension);
    const auto bucket = size ? sizes.lower_bound(*size) : sizes.end();
    if (bucket == sizes.end() || *size < 1 || *bucket == *size) continue;
    const KnownPadding& known = padding_for(*inputs, dimension, {*size, *bucket});
    // Another dtype is an error, which is about the shapes that were given.
    if (!known.padding || !have_dtypes(*inputs, known.dtypes)) continue;
    *inputs = known.padding->pad(std::move(*inputs));
    done.push_back(*known.padding);
  }
  return done;
}

std::optional<std::vector<DynamicModel::Output>> DynamicModel::run(const std::vector<ir::Tensor>& given) {
  if (given.size() != this->inputs().size()) {
    return diags_.error_at(Code::RunFailed, source_->path().string(), "takes {} inputs, not {}", this->inputs().size(),
                           given.size());
  }
  std::vector<ir::Tensor> inputs = given;
  const std::vector<runtime::RowPadding> paddings = pad(&inputs);
  const Version* version = version_for(inputs);
  if (version == nullptr) return std::nullopt;
  std::vector<ir::Tensor> ordered;
  for (const runner::Port& port : version->ports.inputs) ordered.push_back(inputs[index_of(this->inputs(), port.name)]);
  auto results = version->whole != nullptr ? version->whole->run(ordered) : version->staged->run(ordered);
  if (!results) return diags_.error_at(Code::RunFailed, source_->path().string(), "{}", results.message());
  for (auto padding = paddings.rbegin(); padding != paddings.rend(); ++padding)
    *results = padding->keep(std::move(*results));
  std::vector<Output> outputs;
  for (size_t i = 0; i < results->size(); ++i) {
    const runner::Port& port = version->ports.outputs[i];
    outputs.push_back({port.alias.empty() ? port.name : port.alias, std::move((*results)[i])});
  }
  return outputs;
}

}  // namespace collage::stages
