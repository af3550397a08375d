// SPDX-License-Identifier: Apache-2.0
// The files of a RunRequest bound to the inputs and outputs of a model, before any work: a wrong name should not cost a
// search.
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/input/requests.h"
#include "compiler/ir/graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::driver {

/// A model input with what the user gave for it: one tensor, or a batch of which each run takes one.
struct BoundInput {
  ir::Tensor data;
  int64_t batch = 1;
};

/// In the order of the graph's inputs. Inputs that are not given are random unless the request is to run. Also checks
/// the names and files of expected and saved outputs. Returns nullopt after errors.
std::optional<std::vector<BoundInput>> bind_inputs(const RunRequest& request, const ir::Graph& graph,
                                                   support::Diagnostics& diags);

/// The inputs of one run out of the batch.
std::vector<ir::Tensor> inputs_of_run(const ir::Graph& graph, const std::vector<BoundInput>& bound, int64_t run);

/// The file given for `port`, or null. An entry without a name stands for the only port.
const NamedFile* file_for(const ir::Graph& graph, const std::vector<ir::ValueId>& ports, ir::ValueId port,
                          const std::vector<NamedFile>& files);

}  // namespace collage::driver
