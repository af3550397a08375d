// SPDX-License-Identifier: Apache-2.0
// Runs a graph on generated code alone, for what it computes and not for how long it takes. Integers come out as on
// every device.
#pragma once

#include <functional>
#include <vector>

#include "compiler/compilation/compilation.h"
#include "compiler/quantize_search/samples.h"

namespace collage::quantize_search {

/// Called with the index of the sample, its inputs and the outputs of the graph.
using TakeOutputs = std::function<void(int64_t sample, const std::vector<runtime::Tensor>& inputs,
                                       const std::vector<runtime::Tensor>& outputs)>;

/// Runs `graph`, whose inputs are those of the compilation's model, on every sample. False after an error.
bool run_on_host(const ir::Graph& graph, const compilation::Compilation& compilation, const Samples& samples,
                 const TakeOutputs& take, support::Diagnostics& diags);

}  // namespace collage::quantize_search
