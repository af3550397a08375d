// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/run/run_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/driver/input/tensor_files.h"
#include "compiler/driver/run/time_plan.h"
#include "compiler/plan/check.h"
#include "compiler/support/write_file.h"
#include "runtime/plan/plan_schedule.h"

namespace collage::driver {
namespace {

using ir::Tensor;
using support::Code;

std::string port_names(const ir::Graph& graph, const std::vector<ir::ValueId>& ports) {
  std::string names;
  for (ir::ValueId port : ports) names += (names.empty() ? "`" : ", `") + graph.value(port).name + "`";
  return names;
}

/// The file given for `port`, or null. An entry without a name stands for the only port.
const NamedFile* file_for(const ir::Graph& graph, const std::vector<ir::ValueId>& ports, ir::ValueId port,
                          const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) {
    if (file.name == graph.value(port).name || (file.name.empty() && ports.size() == 1)) return &file;
  }
  return nullptr;
}

/// Every name must be one of the ports, and stand once.
bool check_names(const ir::Graph& graph, const std::vector<ir::ValueId>& ports, const std::vector<NamedFile>& files,
                 const std::string& option, std::string_view kind, support::Diagnostics& diags) {
  bool good = true;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (ir::ValueId port : ports) names.push_back(graph.value(port).name);
  for (const NamedFile& file : files) {
    bool is_known =
        file.name.empty() ? ports.size() == 1 : std::find(names.begin(), names.end(), file.name) != names.end();
    if (is_known) {
      // An entry without a name is the only port's.
      std::string port = file.name.empty() ? names.front() : file.name;
      if (!seen.insert(port).second) good = diags.error_at(Code::BadOption, option, "`{}` is given twice", port);
      continue;
    }
    std::string what = file.name.empty() ? fmt::format("`{}` names no {}", file.file, kind)
                                         : fmt::format("no {} `{}`", kind, file.name);
    diags.error_at(Code::InputMismatch, option, "{}: the model has {}", what, port_names(graph, ports))
        .did_you_mean(support::closest(file.name, names));
    good = false;
  }
  return good;
}

/// What is read or written only after the run, looked at before it: a wrong file name should not cost a search.
bool check_result_files(const Options& options, support::Diagnostics& diags) {
  bool good = true;
  for (const NamedFile& file : options.expected) {
    good &= read_any_tensor(file.file, file.name.empty() ? "--expect" : "--expect " + file.name, diags).has_value();
  }
  if (!options.labels.empty()) good &= read_any_tensor(options.labels, "--labels", diags).has_value();
  for (const NamedFile& file : options.results) good &= can_write_tensor_file(file.file, file.name, diags);
  return good;
}

Tensor slice_of_batch(const BoundInput& input, const ir::TensorType& type, int64_t i) {
  if (input.data.shape() == type.shape) return input.data;
  Tensor slice(type.dtype, type.shape);
  std::memcpy(slice.data(), input.data.data() + static_cast<size_t>(i) * slice.bytes(), slice.bytes());
  return slice;
}

int64_t argmax(const Tensor& tensor) {
  int64_t best = 0;
  for (int64_t i = 1; i < tensor.count(); ++i) {
    if (element_as_double(tensor.view(), i) > element_as_double(tensor.view(), best)) best = i;
  }
  return best;
}

/// True for [1, …, 1, n]-like scores of n classes.
bool are_scores(const Tensor& tensor) {
  int64_t longest = tensor.shape().empty() ? 1 : *std::max_element(tensor.shape().begin(), tensor.shape().end());
  return is_float(tensor.dtype()) && tensor.count() > 1 && longest == tensor.count();
}

void print_result(const std::string& name, const Tensor& tensor) {
  constexpr int64_t kShown = 16;
  std::string text = fmt::format("{} {}", name, to_string(ir::TensorType{tensor.dtype(), tensor.shape()}));
  if (are_scores(tensor)) text += fmt::format(": class {}", argmax(tensor));
  fmt::print("{:<12}{}\n", "result", text);
  std::string values;
  for (int64_t i = 0; i < std::min(kShown, tensor.count()); ++i) {
    values += fmt::format("{}{:.6g}", i > 0 ? ", " : "", element_as_double(tensor.view(), i));
  }
  fmt::print("{:<12}[{}{}]\n", "", values, tensor.count() > kShown ? ", …" : "");
}

bool compare_expected(const Options& options, const ir::Graph& graph, const std::vector<Tensor>& outputs,
                      support::Diagnostics& diags) {
  bool good = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ir::ValueId port = graph.outputs()[i];
    const NamedFile* file = file_for(graph, graph.outputs(), port, options.expected);
    if (file == nullptr) continue;
    const std::string& name = graph.value(port).name;
    std::optional<Tensor> expected = read_any_tensor(file->file, "--expect " + name, diags);
    if (!expected) return false;
    if (expected->count() != outputs[i].count() || expected->dtype() != outputs[i].dtype()) {
      return diags.error_at(Code::CheckFailed, "--expect " + name, "the file holds {}, the output is {}",
                            to_string(ir::TensorType{expected->dtype(), expected->shape()}),
                            to_string(ir::TensorType{outputs[i].dtype(), outputs[i].shape()}));
    }
    plan::CheckRow row = plan::compare(outputs[i], expected->reshaped(outputs[i].shape()), options.tolerance);
    double difference = row.max_difference == 0 ? 0 : row.max_difference / row.max_magnitude;
    fmt::print("{:<12}{}: max|diff| / max|y| = {:.2e}\n", "expected", name, difference);
    if (row.passed) continue;
    diags.error_at(Code::CheckFailed, "--expect " + name, "differs by {:.2e} of the largest value, more than {:.2e}",
                   difference, options.tolerance);
    good = false;
  }
  return good;
}

