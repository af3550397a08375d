// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/requests.h"

#include <algorithm>

#include "compiler/import/tensor_proto.h"
#include "compiler/request/bindings.h"
#include "compiler/request/rule_files.h"

namespace collage::driver {
namespace {

using support::Code;

std::optional<ModelRequest> read_model_request(const Options& options, support::Diagnostics& diags) {
  ModelRequest request{options.model};
  request.allows_outside = options.allow_outside;
  for (const std::string& text : options.shapes) {
    const std::string wrong = add_bindings(text, "--shape", request.bindings);
    if (!wrong.empty()) return diags.error_at(Code::BadOption, "--shape", "{}", wrong);
  }
  request.kept_stages = options.kept_stages;
  for (const std::string& text : options.buckets) {
    const std::string wrong = add_buckets(text, request.buckets);
    if (!wrong.empty()) return diags.error_at(Code::BadOption, "--buckets", "{}", wrong);
  }
  return request;
}

/// What lists or explains candidates shows all of their costs.
CostRequest cost_request(const Options& options) {
  CostRequest costs{options.costs,           options.measure_all,     options.cost_db,
                    options.measure_timeout, !options.keep_disturbed, !options.ignore_rivals};
  costs.measure_on = options.measure_on;
  costs.when_lost = options.cost_db_lost;
  costs.measures_all |= options.compare || !options.diff_placements.empty() || !options.why.empty() ||
                        !options.why_not.empty() || options.emit == Emit::Candidates;
  return costs;
}

/// A misspelt word of `--cost-db-lost` is no file. False after an error.
bool check_when_lost(const std::string& text, support::Diagnostics& diags) {
  const std::string near = support::closest(text, {std::string(kForgetLost), std::string(kEstimateLost)});
  if (near.empty() || near == text || text.find_first_of("./") != std::string::npos) return true;
  return diags.error_at(Code::BadOption, "--cost-db-lost", "`{}` is not `{}`, and no path", text, near)
      .note("a file of this name is `./{}`", text);
}

std::optional<Settings> read_settings(const Options& options, support::Diagnostics& diags) {
  const place::Objective* objective = place::parse_objective(options.objective, "--objective", diags);
  if (objective == nullptr || !check_when_lost(options.cost_db_lost, diags)) return std::nullopt;
  Settings settings;
  settings.targets = options.targets;
  settings.allow = options.allow;
  settings.allows_code = options.allow_code;
  settings.allows_outside = options.allow_outside;
  settings.is_strict = options.strict;
  settings.strategy = options.strategy;
  settings.objective = objective;
  settings.memory = options.memory;
  settings.place = options.place;
  settings.forbid = options.forbid;
  settings.together = options.together;
  settings.search = search_options(options.max_states, options.budget);
  settings.search.keeps_multipliers = !options.certificate.empty();
  settings.costs = cost_request(options);
  // Machines that are not here cannot be timed.
  if (options.simulate && options.costs == CostMode::Choose) settings.costs.mode = CostMode::Estimate;
  settings.cache = options.cache;
  settings.threads = options.threads;
  settings.code = {options.numerics, options.cpu};
  settings.evolve_evaluations = options.evolve_evaluations;
  return settings;
}

runner::RunRequest run_request(const Options& options) {
  return {.is_asked = options.run,
          .inputs = options.inputs,
          .expected = options.expected,
          .results = options.results,
          .labels = options.labels,
          .scale = options.scale,
          .tolerance = options.tolerance,
          .formats = {{".pb", import::read_tensor_pb, import::write_tensor_pb}}};
}

QuantizeRequest quantize_request(const Options& options) {
  QuantizeRequest request{.calibrate = options.calibrate,
                          .calibration = options.calibration,
                          .save_calibration = options.save_calibration,
                          .ranges = {options.ranges, options.percentile},
                          .max_error = options.max_error,
                          .min_accuracy = options.min_accuracy};
  if (options.per_tensor_weights) request.weight_scales = quantize::WeightScales::PerTensor;
  for (const std::string& list : options.quantize) {
    for (size_t begin = 0; begin <= list.size();) {
      const size_t comma = std::min(list.find(',', begin), list.size());
      request.backends.push_back(list.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return request;
}

}  // namespace

place::SearchOptions search_options(uint64_t max_states, std::optional<double> max_seconds) {
  place::SearchOptions search;
  search.max_seconds = max_seconds;
  if (max_states > 0) {
    search.max_states = max_states;
  } else if (max_seconds) {
    search.max_states = kUnlimitedStates;
  }
  return search;
}

std::optional<Request> read_request(const Options& options, support::Diagnostics& diags) {
  std::optional<Settings> settings = read_settings(options, diags);
  std::optional<ModelRequest> model = read_model_request(options, diags);
  if (!settings || !model) return std::nullopt;
  Request request;
  request.model = std::move(*model);
  request.rules = options.rules.empty() ? default_rules() : options.rules;
  request.settings = std::move(*settings);
  request.passes = {
      .prints_schedule = options.print_passes, .print_after = options.print_after, .disabled = options.disabled_passes};
  request.emit = options.emit;
  request.output = options.output;
  request.placement = {.follow = options.placement,
                       .consider = options.candidate_placement,
                       .diff = options.diff_placements,
                       .save = options.save_placement,
                       .certificate = options.certificate,
                       .json = options.placement_json};
  request.compare = {options.compare, options.compare_json};
  request.questions = {options.why, options.why_not};
  request.quantize = quantize_request(options);
  request.simulate = {options.simulate, options.requests};
  request.dumps_lowering = options.dump_lowering;
  request.run = run_request(options);
  request.bench = {options.bench, options.bench_json};
  request.checks = options.check;
  request.bisect = options.bisect;
  request.faults = options.faults;
  request.prints_json = options.json;
  request.report = options.report;
  request.verifies = options.verify_costs;
  request.profile = options.profile;
  request.trace = {options.trace, options.timeline};
  request.prints_device_log = options.device_log;
  request.prints_times = options.time_passes;
  return request;
}

}  // namespace collage::driver
