// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages/staged_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/request/graph_ports.h"
#include "runtime/core/duration.h"
#include "runtime/core/text.h"

namespace collage::stages {

using runtime::Result;
using runtime::Status;

namespace {

constexpr size_t kMostShown = 12;

}  // namespace

StagedModel::StagedModel(std::shared_ptr<const import::OnnxFile> file, const import::ImportedStage& first,
                         std::map<std::string, ir::Tensor> bound, StageSettings settings, size_t kept,
                         support::Diagnostics& diags)
    : runner_(std::move(file), std::move(settings), kept, diags) {
  for (auto& [name, tensor] : bound) bound_.emplace(name, constant_of(std::move(tensor)));
  ports_ = request::ports_of(first.graph);
  ports_.outputs.clear();
  for (const std::string& name : runner_.file().output_names(runner_.file().graph()))
    ports_.outputs.push_back({name, {}});
}

Result<std::vector<ir::Tensor>> StagedModel::run(const std::vector<ir::Tensor>& inputs) {
  std::map<std::string, StageValue> given = bound_;
  for (size_t i = 0; i < inputs.size(); ++i) given.emplace(ports_.inputs[i].name, value_of(inputs[i]));
  StageResult results = runner_.run(given);
  if (!results) return results.status();
  std::vector<ir::Tensor> outputs;
  for (size_t i = 0; i < results->size(); ++i) {
    if (!(*results)[i].is_tensor())
      return Status::error(fmt::format("output `{}` is no tensor", ports_.outputs[i].name));
    outputs.push_back((*results)[i].tensor);
  }
  return outputs;
}

std::string print(const std::vector<StageReport>& reports) {
  std::string text;
  size_t number = 0;
  for (const StageReport& report : reports) {
    if (number == kMostShown) {
      size_t stages = 0;
      for (const StageReport& one : reports) stages += one.stages;
      text += fmt::format("{:<12}and {} more\n", "stages", stages - number);
      break;
    }
    text += fmt::format("{:<12}{}: {}, {}", fmt::format("stage {}", ++number), report.where,
                        report.operators == 0     ? "nothing"
                        : report.backends.empty() ? "reference kernels"
                                                  : report.backends,
                        runtime::counted(report.operators, "operator"));
    if (!report.then.empty()) text += fmt::format(", then {} on the host", fmt::join(report.then, ", "));
    text += fmt::format(
        "\n{:<12}made in {}, run {} in {}\n", "", runtime::human(runtime::Duration::seconds(report.seconds_to_make)),
        runtime::counted(report.runs, "time"), runtime::human(runtime::Duration::seconds(report.seconds)));
    text += fmt::format("{:<12}for {}\n", "", report.inputs.empty() ? "all inputs" : report.inputs);
  }
  return text;
}

}  // namespace collage::stages
