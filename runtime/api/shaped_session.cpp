// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/shaped_session.h"

#include <algorithm>
#include <cstring>

namespace collage::runtime {
namespace {

ShapeTable table_of(const CompiledModel& model) {
  ShapeTable table;
  ShapedVariant& variant = table.variants.emplace_back();
  for (const auto& port : model.inputs) {
    table.inputs.emplace_back(port->port()->name);
    variant.inputs.push_back(port->shape());
  }
  for (const auto& port : model.outputs) {
    table.outputs.emplace_back(port->port()->name);
    variant.outputs.push_back(port->shape());
  }
  return table;
}

}  // namespace

ShapedSession::ShapedSession(std::shared_ptr<const CompiledModel> compiled, std::shared_ptr<const ShapedModel> shaped,
                             int threads, size_t kept)
    : compiled_(std::move(compiled)),
      shaped_(std::move(shaped)),
      one_(table_of(*compiled_)),
      threads_(threads),
      kept_(std::max<size_t>(kept, 1)) {}

/// Specialisations have the same dtypes: those of the first.
Status ShapedSession::check_types(std::span<const collage_array> inputs) const {
  for (size_t i = 0; i < std::min(inputs.size(), compiled_->inputs.size()); ++i) {
    const collage_array& array = inputs[i];
    const NamedPort& port = *compiled_->inputs[i];
    const std::string name = "input `" + std::string(port.port()->name) + "` ";
    if (array.dtype != port.port()->dtype) {
      return Status::error(name + "is of another dtype than " + std::string(name_of(port.dtype())));
    }
    if (array.rank < 0 || (array.rank > 0 && array.shape == nullptr)) return Status::error(name + "has no shape");
  }
  return Status::ok();
}

Result<ShapedSession::Loaded*> ShapedSession::loaded(size_t index) {
  const auto known =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& one) { return one.index == index; });
  if (known != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, known);
    return &loaded_.front();
  }
  std::shared_ptr<const CompiledModel> model = compiled_;
  if (shaped_ != nullptr) {
    auto read = shaped_->specialisation(index);
    if (!read) return read.status();
    model = std::move(*read);
  }
  auto recovery = model->recovery(threads_ > 0 ? threads_ : model->threads);
  if (!recovery) return recovery.status();
  auto execution = RecoveringExecution::create(std::move(*recovery));
  if (!execution) return execution.status();
  loaded_.push_front({index, std::move(model), std::move(*execution)});
  if (loaded_.size() > kept_) loaded_.pop_back();
  return &loaded_.front();
}

Status ShapedSession::run(std::span<const collage_array> inputs) {
  results_.clear();
  if (Status status = check_types(inputs); !status) return status;
  std::vector<std::optional<Shape>> shapes;
  for (size_t i = 0; i < std::min(inputs.size(), compiled_->inputs.size()); ++i)
    shapes.emplace_back(Shape(inputs[i].shape, inputs[i].shape + inputs[i].rank));
  shapes.resize(inputs.size());
  Result<ShapeChoice> choice = choose_variant(shaped_ != nullptr ? shaped_->shapes() : one_, shapes);
  if (!choice) return Status::error("the model " + choice.message());
  Result<Loaded*> loaded = this->loaded(choice->variant);
  if (!loaded) return loaded.status();
  const CompiledModel& model = *(*loaded)->model;

  // Where nothing is padded, inputs are used where they lie.
  std::vector<Tensor> padded;
  std::vector<const std::byte*> from;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == nullptr && element_count(*shapes[i]) > 0) return Status::error("a buffer is missing");
    if (model.inputs[i]->dtype() != compiled_->inputs[i]->dtype()) {
      return Status::error("specialisations have inputs of different dtypes");
    }
    if (choice->padding.is_needed()) {
      Tensor& copy = padded.emplace_back(model.inputs[i]->dtype(), *shapes[i]);
      if (copy.bytes() > 0) std::memcpy(copy.data(), inputs[i].data, copy.bytes());
    } else {
      from.push_back(static_cast<const std::byte*>(inputs[i].data));
    }
  }
  padded = choice->padding.pad(std::move(padded));
  for (const Tensor& tensor : padded) from.push_back(tensor.data());
  std::vector<Tensor> results;
  std::vector<std::byte*> to;
  for (const auto& port : model.outputs) to.push_back(results.emplace_back(port->dtype(), port->shape()).data());
  if (Status status = (*loaded)->execution->run(from, to); !status) return status;
  results_ = choice->padding.keep(std::move(results));
  taken_ = choice->variant;
  return Status::ok();
}

}  // namespace collage::runtime
