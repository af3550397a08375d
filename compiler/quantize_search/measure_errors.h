// SPDX-License-Identifier: Apache-2.0
// What quantisation does to results: end to end, and of each group of sites alone.
#pragma once

#include <optional>
#include <vector>

#include "compiler/quantize_search/host_run.h"
#include "compiler/quantize_search/try_sites.h"
#include "compiler/report/quantize_report.h"

namespace collage::quantize_search {

/// The differences of one tensor over many runs. NaN and infinity are errors without bound unless both have them.
class TensorErrors {
 public:
  void add(const runtime::Tensor& got, const runtime::Tensor& exact);
  report::QuantizationError error() const;

 private:
  double difference_ = 0, magnitude_ = 0;  ///< largest of all runs
  double signal_ = 0, noise_ = 0;
};

/// The samples on which errors are measured, and what the model gives for them in f32.
class ErrorMeter {
 public:
  /// `labels`: the class of each sample, or empty. Returns nullopt after an error.
  static std::optional<ErrorMeter> create(const compilation::Compilation& compilation, const ir::Graph& floats,
                                          Samples samples, std::vector<int64_t> labels, support::Diagnostics& diags);

  struct EndToEnd {
    report::QuantizationError error;
    std::optional<report::ClassAccuracy> accuracy;  ///< absent without labels
  };
  std::optional<EndToEnd> end_to_end(const ir::Graph& quantized, support::Diagnostics& diags) const;

  /// The error of each group of sites alone, on exact operands.
  std::optional<std::vector<report::QuantizationError>> of_groups(const QuantizableModel& model,
                                                                  const std::vector<std::vector<size_t>>& groups,
                                                                  support::Diagnostics& diags) const;

  int64_t right_in_f32() const { return right_in_f32_; }
  bool has_labels() const { return !labels_.empty(); }
  int64_t count() const { return samples_.count(); }

 private:
  ErrorMeter(const compilation::Compilation& compilation, Samples samples, std::vector<int64_t> labels)
      : compilation_(&compilation), samples_(std::move(samples)), labels_(std::move(labels)) {}
  bool is_right(int64_t sample, const std::vector<runtime::Tensor>& outputs) const;

  const compilation::Compilation* compilation_;
  Samples samples_;
  std::vector<int64_t> labels_;
  std::vector<std::vector<runtime::Tensor>> exact_;  ///< outputs of each sample
  int64_t right_in_f32_ = 0;
};

}  // namespace collage::quantize_search
