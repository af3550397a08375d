// SPDX-License-Identifier: Apache-2.0
// One of ONNX's tests, as a folder: `model.onnx` beside `test_data_set_0/{input,output}_N.pb`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/core/tensor.h"
#include "runtime/support/diagnostic.h"

namespace collage::testing {

enum class Outcome { Passed, Refused, Failed };

/// A test that was read and imported, or why it was not.
struct NodeTestCase {
  Outcome outcome = Outcome::Passed;  ///< Passed: there is a graph to run
  bool has_data = false;              ///< its inputs and outputs were read
  std::string why;                    ///< the diagnostics of the importer, or what is wrong with the data
  std::optional<ir::Graph> graph{};
  std::vector<runtime::Tensor> inputs{};  ///< empty if all were bound
  std::vector<runtime::Tensor> wanted{};
};

/// Reads the data and imports the model. Where it reads at run time what decides a shape, all inputs are bound to the
/// data, as constants.
NodeTestCase read_node_test(const std::filesystem::path& folder);

/// Says whether all errors are of models that Collage does not support.
bool is_refusal(const support::Diagnostics& diags);

/// Says how the outputs differ from those of the test; empty if they do not. A float may be off by as much as ONNX's
/// own runner lets it be or, where `steps` is not 0, by so many steps of its dtype at the largest number of the output.
std::string difference(const std::vector<runtime::Tensor>& got, const std::vector<runtime::Tensor>& wanted,
                       double steps = 0);

}  // namespace collage::testing
