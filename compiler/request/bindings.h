// SPDX-License-Identifier: Apache-2.0
// What fixes the open dimensions of a model: `--shape`, and the files that are given for its inputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/open_shape.h"
#include "runtime/runner/run_request.h"
#include "runtime/support/diagnostic.h"

namespace collage::request {

/// Reads `x=1x3x224x224,seq=1..512`; replaces those of `bindings` that have the same names. Returns what is wrong, or
/// "". `option` names the place in messages: `--shape`.
std::string add_bindings(const std::string& text, const std::string& option, std::vector<ir::ShapeBinding>& bindings);
/// Reads `batch=1,8,32` and combines each of the sizes with each of `buckets`. Returns what is wrong, or "".
std::string add_buckets(const std::string& text, std::vector<std::vector<ir::ShapeBinding>>& buckets);
/// `x=1x3x224x224`
std::string to_string(const ir::ShapeBinding& binding);

/// The tensors that the request gives for inputs, by input. Pictures and `random` have the shape that the model wants,
/// and are not among them. Returns nullopt after an error.
std::optional<std::map<std::string, ir::Tensor>> read_given(const runner::RunRequest& request,
                                                            const std::vector<ir::OpenInput>& inputs,
                                                            support::Diagnostics& diags);

/// The shapes of these tensors. With labels for each of a batch, the batch is run one by one: its size binds nothing.
std::vector<ir::ShapeBinding> bindings_of(const std::map<std::string, ir::Tensor>& given, bool has_labels);

}  // namespace collage::request