bool save_results(const Options& options, const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  support::Diagnostics& diags) {
  bool good = true;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ir::ValueId port = graph.outputs()[i];
    const NamedFile* file = file_for(graph, graph.outputs(), port, options.results);
    if (file != nullptr) good &= write_tensor_file(file->file, graph.value(port).name, outputs[i], diags);
  }
  return good;
}

bool print_accuracy(const Options& options, const std::vector<int64_t>& classes, support::Diagnostics& diags) {
  std::optional<Tensor> labels = read_any_tensor(options.labels, "--labels", diags);
  if (!labels) return false;
  if (labels->count() != static_cast<int64_t>(classes.size())) {
    return diags.error_at(Code::InputMismatch, "--labels", "{} labels for {} runs", labels->count(), classes.size());
  }
  size_t right = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (element_as_int(labels->view(), static_cast<int64_t>(i)) == classes[i]) ++right;
  }
  fmt::print("{:<12}{:.1f} % ({} of {})\n", "accuracy",
             100.0 * static_cast<double>(right) / static_cast<double>(classes.size()), right, classes.size());
  return true;
}

/// Time per input of a stream of steps of these lengths.
runtime::Duration stream_period(const runtime::Plan& plan, const std::vector<runtime::Duration>& lengths) {
  runtime::Machine machine = runtime::machine_of(plan.devices);
  std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].length = lengths[i];
  return runtime::stream_period(tasks);
}

}  // namespace

std::optional<std::vector<BoundInput>> bind_inputs(const Options& options, const ir::Graph& graph,
                                                   support::Diagnostics& diags) {
  std::vector<BoundInput> bound;
  bool good = check_names(graph, graph.inputs(), options.inputs, "--input", "input", diags);
  good &= check_names(graph, graph.outputs(), options.expected, "--expect", "output", diags);
  good &= check_names(graph, graph.outputs(), options.results, "--save", "output", diags);
  good &= check_result_files(options, diags);
  for (ir::ValueId port : graph.inputs()) {
    const ir::Value& value = graph.value(port);
    const NamedFile* file = file_for(graph, graph.inputs(), port, options.inputs);
    if (file == nullptr && !options.run) {
      bound.push_back({random_tensor(value.type, 1 + bound.size()), 1});
      continue;
    }
    if (file == nullptr) {
      if (good) {
        diags.error_at(Code::InputMismatch, "--run", "input `{}` ({}) is not given", value.name, to_string(value.type))
            .note("`--input {}=FILE`, or `--input {}=random`", value.name, value.name);
      }
      good = false;
      continue;
    }
    std::optional<Tensor> data =
        read_tensor_file(file->file, value.type, options.scale, "--input " + value.name, diags);
    if (!data) {
      good = false;
      continue;
    }
    bool batched = data->shape() != value.type.shape;
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
  if (batched && (!options.expected.empty() || !options.results.empty())) {
    return diags.error_at(Code::InputMismatch, options.expected.empty() ? "--save" : "--expect",
                          "wants one input, not a batch of {}", bound.front().batch);
  }
  return bound;
}

std::vector<Tensor> inputs_of_run(const ir::Graph& graph, const std::vector<BoundInput>& bound, int64_t run) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < bound.size(); ++i)
    inputs.push_back(slice_of_batch(bound[i], graph.value(graph.inputs()[i]).type, run));
  return inputs;
}

