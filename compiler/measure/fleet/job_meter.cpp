// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/job_meter.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/measure/cost_request.h"
#include "compiler/measure/environment.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/sema/model/build_graph.h"

namespace collage::measure::fleet {
namespace {

constexpr size_t kMostProcesses = 4;  ///< each keeps the memory of what it has measured

}  // namespace

JobMeter::JobMeter(JobMeterOptions options, const place::ActiveBackends& backends,
                   const std::vector<std::string>& named)
    : options_(std::move(options)) {
  const Environments environments(backends, options_.here, 1, {});
  std::map<std::string, place::ActiveBackend> programs;
  for (const place::ActiveBackend& active : backends) {
    if (has_cost_program(active)) programs.emplace(active.backend->name, active);
  }
  for (const auto& [name, environment] : environments.all()) {
    const std::string shown = name.empty() ? "host" : name;
    if (!named.empty() && std::find(named.begin(), named.end(), shown) == named.end()) continue;
    const auto program = programs.find(name);
    auto& list = program == programs.end() ? needs_.alone : needs_.side_by_side;
    list.push_back(need_of(environment));
    if (program != programs.end()) external_[environment].active = program->second;
  }
  for (auto* list : {&needs_.alone, &needs_.side_by_side}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
}

double JobMeter::most_seconds(const Wanted& wanted) {
  // What is disturbed is measured twice, and each time a process may have to start.
  constexpr double kTries = 2;
  return kTries * (wanted.timeout.seconds() + WorkerOptions().start_seconds + 1);
}

Measurement JobMeter::measure(const Wanted& wanted) {
  if (const auto external = external_.find(wanted.environment); external != external_.end())
    return ask_program(external->second, wanted);
  const std::string need = need_of(wanted.environment);
  if (std::find(needs_.alone.begin(), needs_.alone.end(), need) == needs_.alone.end()) {
    return passing_failure("this worker cannot measure it");
  }
  Worker& worker = process_for(wanted);
  const Measuring measure = [&] { return worker.measure(wanted.candidate); };
  Measurement measured = repeats_.better_of(measure(), measure);
  measured_reference_ = worker.reference();
  // A process that does not start gets as many tries again for the next job.
  if (measured.failed() && !measured.lasting) processes_.pop_front();
  return measured;
}

Measurement JobMeter::ask_program(External& external, const Wanted& wanted) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const support::FileId file = sources.add("<candidate>", wanted.candidate);
  const std::optional<sema::Model> model = sema::load_model_text(sources, file, "", diags);
  if (!model || model->placement.partitions.size() != 1) {
    return passing_failure("the text is not a model with one partition");
  }
  const double timeout = wanted.timeout.seconds();
  std::unique_ptr<CostProgram>& program = external.by_timeout[fmt::format("{}", timeout)];
  if (program == nullptr) {
    program = std::make_unique<CostProgram>(
        CostProgramOptions{external.active.backend->cost_program, folder_of_program(external.active), timeout});
  }
  return program->ask(
      [&](int64_t id) { return cost_request(id, model->graph, model->placement.partitions[0], external.active); });
}

Worker& JobMeter::process_for(const Wanted& wanted) {
  const Environment environment = parse_environment(wanted.environment);
  std::vector<std::string> added;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) added.insert(added.end(), {option, value});
  };
  add("--threads", environment.threads);
  add("--numerics", environment.numerics);
  add("--cpu", environment.code_for);
  add("--timeout", fmt::format("{}", wanted.timeout.seconds()));
  const std::string key = fmt::format("{}", fmt::join(added, "\n"));
  const auto known =
      std::find_if(processes_.begin(), processes_.end(), [&](const Process& one) { return one.key == key; });
  if (known != processes_.end()) {
    processes_.splice(processes_.begin(), processes_, known);
    return *processes_.front().worker;
  }
  WorkerOptions options;
  options.program = options_.program;
  options.arguments = options_.arguments;
  options.arguments.insert(options.arguments.end(), added.begin(), added.end());
  if (reference_ > Duration())
    options.arguments.insert(options.arguments.end(), {"--reference", std::to_string(reference_.ps())});
  options.timeout_seconds = wanted.timeout.seconds();
  if (processes_.size() == kMostProcesses) processes_.pop_back();
  processes_.push_front({key, std::make_unique<Worker>(std::move(options))});
  return *processes_.front().worker;
}

}  // namespace collage::measure::fleet
