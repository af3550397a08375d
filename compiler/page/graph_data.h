// SPDX-License-Identifier: Apache-2.0
// The graph of the page, and what of a placement `--json=FILE` leaves out: the rules with their places in the rule
// files, what costs are made of, and the blocks in which the page shows partitions and nodes (blocks.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compiler/report/explain/alternative.h"

namespace collage::page {

/// `{inputs: [value], outputs: [value], values: [{name, type, bytes, kind}], nodes: [{name, op, attrs, origin, place,
/// in: [value], out: [value]}]}`. Values and nodes are named by index; -1 is an operand or result that is absent.
/// `kind`: constant or input, otherwise it is left out, as are empty texts.
nlohmann::ordered_json graph_data(const ir::Graph& graph, const support::SourceManager& sources);

/// A rule, `{name, where, line}`: `rules/npu.rules:19` and what it matches, `match y = Relu(c = Conv(x, w: const))`.
nlohmann::ordered_json rule_data(const ir::Rule& rule, const support::SourceManager& sources);

/// `{partitions: [{nodes: [node], rules: [rule], parts: [{node, nodes, cost_s, text}], node_s, exact, inside: blocks}],
/// blocks}`, in the order of the partitions. `parts`: the candidates that make one up, each by its first node; none
/// where nothing was searched. `node_s`, `exact`: predicted times of its nodes (time_data.h). `inside`: of its nodes,
/// absent for a single one. Blocks are lists of a number, which is an item, or `{times, name, blocks}`: of partitions
/// in the order in which they can run, of nodes in that of a partition's nodes; `name`: of its scope, where it has one.
nlohmann::ordered_json placement_data(const report::ExplainedPlacement& explained);

}  // namespace collage::page
