// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/run_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/runner/compare_tensors.h"
#include "runtime/runner/tensor_files.h"

namespace collage::runner {
namespace {

using runtime::Tensor;
using support::Code;

std::string print_output(const std::string& name, const Tensor& tensor) {
  constexpr int64_t kShown = 16;
  std::string text = fmt::format("{} {}", name, to_string(kind_of(tensor)));
  if (are_scores(tensor)) text += fmt::format(": class {}", argmax(tensor));
  std::string values;
  for (int64_t i = 0; i < std::min(kShown, tensor.count()); ++i) {
    values += fmt::format("{}{:.6g}", i > 0 ? ", " : "", element_as_double(tensor.view(), i));
  }
  return fmt::format("{:<12}{}\n{:<12}[{}{}]\n", "result", text, "", values, tensor.count() > kShown ? ", …" : "");
}

bool compare_expected(const RunRequest& request, const ModelPorts& model, RunResult* result,
                      support::Diagnostics& diags) {
  bool good = true;
  const std::vector<Tensor>& outputs = result->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::optional<std::string> file = file_for(model.outputs, model.outputs[i], request.expected);
    if (!file) continue;
    const std::string& name = model.outputs[i].name;
    std::optional<Tensor> expected = read_any_tensor(*file, request.formats, "--expect " + name, diags);
    if (!expected) return false;
    if (expected->shape() != outputs[i].shape() || expected->dtype() != outputs[i].dtype()) {
      return diags.error_at(Code::CheckFailed, "--expect " + name, "the file holds {}, the output is {}",
                            to_string(kind_of(*expected)), to_string(kind_of(outputs[i])));
    }
    const TensorDifference row = compare(outputs[i], *expected, request.tolerance);
    double difference = row.max_difference == 0 ? 0 : row.max_difference / row.max_magnitude;
    result->expected.push_back({name, difference});
    if (row.passed) continue;
    diags.error_at(Code::CheckFailed, "--expect " + name, "differs by {:.2e} of the largest value, more than {:.2e}",
                   difference, request.tolerance);
    good = false;
  }
  return good;
}

bool save_results(const RunRequest& request, const ModelPorts& model, const std::vector<Tensor>& outputs,
                  support::Diagnostics& diags) {
  bool good = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Port& port = model.outputs[i];
    const std::optional<std::string> file = file_for(model.outputs, port, request.results);
    if (!file) continue;
    good &= write_tensor_file(*file, request.formats, port.alias.empty() ? port.name : port.alias, outputs[i], diags);
  }
  return good;
}

bool count_right(const RunRequest& request, RunResult* result, support::Diagnostics& diags) {
  std::optional<Tensor> labels = read_any_tensor(request.labels, request.formats, "--labels", diags);
  if (!labels) return false;
  const std::vector<int64_t>& classes = result->classes;
  if (labels->count() != static_cast<int64_t>(classes.size())) {
    return diags.error_at(Code::InputMismatch, "--labels", "{} labels for {} runs", labels->count(), classes.size());
  }
  size_t right = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (element_as_int(labels->view(), static_cast<int64_t>(i)) == classes[i]) ++right;
  }
  result->right = right;
  return true;
}

}  // namespace

int64_t argmax(const Tensor& tensor) {
  int64_t best = 0;
  for (int64_t i = 1; i < tensor.count(); ++i) {
    if (element_as_double(tensor.view(), i) > element_as_double(tensor.view(), best)) best = i;
  }
  return best;
}

bool are_scores(const Tensor& tensor) {
  int64_t longest = tensor.shape().empty() ? 1 : *std::max_element(tensor.shape().begin(), tensor.shape().end());
  return is_float(tensor.dtype()) && tensor.count() > 1 && longest == tensor.count();
}

std::optional<RunResult> run_model(const ModelPorts& model, const std::vector<BoundInput>& bound,
                                   runtime::Executor& executor, const WorkListener& listener,
                                   support::Diagnostics& diags, const runtime::RowPadding& padding) {
  RunResult all;
  const int64_t runs = bound.empty() ? 1 : bound.front().batch;
  const WorkScope work(listener, Work::Running);
  for (int64_t run = 0; run < runs; ++run) {
    work.report(static_cast<size_t>(run), static_cast<size_t>(runs));
    runtime::Result<std::vector<Tensor>> result = executor.run(padding.pad(inputs_of_run(model, bound, run)));
    if (!result) return diags.error_at(Code::RunFailed, model.model, "{}", result.message());
    all.outputs = padding.keep(std::move(*result));
    all.classes.push_back(argmax(all.outputs.front()));
  }
  return all;
}

bool judge_result(const RunRequest& request, const ModelPorts& model, RunResult* result, support::Diagnostics& diags) {
  bool good = compare_expected(request, model, result, diags) && save_results(request, model, result->outputs, diags);
  if (!request.labels.empty()) good &= count_right(request, result, diags);
  return good;
}

std::string print(const RunResult& result, const ModelPorts& model) {
  std::string text;
  const size_t runs = result.classes.size();
  if (runs == 1) {
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      text += print_output(model.outputs[i].name, result.outputs[i]);
    }
  } else {
    text += fmt::format("{:<12}{} inputs\n", "ran", runs);
  }
  for (const ExpectedRow& row : result.expected) {
    text += fmt::format("{:<12}{}: max|diff| / max|y| = {:.2e}\n", "expected", row.output, row.difference);
  }
  if (!result.right) return text;
  const double percent = 100.0 * static_cast<double>(*result.right) / static_cast<double>(runs);
  return text + fmt::format("{:<12}{:.1f} % ({} of {})\n", "accuracy", percent, *result.right, runs);
}

}  // namespace collage::runner
