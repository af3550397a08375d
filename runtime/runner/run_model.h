// SPDX-License-Identifier: Apache-2.0
// Runs a loaded model on what the user gave, and compares its outputs with what the user expects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/executor.h"
#include "runtime/plan/shape_table.h"
#include "runtime/runner/bind_inputs.h"
#include "runtime/runner/work_listener.h"

namespace collage::runner {

/// An output against the file of `--expect`.
struct ExpectedRow {
  std::string output;
  double difference = 0;  ///< max|diff| / max|y|
};

struct RunResult {
  std::vector<runtime::Tensor> outputs{};  ///< of the last run
  std::vector<int64_t> classes{};  ///< of each input of the batch: index of the largest element of the first output
  std::vector<ExpectedRow> expected{};
  std::optional<size_t> right{};  ///< classes that are those of the labels; absent without labels
};

/// Runs the model once for each input of the batch. `padding`: rows that the executor takes more than `model` has.
/// Returns nullopt after an error.
std::optional<RunResult> run_model(const ModelPorts& model, const std::vector<BoundInput>& bound,
                                   runtime::Executor& executor, const WorkListener& listener,
                                   support::Diagnostics& diags, const runtime::RowPadding& padding = {});

/// Compares the result with the expected outputs and labels of the request, notes what was found in it, and saves the
/// outputs that the request names. False after an error: a difference that is too large is one.
bool judge_result(const RunRequest& request, const ModelPorts& model, RunResult* result, support::Diagnostics& diags);

/// Index of the first of the largest elements.
int64_t argmax(const runtime::Tensor& tensor);
/// True for [1, …, 1, n]-like scores of n classes.
bool are_scores(const runtime::Tensor& tensor);

std::string print(const RunResult& result, const ModelPorts& model);

}  // namespace collage::runner
