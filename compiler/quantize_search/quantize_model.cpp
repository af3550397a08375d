// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/quantize_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/ops/op_def.h"
#include "compiler/quantize_search/calibration.h"
#include "compiler/quantize_search/choose_sites.h"
#include "compiler/request/graph_ports.h"
#include "runtime/core/text.h"
#include "runtime/runner/tensor_files.h"

namespace collage::quantize_search {
namespace {

using support::Code;

std::string option_of(const ErrorLimits& limits) {
  if (!limits.least_accuracy) return fmt::format("--max-error {}", *limits.most_error);
  std::string text = limits.most_error ? fmt::format("--max-error {}, ", *limits.most_error) : "";
  return text + fmt::format("--min-accuracy {}", *limits.least_accuracy);
}

/// The active backends that the request names.
bool check_backends(const compilation::Compilation& compilation, const request::QuantizeRequest& request,
                    support::Diagnostics& diags) {
  std::vector<std::string> names = {"host"};
  for (const place::ActiveBackend& active : compilation.active()) names.push_back(active.backend->name);
  bool good = true;
  for (const std::string& backend : request.backends) {
    if (std::find(names.begin(), names.end(), backend) != names.end()) continue;
    good = diags.error_at(Code::UnknownDevice, "--quantize " + backend, "no active backend has this name")
               .did_you_mean(support::closest(backend, names));
  }
  return good;
}

/// The class of each of so many samples. Returns nullopt after an error.
std::optional<std::vector<int64_t>> read_labels(const runner::RunRequest& run, int64_t count,
                                                support::Diagnostics& diags) {
  std::vector<int64_t> labels;
  if (run.labels.empty()) return labels;
  std::optional<runtime::Tensor> file = runner::read_any_tensor(run.labels, run.formats, "--labels", diags);
  if (!file) return std::nullopt;
  if (is_float(file->dtype())) {
    return diags.error_at(Code::InputMismatch, "--labels", "{}: labels are integers, not {}", run.labels,
                          name_of(file->dtype()));
  }
  if (file->count() != count) {
    return diags.error_at(Code::InputMismatch, "--labels", "{} labels for {} inputs", file->count(), count);
  }
  for (int64_t i = 0; i < count; ++i) labels.push_back(element_as_int(file->view(), i));
  return labels;
}

/// One quantisation: what it reads, and what it finds on the way.
class ModelQuantizer {
 public:
  ModelQuantizer(compilation::Compilation& compilation, const request::QuantizeRequest& request,
                 const runner::RunRequest& run, support::Diagnostics& diags)
      : compilation_(compilation), request_(request), run_(run), diags_(diags) {}

  std::optional<report::QuantizeReport> quantize() {
    if (!check_backends(compilation_, request_, diags_) || !read_files()) return std::nullopt;
    model_.floats = compilation_.graph();
    model_.ranges = calibration_.ranges;
    model_.sites = quantize::quantizable_sites(model_.floats, model_.ranges, request_.weight_scales);
    SiteTrials trials(compilation_, model_, request_.backends, diags_);
    std::optional<ChosenSites> chosen = cheapest_sites(trials, model_.sites.sites.size());
    if (!chosen || !measure(trials, &*chosen)) return std::nullopt;
    trials.adopt(chosen->best);
    return report(*chosen);
  }

 private:
  /// Everything that the options name, before any search.
  bool read_files() {
    const runner::ModelPorts ports = request::ports_of(compilation_.graph());
    std::optional<Samples> calibrating;
    if (!request_.calibrate.empty()) {
      calibrating = read_samples(request_.calibrate, run_, ports, "--calibrate", diags_);
      if (!calibrating) return false;
    }
    if (!run_.inputs.empty()) {
      samples_ = read_samples(run_.inputs, run_, ports, "--input", diags_);
      if (!samples_) return false;
    } else {
      samples_ = calibrating;
    }
    if (limits_.are_set() && !samples_) {
      return diags_.error_at(Code::BadOption, option_of(limits_), "there are no inputs on which to measure it")
          .note("`--input NAME=FILE` or `--calibrate FILES` gives some");
    }
    std::optional<std::vector<int64_t>> labels = read_labels(run_, samples_ ? samples_->count() : 0, diags_);
    if (!labels) return false;
    labels_ = std::move(*labels);
    if (limits_.least_accuracy && labels_.empty()) {
      return diags_.error_at(Code::BadOption, option_of(limits_), "accuracy needs the classes of the inputs")
          .note("`--labels FILE` gives them");
    }
    return observe(calibrating);
  }

  bool observe(const std::optional<Samples>& calibrating) {
    std::optional<Calibration> found = calibrating
                                           ? calibrate(compilation_, *calibrating, request_.ranges, diags_)
                                           : read_calibration(request_.calibration, compilation_.graph(), diags_);
    if (!found) return false;
    calibration_ = std::move(*found);
    return request_.save_calibration.empty() ||
           write_calibration(request_.save_calibration, compilation_.graph(), calibration_, diags_);
  }

