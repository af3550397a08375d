// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/rewrite_partitions.h"

#include <algorithm>

#include "compiler/ir/graph/copy_node.h"
#include "compiler/ir/graph/subgraph.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/match/rewrite.h"
#include "compiler/plan/find_matches.h"

namespace collage::plan {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::Partition;
using ir::ValueId;

/// Returns the body as a model of its own: its inputs are what it reads, its outputs what others read of it. Names and
/// pins are kept.
Graph body_of(const Graph& graph, const Partition& partition) {
  ir::Subgraph body = ir::make_subgraph(graph, partition.nodes);
  for (NodeId copy : body.graph.node_ids()) body.graph.node(copy).pin = graph.node(partition.nodes[copy.slot()]).pin;
  for (const ir::BoundaryValue& output : partition.outputs) body.graph.mark_output(body.copies.at(output.value));
  return std::move(body.graph);
}

/// Puts bodies together again, in an order in which they can run.
class Assembler {
 public:
  explicit Assembler(const Graph& from) : from_(from), new_values_(from.value_count()) {
    model_.graph.name = from.name;
    for (ValueId id : from.inputs()) {
      const ir::Value& value = from.value(id);
      map(id, model_.graph.add_input(value.name, value.type, value.span));
    }
  }

  void add(const Partition& partition, const Graph& body, Partition* result) {
    std::vector<ValueId> copies(body.value_count());
    std::vector<bool> is_read(from_.value_count(), false);
    auto copied = [&](ValueId id) -> ValueId {
      if (!id.is_valid() || copies[id.slot()].is_valid()) return id.is_valid() ? copies[id.slot()] : id;
      const ir::Value& value = body.value(id);
      ValueId old = from_.find_value(value.name);
      bool is_new = value.is_constant() && !reads(partition, old);
      if (!is_new) is_read[old.slot()] = true;
      copies[id.slot()] = is_new ? model_.graph.add_constant(fresh_name(value.name), *value.constant) : outside(old);
      return copies[id.slot()];
    };
    result->nodes.clear();
    for (NodeId id : body.node_ids()) {
      const NodeId copy = ir::copy_node(
          body, id, model_.graph, copied, [&](ValueId made) { return result_name(body.value(made).name, partition); },
          [&](ValueId own, ValueId made) {
            copies[own.slot()] = made;
            if (ValueId old = from_.find_value(model_.graph.value(made).name); old.is_valid()) map(old, made);
          });
      model_.graph.node(copy).pin = body.node(id).pin;
      result->nodes.push_back(copy);
    }
    result->inputs.clear();
    for (const ir::BoundaryValue& input : partition.inputs) {
      if (is_read[input.value.slot()]) result->inputs.push_back({outside(input.value), input.format});
    }
    for (ir::BoundaryValue& output : result->outputs) output.value = outside(output.value);
  }

  /// Renumbers the matches of a partition whose body no rewrite changed: its nodes are those before, in their order.
  void keep_matches(const Partition& partition, Partition* result) {
    ir::renumber(
        partition.nodes, result->nodes, [&](ValueId value) { return outside(value); }, result->matches);
  }

  /// What stands for a value of the model before.
  ValueId outside(ValueId old) {
    const ir::Value& value = from_.value(old);
    if (!new_values_[old.slot()].is_valid() && value.is_constant()) {
      map(old, model_.graph.add_constant(value.name, *value.constant, value.span));
    }
    return new_values_[old.slot()];
  }

  RewrittenModel finish() {
    for (ValueId output : from_.outputs()) model_.graph.mark_output(outside(output));
    model_.old_values.resize(model_.graph.value_count());
    for (ValueId old : from_.value_ids()) {
      if (new_values_[old.slot()].is_valid()) model_.old_values[new_values_[old.slot()].slot()] = old;
    }
    return std::move(model_);
  }

 private:
  void map(ValueId old, ValueId by) { new_values_[old.slot()] = by; }

  static bool has_node(const Partition& partition, NodeId node) {
    return std::binary_search(partition.nodes.begin(), partition.nodes.end(), node);
  }

  /// Did the partition read the value before?
  bool reads(const Partition& partition, ValueId old) const {
    if (!old.is_valid()) return false;
    const std::vector<ir::Use>& uses = from_.value(old).uses;
    return std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return has_node(partition, use.node); });
  }

  /// Neither model has it: a body does not know the names of the others.
  std::string fresh_name(const std::string& base) const { return model_.graph.unique_name(base, &from_); }

  /// A result that the body had before keeps its name.
  std::string result_name(const std::string& name, const Partition& partition) const {
    ValueId old = from_.find_value(name);
    bool was_there =
        old.is_valid() && from_.value(old).producer.is_valid() && has_node(partition, from_.value(old).producer);
    return was_there ? name : fresh_name(name);
  }

  const Graph& from_;
  RewrittenModel model_;
  std::vector<ValueId> new_values_;  ///< by value of the model before
};

}  // namespace

namespace {

/// Applies the rewrites of a backend to a body. Returns true if it changed.
bool apply_post_rewrites(const BackendTarget& backend, Graph* body) {
  bool changed = false;
  for (const PostRewrite& post : backend.post_rewrites) {
    changed = match::apply_rewrite(*body, post.backend, post.rewrite, post.attrs, nullptr, backend.environment.get()) ||
              changed;
  }
  return changed;
}

/// Matches of a body that a rewrite changed. The matches that were priced are of nodes that are gone, so the rules are
/// matched again on the new ones: those of before if they still cover the body, else any rules of the backend. A body
/// that no rules cover runs without requests, as its backend runs nodes by default.
void match_again(const BackendTarget& backend, PartitionMatcher& matcher, Partition* partition) {
  if (partition->matches.empty() || !backend.rules) return partition->matches.clear();
  std::optional<std::vector<ir::ChosenMatch>> found = matcher.find(backend, *partition);
  partition->matches.clear();
  if (!found) found = matcher.find(backend, *partition);
  if (found) partition->matches = std::move(*found);
}

}  // namespace

std::optional<RewrittenModel> rewrite_partitions(const Graph& graph, const ir::Placement& placement,
                                                 const PlanTargets& targets) {
  bool has_rewrites = std::any_of(targets.backends.begin(), targets.backends.end(),
                                  [](const BackendTarget& backend) { return !backend.post_rewrites.empty(); });
  if (!has_rewrites) return std::nullopt;
  std::vector<Graph> bodies;
  std::vector<bool> changed;
  for (const Partition& partition : placement.partitions) {
    bodies.push_back(body_of(graph, partition));
    const BackendTarget* backend = targets.find_backend(partition.backend);
    changed.push_back(backend != nullptr && apply_post_rewrites(*backend, &bodies.back()));
  }
  if (std::find(changed.begin(), changed.end(), true) == changed.end()) return std::nullopt;
  Assembler assembler(graph);
  ir::Placement result = placement;
  for (size_t index : ir::execution_order(graph, placement)) {
    assembler.add(placement.partitions[index], bodies[index], &result.partitions[index]);
    if (!changed[index]) assembler.keep_matches(placement.partitions[index], &result.partitions[index]);
  }
  for (ir::Conversion& conversion : result.conversions) conversion.value = assembler.outside(conversion.value);
  RewrittenModel model = assembler.finish();
  model.placement = std::move(result);
  PartitionMatcher matcher(model.graph);
  for (size_t index = 0; index < changed.size(); ++index) {
    Partition& partition = model.placement.partitions[index];
    if (changed[index]) match_again(*targets.find_backend(partition.backend), matcher, &partition);
  }
  ir::verify(model.graph);
  return model;
}

}  // namespace collage::plan
