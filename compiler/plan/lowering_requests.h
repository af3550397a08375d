// SPDX-License-Identifier: Apache-2.0
// What the rules of a partition ask of its runtime. A placement only names rules; here they are matched again on the
// partition's nodes, and their `lower` arguments get values.
//
//     partition {c, y} rule "conv_act.Relu"   =>   conv_act.Relu: sim "conv"(x = %x, w = %w, act = "Relu", lanes = 16)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/placement.h"
#include "compiler/ir/rule_set.h"
#include "compiler/match/matcher.h"
#include "compiler/plan/targets.h"
#include "compiler/support/diagnostic.h"
#include "runtime/core/lowering_call.h"

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
};

/// `sim "conv"(x = %x, w = encode(%w, "OHWI"), act = "Relu") -> %y`
std::string to_string(const ir::Graph& graph, const LoweringRequest& request);

/// How the request of the node wants the constant; empty: as it is.
std::string encoding_of(const std::vector<LoweringRequest>& requests, ir::NodeId node, ir::ValueId value);

/// As plain data: `slot` numbers values, operators are numbered by their place in `nodes` (ascending).
runtime::LoweringCall make_call(const LoweringRequest& request, const std::vector<ir::NodeId>& nodes,
                                const std::function<int(ir::ValueId, const std::string& encoding)>& slot);

/// Does a runtime that does as the request says compute with less than f32?
bool loses_precision(const LoweringRequest& request);

/// Matches of whole backends, found at most once each.
class RequestFinder {
 public:
  RequestFinder(const ir::Graph& graph, const PlanTargets& targets, support::Diagnostics& diags)
      : graph_(graph), targets_(targets), diags_(diags) {}

  /// By first node. Empty where the partition names no rules, or rules that do not match there, as a partition written
  /// by hand may. Nothing after an error: an argument without a value.
  std::optional<std::vector<LoweringRequest>> of(const ir::Partition& partition);

 private:
  const std::vector<match::Match>& matches_of(const BackendTarget& backend);
  std::optional<LoweringRequest> request(const BackendTarget& backend, const match::Match& match);

  const ir::Graph& graph_;
  const PlanTargets& targets_;
  support::Diagnostics& diags_;
  std::map<std::string, std::vector<match::Match>, std::less<>> by_backend_;
};

/// Matches whose rules are those that `rules` names, each as often, that are disjoint and together are `nodes`
/// (ascending): the first such choice, the smallest node that is left at a time, in the order of `matches`. Empty if
/// there is none, or none was found in a bounded number of steps.
std::vector<const match::Match*> cover(const std::vector<match::Match>& matches, const ir::Backend& backend,
                                       const std::vector<std::string>& rules, const std::vector<ir::NodeId>& nodes);

}  // namespace collage::plan
