// SPDX-License-Identifier: Apache-2.0
// Nodes that no ir::Graph has: branches, loops, sequences, optional values (import/host_operators.def). Each is a
// function from the values that the node reads to its results; missing trailing results are not wanted.
#pragma once

#include <vector>

#include "compiler/stages/graph_runner.h"

namespace collage::stages {

using HostFunction = StageResult (*)(const import::NodeView& node, const Scope& scope, GraphRunner& runner);

/// Null for operators that the reference kernels have, and for those of other domains than the standard's.
HostFunction find_host_function(const import::NodeView& node, const Scope& scope);

#define HOST_OPERATOR(name) \
  StageResult run_##name(const import::NodeView& node, const Scope& scope, GraphRunner& runner);
#include "compiler/import/host_operators.def"
HOST_OPERATOR(If)
#undef HOST_OPERATOR

/// Operand `i`, which must be a tensor.
runtime::Result<ir::Tensor> tensor_operand(const import::NodeView& node, size_t i, const Scope& scope);
/// The only element of operand `i`; `absent` where it is left out.
runtime::Result<int64_t> int_operand(const import::NodeView& node, size_t i, const Scope& scope, int64_t absent);
bool has_operand(const import::NodeView& node, size_t i);
/// Whether result `i` of the node has a name.
bool is_wanted(const import::NodeView& node, size_t i);
ir::Tensor int_scalar(int64_t value);
ir::Tensor bool_scalar(bool value);

}  // namespace collage::stages
