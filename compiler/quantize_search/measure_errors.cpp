// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize_search/measure_errors.h"

#include <cmath>
#include <limits>

#include "runtime/runner/run_model.h"

namespace collage::quantize_search {

using runtime::Tensor;

void TensorErrors::add(const Tensor& got, const Tensor& exact) {
  for (int64_t i = 0; i < exact.count(); ++i) {
    const double y = element_as_double(exact.view(), i), x = element_as_double(got.view(), i);
    if (std::isfinite(y)) {
      magnitude_ = std::max(magnitude_, std::abs(y));
      signal_ += y * y;
    }
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const bool is_finite = std::isfinite(x) && std::isfinite(y);
    const double difference = is_finite ? std::abs(x - y) : std::numeric_limits<double>::infinity();
    difference_ = std::max(difference_, difference);
    noise_ += difference * difference;
  }
}

report::QuantizationError TensorErrors::error() const {
  if (difference_ == 0) return {0, signal_, 0};
  return {magnitude_ > 0 ? difference_ / magnitude_ : std::numeric_limits<double>::infinity(), signal_, noise_};
}

std::optional<ErrorMeter> ErrorMeter::create(const compilation::Compilation& compilation, const ir::Graph& floats,
                                             Samples samples, std::vector<int64_t> labels,
                                             support::Diagnostics& diags) {
  ErrorMeter meter(compilation, std::move(samples), std::move(labels));
  const bool is_run = run_on_host(
      floats, compilation, meter.samples_,
      [&](int64_t sample, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
        meter.right_in_f32_ += meter.is_right(sample, outputs) ? 1 : 0;
        std::vector<Tensor> kept;
        for (const Tensor& output : outputs) kept.push_back(output.clone());
        meter.exact_.push_back(std::move(kept));
      },
      diags);
  if (!is_run) return std::nullopt;
  return meter;
}

bool ErrorMeter::is_right(int64_t sample, const std::vector<Tensor>& outputs) const {
  return !labels_.empty() && runner::argmax(outputs.front()) == labels_[static_cast<size_t>(sample)];
}

std::optional<ErrorMeter::EndToEnd> ErrorMeter::end_to_end(const ir::Graph& quantized,
                                                           support::Diagnostics& diags) const {
  EndToEnd result;
  std::vector<TensorErrors> errors(quantized.outputs().size());
  if (has_labels()) result.accuracy = report::ClassAccuracy{0, right_in_f32_, count()};
  const bool is_run = run_on_host(
      quantized, *compilation_, samples_,
      [&](int64_t sample, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
        for (size_t i = 0; i < outputs.size(); ++i) {
          errors[i].add(outputs[i], exact_[static_cast<size_t>(sample)][i]);
        }
        if (result.accuracy) result.accuracy->right += is_right(sample, outputs) ? 1 : 0;
      },
      diags);
  if (!is_run) return std::nullopt;
  for (const TensorErrors& one : errors) result.error.add(one.error());
  return result;
}

std::optional<std::vector<report::QuantizationError>> ErrorMeter::of_groups(
    const QuantizableModel& model, const std::vector<std::vector<size_t>>& groups, support::Diagnostics& diags) const {
  const quantize::ErrorGraph graph = quantize::error_graph(model.floats, model.sites, model.ranges, groups);
  std::vector<TensorErrors> of_tensors(graph.compared.size());
  const bool is_run = run_on_host(
      graph.graph, *compilation_, samples_,
      [&](int64_t, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
        for (size_t i = 0; i < of_tensors.size(); ++i) {
          of_tensors[i].add(outputs[graph.compared[i].integer], outputs[graph.compared[i].exact]);
        }
      },
      diags);
  if (!is_run) return std::nullopt;
  std::vector<report::QuantizationError> errors(groups.size());
  for (size_t i = 0; i < of_tensors.size(); ++i) errors[graph.compared[i].group].add(of_tensors[i].error());
  return errors;
}

}  // namespace collage::quantize_search
