// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/choose_shape.h"

#include <fmt/format.h>

#include "runtime/runner/bind_inputs.h"
#include "runtime/runner/tensor_files.h"

namespace collage::runner {

using support::Code;

std::optional<runtime::ShapeChoice> choose_shape(RunRequest& request, const runtime::ShapeTable& table,
                                                 support::Diagnostics& diags) {
  std::vector<Port> inputs;
  for (const std::string& name : table.inputs) inputs.push_back({name, {}, {}});
  std::vector<std::optional<runtime::Shape>> shapes;
  for (const Port& input : inputs) {
    shapes.emplace_back();
    const std::optional<std::string> file = file_for(inputs, input, request.inputs);
    if (!file || !is_tensor_file(*file, request.formats)) continue;
    const std::optional<runtime::Tensor> tensor =
        read_any_tensor(*file, request.formats, "--input " + input.name, diags);
    if (!tensor) return std::nullopt;
    request.read.insert_or_assign(*file, *tensor);
    shapes.back() = tensor->shape();
    if (!request.labels.empty() && !shapes.back()->empty()) shapes.back()->front() = 1;
  }
  runtime::Result<runtime::ShapeChoice> choice = runtime::choose_variant(table, shapes);
  if (!choice) return diags.error_at(Code::InputMismatch, "--input", "the package {}", choice.message());
  return std::move(*choice);
}

ModelPorts ports_of_choice(ModelPorts ports, const runtime::ShapeChoice& choice) {
  for (size_t i = 0; i < choice.inputs.size(); ++i) ports.inputs[i].kind.shape = choice.inputs[i];
  for (size_t i = 0; i < choice.outputs.size(); ++i) ports.outputs[i].kind.shape = choice.outputs[i];
  return ports;
}

std::string print(const runtime::ShapeChoice& choice, const runtime::ShapeTable& table) {
  std::string text = table.name_of(choice.variant);
  if (!choice.padding.is_needed()) return text;
  for (const runtime::OpenDimension& dimension : table.dimensions) {
    const bool is_padded = dimension.inputs == choice.padding.inputs && dimension.outputs == choice.padding.outputs;
    if (is_padded) return text + fmt::format(", {} {} padded", dimension.name, choice.padding.size);
  }
  return text;
}

}  // namespace collage::runner
