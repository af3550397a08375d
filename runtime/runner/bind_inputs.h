// SPDX-License-Identifier: Apache-2.0
// The files of a RunRequest bound to the inputs and outputs of a model, before any work: a wrong name should not cost a
// search.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/runner/model_ports.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::runner {

/// A model input with what the user gave for it: one tensor, or a batch of which each run takes one.
struct BoundInput {
  runtime::Tensor data;
  int64_t batch = 1;
};

/// In the order of the model's inputs. Inputs that are not given are random unless the request is to run. Also checks
/// the names and files of expected and saved outputs. Returns nullopt after errors.
std::optional<std::vector<BoundInput>> bind_inputs(const RunRequest& request, const ModelPorts& model,
                                                   support::Diagnostics& diags);

/// Checks the names of `--input` alone, where nothing is run: the files have given their shapes. False after errors.
bool check_input_names(const RunRequest& request, const ModelPorts& model, support::Diagnostics& diags);

/// The inputs of one run out of the batch.
std::vector<runtime::Tensor> inputs_of_run(const ModelPorts& model, const std::vector<BoundInput>& bound, int64_t run);

/// The entry with the longest name of a port that it begins with.
NamedFile named_by(const NamedFile& entry, const std::vector<Port>& ports);
/// The file given for one of the ports. An entry without a name stands for the only port.
std::optional<std::string> file_for(const std::vector<Port>& ports, const Port& port,
                                    const std::vector<NamedFile>& files);

}  // namespace collage::runner