  bool measure(SiteTrials& trials, ChosenSites* chosen) {
    if (!samples_) return true;
    meter_ = ErrorMeter::create(compilation_, model_.floats, *samples_, labels_, diags_);
    if (!meter_) return false;
    if (limits_.least_accuracy && !ErrorLimits{{}, limits_.least_accuracy}.hold(
                                      {{}, report::ClassAccuracy{meter_->right_in_f32(), 0, meter_->count()}})) {
      return diags_.error_at(Code::LimitExceeded, option_of(limits_), "in f32 the model has {} of {} right, {:.4g}",
                             meter_->right_in_f32(), meter_->count(),
                             static_cast<double>(meter_->right_in_f32()) / static_cast<double>(meter_->count()));
    }
    if (limits_.are_set()) return keep_within(limits_, model_, *meter_, trials, chosen, diags_);
    chosen->end_to_end = meter_->end_to_end(chosen->best.quantized.graph, diags_);
    return chosen->end_to_end.has_value();
  }

  std::vector<std::string> names_of(const std::vector<size_t>& sites) const {
    std::vector<std::string> names;
    for (size_t site : sites) names.push_back(model_.floats.node_name(model_.sites.sites[site].node));
    return names;
  }

  std::optional<report::QuantizeReport> report(const ChosenSites& chosen) const {
    report::QuantizeReport report;
    report.calibration =
        fmt::format("{} over {}", calibration_.method, runtime::counted(calibration_.samples, "input"));
    report.sites = model_.sites.sites.size();
    report.unusable = calibration_.unusable.size();
    report.quantized = static_cast<size_t>(std::count(chosen.best.wanted.begin(), chosen.best.wanted.end(), true));
    if (chosen.in_f32.is_possible()) report.in_f32 = chosen.in_f32.cost;
    report.now = chosen.best.cost;
    count_conversions(chosen.best.quantized.graph, &report);
    std::vector<std::vector<size_t>> groups;
    for (const SiteGroup& group : chosen.best.groups()) {
      const ir::Partition& partition = chosen.best.placement.partitions[group.partition];
      report.parts.push_back(
          {partition.name + " on " + partition.instance, names_of(group.sites), chosen.saved_by(group.sites), {}});
      groups.push_back(group.sites);
    }
    if (meter_ && !groups.empty()) {
      const std::optional<std::vector<report::QuantizationError>> errors = meter_->of_groups(model_, groups, diags_);
      if (!errors) return std::nullopt;
      for (size_t i = 0; i < groups.size(); ++i) report.parts[i].error = (*errors)[i];
    }
    if (!chosen.given_up.empty()) report.limit = option_of(limits_);
    for (const auto& [group, error] : chosen.given_up) {
      const bool is_known = group.saved != place::Cost();
      report.given_up.push_back(
          {"", names_of(group.sites), is_known ? std::optional(group.saved) : std::nullopt, error});
    }
    if (chosen.end_to_end) {
      report.error = chosen.end_to_end->error;
      report.accuracy = chosen.end_to_end->accuracy;
    }
    return report;
  }

  /// Those that the model did not have. Conversions of an Add belong to it.
  void count_conversions(const ir::Graph& graph, report::QuantizeReport* report) const {
    for (ir::NodeId id : graph.node_ids()) {
      const std::string& name = graph.node_name(id);
      const ir::Node& node = graph.node(id);
      if (node.op->name == "QuantizeLinear" && !model_.floats.find_node(name).is_valid() &&
          graph.value(node.inputs[0]).name + ".i8" == name) {
        ++report->to_integers;
      }
      const ir::NodeId before = model_.floats.find_node(name);
      if (node.op->name == "DequantizeLinear" && before.is_valid() && model_.floats.node(before).op != node.op) {
        ++report->to_floats;
      }
    }
  }

  compilation::Compilation& compilation_;
  const request::QuantizeRequest& request_;
  const runner::RunRequest& run_;
  support::Diagnostics& diags_;
  ErrorLimits limits_{request_.max_error, request_.min_accuracy};
  Calibration calibration_;
  QuantizableModel model_;
  std::optional<Samples> samples_;  ///< on which errors are measured
  std::vector<int64_t> labels_;
  std::optional<ErrorMeter> meter_;
};

}  // namespace

std::optional<report::QuantizeReport> quantize_model(compilation::Compilation& compilation,
                                                     const request::QuantizeRequest& request,
                                                     const runner::RunRequest& run, support::Diagnostics& diags) {
  if (!compilation.model().placement.empty()) {
    return diags.error_at(Code::BadOption, "--calibrate", "the model is placed already: it stays as it is written");
  }
  return ModelQuantizer(compilation, request, run, diags).quantize();
}

}  // namespace collage::quantize_search
