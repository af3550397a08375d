// SPDX-License-Identifier: Apache-2.0
// What the rules of a partition ask of its runtime: the `lower` of each match that the placement chose, with values for
// its arguments.
//
//     partition {c, y} rule "conv_act.Relu"   =>   conv_act.Relu: sim "conv"(x = %x, w = %w, act = "Relu", lanes = 16)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement/placement.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/match/instantiate.h"
#include "compiler/plan/targets.h"
#include "runtime/core/lowering_call.h"
#include "runtime/support/diagnostic.h"

namespace collage::plan {

struct RequestArg {
  std::string name;
  ir::ValueId value;  ///< or, where it is not valid:
  runtime::AttrValue attr = int64_t{0};
  std::string encoding;  ///< of a constant
};

/// One match, and what its rule asks for.
struct LoweringRequest {
  std::string rule;
  ir::LoweringKind kind = ir::LoweringKind::HostJit;
  std::string symbol;
  std::vector<RequestArg> args;      ///< those of captures that are absent left out
  std::vector<ir::NodeId> nodes;     ///< ascending
  std::vector<ir::ValueId> results;  ///< of its nodes, read outside or model outputs; ascending
  support::Span span;                ///< of the `lower` in the rule file
  std::optional<ir::Precision> precision{};
  std::optional<match::BuiltTemplate> meaning{};  ///< what its kernel computes, by its `semantics`
};

/// `sim "conv"(x = %x, w = encode(%w, "OHWI"), act = "Relu") -> %y`
std::string to_string(const ir::Graph& graph, const LoweringRequest& request);

/// How the request of the node wants the constant; empty: as it is.
std::string encoding_of(const std::vector<LoweringRequest>& requests, ir::NodeId node, ir::ValueId value);

/// As plain data: `slot` numbers values, `ops` are the operators that it covers.
runtime::LoweringCall make_call(const LoweringRequest& request, std::vector<int> ops,
                                const std::function<int(ir::ValueId, const std::string& encoding)>& slot);

/// The places of the request's nodes in `nodes` (ascending).
std::vector<int> places_of(const LoweringRequest& request, const std::vector<ir::NodeId>& nodes);

/// Does a runtime that does as the request says compute with less than f32?
bool loses_precision(const LoweringRequest& request);
/// Relative error that `check` allows where this is so: some roundings of the operands and of each result in turn.
double tolerance_of(const LoweringRequest& request);

/// Returns the requests of a partition, by first node; none where it has no matches, or its backend no rules. Returns
/// nullopt after an error: an argument without a value. Expects matches that were found (find_matches.h).
std::optional<std::vector<LoweringRequest>> requests_of(const ir::Graph& graph, const PlanTargets& targets,
                                                        const ir::Partition& partition, support::Diagnostics& diags);

}  // namespace collage::plan
