// SPDX-License-Identifier: Apache-2.0
// Appends nodes to the graph that the importer builds: infers types, evaluates constants, keeps names unique.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/diagnostic.h"

namespace collage::import {

/// One node on its way from ONNX into the graph. Upgrades rewrite it in place and may emit others before it.
struct PendingNode {
  std::string op;
  std::vector<ir::ValueId> inputs;  ///< invalid: left out
  ir::AttrMap attrs;
  std::vector<std::string> outputs;  ///< empty: unwanted
  std::string where;                 ///< `model.onnx: node 'conv1' (Conv)`
  std::string origin;
};

/// How the whole model uses its value names.
struct ModelNames {
  std::set<std::string, std::less<>> taken;    ///< all: new values get other names
  std::set<std::string, std::less<>> read;     ///< read by some node, or an output of the model
  std::set<std::string, std::less<>> outputs;  ///< outputs of the model
};

class Emitter {
 public:
  Emitter(ir::Graph& graph, ModelNames names, support::Diagnostics& diags)
      : graph_(graph), names_(std::move(names)), diags_(diags) {}

  ir::Graph& graph() { return graph_; }
  support::Diagnostics& diags() { return diags_; }
  const ir::TensorType& type(ir::ValueId id) const { return graph_.value(id).type; }
  bool is_read(const std::string& name) const { return names_.read.contains(name); }
  /// Returns the elements of a constant value; null for other values.
  const ir::Tensor* constant(ir::ValueId id) const;

  /// Adds the node, or constants instead if it can be evaluated now and produces no output of the model.
  /// False (and an error) if it does not fit the operator.
  bool emit(PendingNode node);
  /// Adds a node with one new result, named after `base`. Returns an invalid id on failure.
  ir::ValueId emit_before(const PendingNode& for_node, const std::string& op, std::vector<ir::ValueId> inputs,
                          ir::AttrMap attrs, std::string_view base);

  /// Constants that an upgrade needs in place of an attribute.
  ir::ValueId add_ints(std::string_view base, const std::vector<int64_t>& values);
  ir::ValueId add_floats(std::string_view base, const std::vector<double>& values);
  ir::ValueId add_scalar(std::string_view base, ir::DType dtype, double value);

  /// Adds `value` as a scalar of any dtype, saturated.
  static ir::Tensor scalar(ir::DType dtype, double value);

  /// Returns `base`, `base.1`, …: the first that no value of the model or the graph has.
  std::string fresh_name(std::string_view base) const;
  /// Returns a new name for the value `base` of a branch. The name counts as taken, and as read if `base` is read.
  std::string take_name(const std::string& base) { return take_name(base, is_read(base)); }
  std::string take_name(const std::string& base, bool is_read);

 private:
  ir::Graph& graph_;
  ModelNames names_;
  support::Diagnostics& diags_;
  /// For each base of a fresh name the first suffix that may be free: names are never given back.
  mutable std::map<std::string, int, std::less<>> next_suffix_;
  ir::FoldBudget budget_;
};

}  // namespace collage::import
