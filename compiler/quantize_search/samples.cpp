// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/samples.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/runner/tensor_files.h"

namespace collage::quantize_search {
namespace {

using runner::BoundInput;
using runner::ModelPorts;
using runner::NamedFile;
using runner::Port;
using runtime::Tensor;
using support::Code;

/// The file, or those of a folder by name; hidden ones are left out.
std::vector<std::string> files_at(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory(error) && !name.starts_with('.')) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool check_finite(const Tensor& tensor, const std::string& path, const std::string& option,
                  support::Diagnostics& diags) {
  if (!is_float(tensor.dtype())) return true;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double element = element_as_double(tensor.view(), i);
    if (std::isfinite(element)) continue;
    return diags.error_at(Code::BadTensorFile, option, "{}: element {} is {}: ranges are of finite numbers", path, i,
                          element);
  }
  return true;
}

/// The index of the input that a file is for; nullopt after an error.
std::optional<size_t> input_of(const NamedFile& file, const ModelPorts& model, const std::string& option,
                               support::Diagnostics& diags) {
  if (file.name.empty() && model.inputs.size() == 1) return 0;
  std::vector<std::string> names;
  for (const Port& port : model.inputs) names.push_back(port.name);
  const auto found = std::find(names.begin(), names.end(), file.name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  if (file.name.empty()) {
    return diags.error_at(Code::BadOption, option, "`{}` names no input of the model's {}: want NAME=FILE", file.file,
                          names.size());
  }
  return diags
      .error_at(Code::InputMismatch, option, "no input `{}`: the model has {}", file.name, fmt::join(names, ", "))
      .did_you_mean(support::closest(file.name, names));
}

int64_t count_of(const std::vector<BoundInput>& files) {
  int64_t count = 0;
  for (const BoundInput& file : files) count += file.batch;
  return count;
}

}  // namespace

std::optional<Samples> read_samples(const std::vector<NamedFile>& files, const runner::RunRequest& request,
                                    const ModelPorts& model, const std::string& option, support::Diagnostics& diags) {
  Samples samples;
  samples.model_ = model;
  samples.files_.resize(model.inputs.size());
  for (const NamedFile& entry : files) {
    const NamedFile named = runner::named_by(entry, model.inputs);
    const std::optional<size_t> input = input_of(named, model, option, diags);
    if (!input) return std::nullopt;
    const Port& port = model.inputs[*input];
    const std::vector<std::string> paths = files_at(named.file);
    if (paths.empty()) return diags.error_at(Code::CannotRead, option, "{}: the folder holds no file", named.file);
    for (const std::string& path : paths) {
      std::optional<Tensor> data = runner::read_tensor_file(path, request, port.kind, option, diags);
      if (!data || !check_finite(*data, path, option, diags)) return std::nullopt;
      const int64_t batch = data->shape() == port.kind.shape ? 1 : data->shape()[0];
      samples.files_[*input].push_back({std::move(*data), batch});
    }
  }
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const int64_t count = count_of(samples.files_[i]);
    if (count == 0) {
      return diags.error_at(Code::InputMismatch, option, "input `{}` ({}) is not given", model.inputs[i].name,
                            to_string(model.inputs[i].kind));
    }
    if (i == 0) samples.count_ = count;
    if (count == samples.count_) continue;
    return diags.error_at(Code::InputMismatch, option, "{} samples of `{}` and {} of `{}` do not go together",
                          samples.count_, model.inputs[0].name, count, model.inputs[i].name);
  }
  if (model.inputs.empty()) samples.count_ = 1;
  return samples;
}

std::vector<Tensor> Samples::inputs(int64_t index) const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < files_.size(); ++i) {
    int64_t at = index;
    for (const BoundInput& file : files_[i]) {
      if (at < file.batch) {
        const ModelPorts one{model_.model, {model_.inputs[i]}, {}};
        inputs.push_back(runner::inputs_of_run(one, {file}, at).front());
        break;
      }
      at -= file.batch;
    }
  }
  return inputs;
}

}  // namespace collage::quantize_search