bool run_model(const Options& options, const ir::Graph& graph, const std::vector<BoundInput>& bound,
               runtime::Executor& executor, const Listener& listener, support::Diagnostics& diags) {
  int64_t runs = bound.empty() ? 1 : bound.front().batch;
  std::vector<int64_t> classes;
  std::vector<Tensor> outputs;
  auto work = std::make_unique<WorkScope>(listener, Work::Running);
  for (int64_t run = 0; run < runs; ++run) {
    work->report(static_cast<size_t>(run), static_cast<size_t>(runs));
    runtime::Result<std::vector<Tensor>> result = executor.run(inputs_of_run(graph, bound, run));
    if (!result) return diags.error_at(Code::RunFailed, graph.name, "{}", result.message());
    outputs = std::move(*result);
    classes.push_back(argmax(outputs.front()));
  }
  work.reset();
  if (runs == 1) {
    for (size_t i = 0; i < outputs.size(); ++i) print_result(graph.value(graph.outputs()[i]).name, outputs[i]);
  } else {
    fmt::print("{:<12}{} inputs\n", "ran", runs);
  }
  bool good = compare_expected(options, graph, outputs, diags) && save_results(options, graph, outputs, diags);
  if (!options.labels.empty()) good &= print_accuracy(options, classes, diags);
  return good;
}

bool bench_model(const Options& options, const ir::Graph& graph, const runtime::Plan& plan,
                 const std::vector<BoundInput>& bound, runtime::Executor& executor, const Listener& listener,
                 support::Diagnostics& diags) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWarmUp = 3;
  std::vector<Tensor> inputs = inputs_of_run(graph, bound, 0);
  std::vector<double> milliseconds, makespans;
  std::vector<runtime::Duration> least(plan.steps.size(), runtime::Duration::max());  // by step
  runtime::Duration device_start;
  auto work = std::make_unique<WorkScope>(listener, Work::Running);
  for (int i = -kWarmUp; i < options.bench; ++i) {
    work->report(static_cast<size_t>(std::max(i, 0)), static_cast<size_t>(options.bench));
    if (i == 0) device_start = executor.device_time();
    Clock::time_point start = Clock::now();
    runtime::Result<std::vector<Tensor>> result = executor.run(inputs);
    if (!result) return diags.error_at(Code::RunFailed, graph.name, "{}", result.message());
    if (i < 0) continue;
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (!plan.is_concurrent) continue;
    makespans.push_back(executor.timeline().makespan().seconds());
    for (size_t s = 0; s < least.size(); ++s) {
      const runtime::Slot& slot = executor.timeline().slots()[s];
      least[s] = std::min(least[s], slot.finish - slot.start);
    }
  }
  work.reset();
  std::vector<double> in_order = milliseconds;
  std::sort(milliseconds.begin(), milliseconds.end());
  fmt::print("{:<12}median {:.4g} ms, least {:.4g} ms ({} runs)\n", "bench", milliseconds[milliseconds.size() / 2],
             milliseconds.front(), milliseconds.size());
  auto device = runtime::Duration::picoseconds((executor.device_time() - device_start).ps() / options.bench);
  if (device.ps() > 0) fmt::print("{:<12}{} a run on simulated devices and links\n", "", human(device));
  double period = 0;
  if (plan.is_concurrent) {
    period = stream_period(plan, least).seconds();
    fmt::print("{:<12}{} a run with steps side by side; in a stream {} an input, {:.4g} inputs a second\n", "",
               human(runtime::Duration::seconds(median(makespans))), human(runtime::Duration::seconds(period)),
               period > 0 ? 1 / period : 0.0);
  }
  if (options.bench_json.empty()) return true;
  for (double& time : in_order) time *= 1e-3;
  nlohmann::ordered_json json = {{"model", graph.name},
                                 {"strategy", options.strategy},
                                 {"threads", options.threads},
                                 {"median_s", milliseconds[milliseconds.size() / 2] * 1e-3},
                                 {"least_s", milliseconds.front() * 1e-3},
                                 {"simulated_s", device.seconds()},
                                 {"runs_s", in_order}};
  if (plan.is_concurrent) json["makespan_s"] = median(makespans);
  if (plan.is_concurrent) json["stream_s"] = period;
  return write_file(options.bench_json, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n",
                    diags);
}

}  // namespace collage::driver
