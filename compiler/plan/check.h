// SPDX-License-Identifier: Apache-2.0
// `check`: runs the plan once and compares the results of every partition with those of the reference kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/build_plan.h"
#include "compiler/plan/element_errors.h"
#include "runtime/exec/executor.h"

namespace collage::plan {

inline constexpr double kDefaultTolerance = 1e-4;

struct CheckRow {
  std::string partition;  ///< empty: a model output as the run returned it
  std::string backend;
  std::string value;
  double max_difference = 0;  ///< max |y - reference|; infinite where one is NaN or infinite and the other is not
  double max_magnitude = 0;   ///< max |reference|
  bool passed = false;
  std::optional<ElementError> wrong_element{};  ///< of elementwise operators, though `max_difference` is small enough
  bool is_rounding = false;  ///< an output against that of the reference on the whole model: reported, not judged
  bool is_of_given =
      false;  ///< an output of the model after passes against that of the model as given; `backend` then is
              ///< the pass that changed it
};

struct CheckReport {
  double tolerance = kDefaultTolerance;
  std::vector<CheckRow>
      rows;  ///< in the order of execution, model outputs last; then what formats that round cost them

  bool passed() const;
};

/// max |a - b| <= tolerance * max |b| + slack passes; of integers max |a - b| <= slack. Bools must be equal.
CheckRow compare(const runtime::Tensor& got, const runtime::Tensor& reference, double tolerance, double slack = 0);

/// Runs the plan once. Each partition's results are compared with what the reference kernels make of the values that
/// the partition really read, so one that fails accuses itself alone; those of elementwise operators also element by
/// element (element_errors.h); model outputs with what their partition wrote.
/// Where formats round, the reference is rounded as the partition's results are, and rows at the end report how far
/// the model's outputs are from those of a run that rounds nothing.
/// Quantised results, and what is dequantised in their partition, may be `integer_steps` steps apart: a device that
/// rounds once more than the reference, or otherwise, is off by one.
/// Expects an executor that was loaded from `built.plan`. Its observer is replaced.
runtime::Result<CheckReport> check_plan(const ir::Graph& graph, const BuiltPlan& built, runtime::Executor& executor,
                                        const std::vector<runtime::Tensor>& inputs,
                                        double tolerance = kDefaultTolerance, int integer_steps = 0);

/// A plan, or what one host of a cluster has of it.
struct CheckedPart {
  const BuiltPlan& built;
  runtime::Executor& executor;  ///< loaded from `built.plan`
};

/// The same of a plan over the hosts of a cluster, by host, where a run of the first part's executor makes the others
/// run. Rows are in the order of the graph's values.
runtime::Result<CheckReport> check_parts(const ir::Graph& graph, const std::vector<CheckedPart>& parts,
                                         const std::vector<runtime::Tensor>& inputs,
                                         double tolerance = kDefaultTolerance, int integer_steps = 0);

/// A table, one line per row.
std::string print(const CheckReport& report);

/// One CheckFailed error per row that failed.
void report_failures(const CheckReport& report, support::Diagnostics& diags);

}  // namespace collage::plan
