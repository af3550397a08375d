// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/shaped_inputs.h"

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

Shape shape_of(const collage_array& array) {
  return {array.shape, array.shape + array.rank};
}

}  // namespace

ShapedInputs::ShapedInputs(std::shared_ptr<const CompiledModel> compiled, std::shared_ptr<const ShapedModel> shaped)
    : compiled_(std::move(compiled)), shaped_(std::move(shaped)), one_(table_of(*compiled_)) {}

/// Specialisations have the same dtypes: those of the first.
Status ShapedInputs::check_types(std::span<const collage_array> inputs) const {
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

Result<ShapeChoice> ShapedInputs::choose(std::span<const collage_array> inputs) const {
  if (Status status = check_types(inputs); !status) return status;
  std::vector<std::optional<Shape>> shapes;
  for (size_t i = 0; i < std::min(inputs.size(), compiled_->inputs.size()); ++i)
    shapes.emplace_back(shape_of(inputs[i]));
  shapes.resize(inputs.size());
  Result<ShapeChoice> choice = choose_variant(shaped_ != nullptr ? shaped_->shapes() : one_, shapes);
  if (!choice) return Status::error("the model " + choice.message());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == nullptr && element_count(*shapes[i]) > 0) return Status::error("a buffer is missing");
  }
  return choice;
}

Result<std::shared_ptr<const CompiledModel>> ShapedInputs::model(size_t variant) const {
  if (shaped_ == nullptr) return compiled_;
  auto model = shaped_->specialisation(variant);
  if (!model) return model.status();
  for (size_t i = 0; i < compiled_->inputs.size(); ++i) {
    if ((*model)->inputs[i]->dtype() != compiled_->inputs[i]->dtype()) {
      return Status::error("specialisations have inputs of different dtypes");
    }
  }
  return model;
}

std::vector<Tensor> ShapedInputs::padded(std::span<const collage_array> inputs, const ShapeChoice& choice) const {
  std::vector<Tensor> copies;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor& copy = copies.emplace_back(compiled_->inputs[i]->dtype(), shape_of(inputs[i]));
    if (copy.bytes() > 0) std::memcpy(copy.data(), inputs[i].data, copy.bytes());
  }
  return choice.padding.is_needed() ? choice.padding.pad(std::move(copies)) : copies;
}

}  // namespace collage::runtime
