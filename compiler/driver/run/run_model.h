// SPDX-License-Identifier: Apache-2.0
// `--run`, `--check`, `--bench`: a built plan on the user's inputs, and what its results say.
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/input/listener.h"
#include "compiler/driver/input/options.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/placement.h"
#include "compiler/support/diagnostic.h"
#include "runtime/exec/executor.h"

namespace collage::driver {

/// A model input with what the user gave for it: one tensor, or a batch of which each run takes one.
struct BoundInput {
  ir::Tensor data;
  int64_t batch = 1;
};

/// In the order of the graph's inputs. Without `--run` those that are not given are random. Also checks the names of
/// `--expect` and `--save`. Nothing after errors.
std::optional<std::vector<BoundInput>> bind_inputs(const Options& options, const ir::Graph& graph,
                                                   support::Diagnostics& diags);

/// The inputs of one run out of the batch.
std::vector<ir::Tensor> inputs_of_run(const ir::Graph& graph, const std::vector<BoundInput>& bound, int64_t run);

/// Runs once per input of the batch, prints results, compares with `--expect` and `--labels`. False after an error.
bool run_model(const Options& options, const ir::Graph& graph, const std::vector<BoundInput>& bound,
               runtime::Executor& executor, const Listener& listener, support::Diagnostics& diags);

/// Times `options.bench` runs after a warm-up and prints median, least and the simulated devices' time; of a concurrent
/// plan also the makespan, and the time per input of a stream whose steps take the least that they took. Writes them
/// all, in order, to `options.bench_json`.
bool bench_model(const Options& options, const ir::Graph& graph, const runtime::Plan& plan,
                 const std::vector<BoundInput>& bound, runtime::Executor& executor, const Listener& listener,
                 support::Diagnostics& diags);

}  // namespace collage::driver
