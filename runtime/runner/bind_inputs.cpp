// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/bind_inputs.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/runner/tensor_files.h"

namespace collage::runner {
namespace {

using runtime::Tensor;
using support::Code;

std::string port_names(const std::vector<Port>& ports) {
  std::string names;
  for (const Port& port : ports) names += (names.empty() ? "`" : ", `") + port.name + "`";
  return names;
}

/// Every name must be one of the ports, and stand once.
bool check_names(const std::vector<Port>& ports, const std::vector<NamedFile>& files, const std::string& option,
                 std::string_view kind, support::Diagnostics& diags) {
  bool good = true;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Port& port : ports) names.push_back(port.name);
  for (const NamedFile& entry : files) {
    const NamedFile file = named_by(entry, ports);
    auto named =
        std::find_if(ports.begin(), ports.end(), [&file](const Port& port) { return is_called(port, file.name); });
    bool is_known = file.name.empty() ? ports.size() == 1 : named != ports.end();
    if (is_known) {
      // An entry without a name is the only port's.
      std::string port = file.name.empty() ? names.front() : named->name;
      if (!seen.insert(port).second) good = diags.error_at(Code::BadOption, option, "`{}` is given twice", port);
      continue;
    }
    std::string what = file.name.empty() ? fmt::format("`{}` names no {}", file.file, kind)
                                         : fmt::format("no {} `{}`", kind, file.name);
    diags.error_at(Code::InputMismatch, option, "{}: the model has {}", what, port_names(ports))
        .did_you_mean(support::closest(file.name, names));
    good = false;
  }
  return good;
}

/// Checks before the search what is read or written after the run: a wrong file name should not cost a search.
bool check_result_files(const RunRequest& request, const ModelPorts& model, support::Diagnostics& diags) {
  bool good = true;
  for (const NamedFile& entry : request.expected) {
    const NamedFile file = named_by(entry, model.outputs);
    const std::string option = file.name.empty() ? "--expect" : "--expect " + file.name;
    good &= read_any_tensor(file.file, request.formats, option, diags).has_value();
  }
  if (!request.labels.empty()) good &= read_any_tensor(request.labels, request.formats, "--labels", diags).has_value();
  for (const NamedFile& entry : request.results) {
    const NamedFile file = named_by(entry, model.outputs);
    good &= can_write_tensor_file(file.file, request.formats, file.name, diags);
  }
  return good;
}

Tensor slice_of_batch(const BoundInput& input, const TensorKind& type, int64_t i) {
  if (input.data.shape() == type.shape) return input.data;
  Tensor slice(type.dtype, type.shape);
  std::memcpy(slice.data(), input.data.data() + static_cast<size_t>(i) * slice.bytes(), slice.bytes());
  return slice;
}

}  // namespace

NamedFile named_by(const NamedFile& entry, const std::vector<Port>& ports) {
  return named_by(entry, [&ports](const std::string& name) {
    return std::any_of(ports.begin(), ports.end(), [&name](const Port& port) { return is_called(port, name); });
  });
}

std::optional<std::string> file_for(const std::vector<Port>& ports, const Port& port,
                                    const std::vector<NamedFile>& files) {
  for (const NamedFile& entry : files) {
    const NamedFile file = named_by(entry, ports);
    if (is_called(port, file.name) || (file.name.empty() && ports.size() == 1)) return file.file;
  }
  return std::nullopt;
}

bool check_input_names(const RunRequest& request, const ModelPorts& model, support::Diagnostics& diags) {
  return check_names(model.inputs, request.inputs, "--input", "input", diags);
}

std::optional<std::vector<BoundInput>> bind_inputs(const RunRequest& request, const ModelPorts& model,
                                                   support::Diagnostics& diags) {
  std::vector<BoundInput> bound;
  bool good = check_input_names(request, model, diags);
  good &= check_names(model.outputs, request.expected, "--expect", "output", diags);
  good &= check_names(model.outputs, request.results, "--save", "output", diags);
  good &= check_result_files(request, model, diags);
  for (const Port& port : model.inputs) {
    const std::optional<std::string> file = file_for(model.inputs, port, request.inputs);
    if (!file && !request.is_asked) {
      bound.push_back({random_tensor(port.kind, 1 + bound.size()), 1});
      continue;
    }
    if (!file) {
      if (good) {
        diags
            .error_at(Code::InputMismatch, request.asked_by, "input `{}` ({}) is not given", port.name,
                      to_string(port.kind))
            .note("`--input {}=FILE`, or `--input {}=random`", port.name, port.name);
      }
      good = false;
      continue;
    }
    std::optional<Tensor> data = read_tensor_file(*file, request, port.kind, "--input " + port.name, diags);
    if (!data) {
      good = false;
      continue;
    }
    bool batched = data->shape() != port.kind.shape;
    bound.push_back({*data, batched ? data->shape()[0] : 1});
  }
  if (!good) return std::nullopt;
  for (const BoundInput& input : bound) {
    if (input.batch != bound.front().batch) {
      return diags.error_at(Code::InputMismatch, "--input", "batches of {} and {} cannot be run together",
                            bound.front().batch, input.batch);
    }
  }
  bool batched = !bound.empty() && bound.front().batch > 1;
  if (batched && (!request.expected.empty() || !request.results.empty())) {
    return diags.error_at(Code::InputMismatch, request.expected.empty() ? "--save" : "--expect",
                          "wants one input, not a batch of {}", bound.front().batch);
  }
  return bound;
}

std::vector<Tensor> inputs_of_run(const ModelPorts& model, const std::vector<BoundInput>& bound, int64_t run) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < bound.size(); ++i) inputs.push_back(slice_of_batch(bound[i], model.inputs[i].kind, run));
  return inputs;
}

}  // namespace collage::runner
