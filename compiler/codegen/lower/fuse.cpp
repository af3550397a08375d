// SPDX-License-Identifier: Apache-2.0
// Greedy, in ascending order of nodes: a pointwise node joins the group of one of its operands (an anchor's before a
// pointwise one, a later before an earlier) if the shapes agree and no cycle of groups arises; then groups of its other
// operands are merged under the same conditions. A node that works along rows (`row_program.h`) makes the pointwise
// group of its operand a group over rows, which also takes what has one number per row. Before all that, nodes that cut
// rows and join them are grouped with what is computed in between (`row_moves.h`).
#include "compiler/codegen/lower/fuse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/codegen/generators/direct_conv.h"
#include "compiler/codegen/generators/separable_conv.h"
#include "compiler/codegen/kernel/conv_problem.h"
#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/kernel/reductions.h"
#include "compiler/codegen/kernel/row_moves.h"
#include "compiler/codegen/kernel/row_program.h"
#include "compiler/codegen/lower/lowerings.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/check.h"

namespace collage::codegen {
namespace {

/// Limits live vectors and the size of one kernel.
constexpr size_t kMostNodes = 48;
/// Drafts that are examined on the way from one to another.
constexpr size_t kMostBetween = 1 << 10;

struct Draft {
  ir::NodeId anchor;
  ir::NodeId prologue;
  std::vector<ir::NodeId> between;  ///< as Group
  std::vector<ir::NodeId> nodes;
  ir::Shape shape;
  bool closed = false;  ///< accepts no further node
  bool by_rows = false;
  bool is_attention = false;                     ///< two products with rows of `row_shape` between them
  std::optional<RowMoves> moves = std::nullopt;  ///< as Group
  ir::Shape row_shape;
  size_t inner = 0;                                ///< anchored: dimensions along the lanes
  std::optional<ir::DType> number = std::nullopt;  ///< what it is computed in; none: only booleans, so far
};

class Grouping {
 public:
  Grouping(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes, const GeneratorNames& generators,
           Numerics numerics)
      : graph_(graph), nodes_(nodes), generators_(generators), numerics_(numerics) {}

  std::vector<Group> run() {
    take_moved_rows();
    for (ir::NodeId id : nodes_) {
      if (!of_.contains(id)) place(id);
    }
    return ordered();
  }

 private:
  /// Others read one result of such nodes, so that no cycle arises among them. What is placed later sees their drafts.
  void take_moved_rows() {
    std::set<ir::NodeId> free(nodes_.begin(), nodes_.end());
    for (auto id = nodes_.rbegin(); id != nodes_.rend(); ++id) {
      if (graph_.node(*id).op->name != "Concat" || !free.contains(*id)) continue;
      std::optional<RowMoves> moves = row_moves(graph_, *id, free);
      if (!moves) continue;
      Draft fresh;
      fresh.nodes = moves->nodes;
      fresh.moves = std::move(moves);
      fresh.closed = true;
      fresh.number = result_dtype(fresh.nodes.back());
      fresh.shape = result_shape(fresh.nodes.back());
      for (ir::NodeId node : fresh.nodes) {
        of_[node] = static_cast<int>(drafts_.size());
        free.erase(node);
      }
      drafts_.push_back(std::move(fresh));
    }
  }

  void place(ir::NodeId id) {
    if (!is_pointwise(graph_, id)) {
      if (join_products(id) || put_through_transpose(id)) return;
      if (const std::optional<ir::Shape> rows = row_shape(graph_, id)) {
        place_in_rows(id, *rows);
      } else {
        open_anchor(id);
      }
      return;
    }
    const std::vector<int> neighbours = keeps_apart(id) ? std::vector<int>() : sorted_neighbours(id);
    int home = -1;
    for (int candidate : neighbours) {
      if (!takes(candidate, id) || leads_around({candidate}, {id})) continue;
      home = candidate;
      break;
    }
    if (home < 0) {
      Draft fresh;
      fresh.shape = result_shape(id);
      fresh.closed = keeps_apart(id);
      drafts_.push_back(fresh);
      home = static_cast<int>(drafts_.size()) - 1;
    }
    draft(home).nodes.push_back(id);
    if (!draft(home).number) draft(home).number = number_of(graph_, id);
    of_[id] = home;
    for (int other : neighbours) {
      if (other != home) merge(home, other);
    }
  }

  /// Triangles of booleans, which are masks: rows, which compute with floats, could not take a Where with its mask.
  bool keeps_apart(ir::NodeId id) const {
    return depends_on_place(graph_.node(id)) && result_dtype(id) == ir::DType::Bool;
  }

  /// Drafts of operands: anchored ones first, then the later first.
  std::vector<int> sorted_neighbours(ir::NodeId id) {
    std::vector<int> neighbours = operand_drafts(id);
    std::stable_sort(neighbours.begin(), neighbours.end(), [&](int a, int b) {
      bool anchored_a = draft(a).anchor.is_valid();
      bool anchored_b = draft(b).anchor.is_valid();
      if (anchored_a != anchored_b) return anchored_a;
      return draft(a).nodes.back() > draft(b).nodes.back();
    });
    return neighbours;
  }

  void place_in_rows(ir::NodeId id, const ir::Shape& rows) {
    int home = -1;
    for (int candidate : sorted_neighbours(id)) {
      const Draft& d = draft(candidate);
      if (d.anchor.is_valid() || d.nodes.size() >= kMostNodes || d.shape != rows) continue;
      if (d.number && d.number != result_dtype(id)) continue;
      const bool fits = std::all_of(d.nodes.begin(), d.nodes.end(),
                                    [&](ir::NodeId node) { return row_role(graph_, node, rows) != RowRole::None; });
      if (!fits || leads_around({candidate}, {id})) continue;
      home = candidate;
      break;
    }
    if (home < 0) {
      Draft fresh;
      fresh.shape = rows;
      drafts_.push_back(fresh);
      home = static_cast<int>(drafts_.size()) - 1;
    }
    draft(home).by_rows = true;
    draft(home).number = result_dtype(id);
    draft(home).nodes.push_back(id);
    of_[id] = home;
  }

  /// Returns the only node that reads the value; invalid if there are more, or it is an output.
  ir::NodeId only_reader(ir::ValueId value) const {
    const ir::Value& v = graph_.value(value);
    return v.is_output || v.uses.size() != 1 ? ir::NodeId() : v.uses[0].node;
  }

  /// Returns the draft of the value's producer if all that the draft makes is this value, for `reader` alone; else -1.
  int draft_for(ir::ValueId value, ir::NodeId reader) const {
    const auto at = of_.find(graph_.value(value).producer);
    if (at == of_.end() || only_reader(value) != reader) return -1;
    const Draft& d = drafts_[static_cast<size_t>(at->second)];
    for (ir::NodeId node : d.nodes) {
      for (ir::ValueId result : graph_.node(node).outputs) {
        if (result.is_valid() && result != value && is_stored(result, at->second)) return -1;
      }
    }
    return at->second;
  }

  /// MatMul(rows(MatMul(q, k)), v) => one draft, with the Transposes that make q, k and v for it alone.
  bool join_products(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.op->name != "MatMul" || !find_lowering("MatMul")->accepts(graph_, id)) return false;
    const int rows = draft_for(node.inputs[0], id);
    if (rows < 0 || !draft(rows).by_rows) return false;
    // Its blocks hand on scores that are not rounded.
    if (runtime::is_narrow_float(result_dtype(id))) return false;
    const ir::Shape shape = draft(rows).shape;
    const ir::Shape& result = result_shape(id);
    if (shape != graph_.value(node.inputs[0]).type.shape || shape.size() != result.size()) return false;
    if (!std::equal(shape.begin(), shape.end() - 1, result.begin())) return false;
    std::set<int> parts = {rows};
    ir::NodeId product;
    for (int other : operand_drafts_of(rows)) {
      const ir::NodeId anchor = draft(other).anchor;
      if (!anchor.is_valid() || draft(other).is_attention || graph_.node(anchor).op->name != "MatMul") continue;
      if (draft(other).shape != shape || product.is_valid()) continue;
      if (!find_lowering("MatMul")->accepts(graph_, anchor)) continue;
      if (!only_feeds(other, rows)) continue;
      product = anchor;
      parts.insert(other);
    }
    if (!product.is_valid()) return false;
    std::vector<ir::NodeId> nodes = {id};
    for (int part : parts) {
      for (ir::NodeId member : draft(part).nodes) {
        if (member != product && row_role(graph_, member, shape) == RowRole::None) return false;
        nodes.push_back(member);
      }
    }
    for (const auto& [value, reader] :
         {std::pair{graph_.node(product).inputs[0], product}, std::pair{graph_.node(product).inputs[1], product},
          std::pair{node.inputs[1], id}}) {
      const int made_by = draft_for(value, reader);
      if (made_by < 0 || draft(made_by).nodes.size() != 1) continue;
      const ir::NodeId transpose = draft(made_by).nodes[0];
      if (graph_.node(transpose).op->name != "Transpose") continue;
      nodes.push_back(transpose);
      parts.insert(made_by);
    }
    if (leads_around(parts, nodes)) return false;
    Draft fresh;
    fresh.anchor = id;
    fresh.nodes = nodes;
    std::sort(fresh.nodes.begin(), fresh.nodes.end());
    fresh.closed = true;
    fresh.is_attention = true;
    fresh.number = result_dtype(id);
    fresh.shape = result;
    fresh.row_shape = shape;
    for (int part : parts) draft(part).nodes.clear();
    for (ir::NodeId member : fresh.nodes) of_[member] = static_cast<int>(drafts_.size());
    drafts_.push_back(std::move(fresh));
    return true;
  }

  /// The only reader of such a draft's result: it is stored where the Transpose puts it, if its rows stay rows.
  bool put_through_transpose(ir::NodeId id) {
    const ir::Node& node = graph_.node(id);
    if (node.op->name != "Transpose") return false;
    const auto at = of_.find(graph_.value(node.inputs[0]).producer);
    if (at == of_.end() || !draft(at->second).is_attention || only_reader(node.inputs[0]) != id) return false;
    Draft& home = draft(at->second);
    const std::vector<int64_t> perm = ir::attrs_of(node).ints_of("perm");
    const bool is_last = !perm.empty() && perm.back() + 1 == static_cast<int64_t>(perm.size());
    if (!is_last || graph_.node(home.nodes.back()).op->name == "Transpose") return false;
    home.nodes.push_back(id);
    of_[id] = at->second;
    return true;
  }

  std::set<int> operand_drafts_of(int of) {
    std::set<int> found;
    for (ir::NodeId node : draft(of).nodes) {
      for (int other : operand_drafts(node)) {
        if (other != of) found.insert(other);
      }
    }
    return found;
  }

  /// Returns whether everything that the draft makes for others is one value, and `reader` alone reads it.
  bool only_feeds(int from, int reader) const {
    std::set<ir::ValueId> read;
    for (ir::NodeId node : drafts_[static_cast<size_t>(from)].nodes) {
      for (ir::ValueId result : graph_.node(node).outputs) {
        if (!result.is_valid() || !is_stored(result, from)) continue;
        const ir::Value& v = graph_.value(result);
        if (v.is_output) return false;
        for (const ir::Use& use : v.uses) {
          const auto at = of_.find(use.node);
          if (at == of_.end() || (at->second != from && at->second != reader)) return false;
        }
        read.insert(result);
      }
    }
    return read.size() == 1;
  }

  /// Returns whether a path leads from these drafts through others to one of `targets`, with which they would become
  /// one. Groups run as a whole: a path from one node of a group is a path from all.
  ///
  /// Only what is placed can lie on such a path. Nodes are placed in order, so that little lies after the draft of an
  /// operand; where it is much, a path is assumed.
  bool leads_around(const std::set<int>& homes, const std::vector<ir::NodeId>& targets) const {
    const std::set<ir::NodeId> ends(targets.begin(), targets.end());
    std::set<int> seen = homes;
    std::vector<int> open(homes.begin(), homes.end());
    while (!open.empty()) {
      if (seen.size() > kMostBetween) return true;
      const int at = open.back();
      open.pop_back();
      for (ir::NodeId node : drafts_[static_cast<size_t>(at)].nodes) {
        for (ir::NodeId reader : readers_of(node)) {
          if (ends.contains(reader)) {
            if (!homes.contains(at)) return true;
            continue;
          }
          const auto placed = of_.find(reader);
          if (placed != of_.end() && seen.insert(placed->second).second) open.push_back(placed->second);
        }
      }
    }
    return false;
  }

  std::vector<ir::NodeId> readers_of(ir::NodeId id) const {
    std::vector<ir::NodeId> readers;
    for (ir::ValueId result : graph_.node(id).outputs) {
      if (!result.is_valid()) continue;
      for (const ir::Use& use : graph_.value(result).uses) readers.push_back(use.node);
    }
    return readers;
  }

  void open_anchor(ir::NodeId id) {
    Draft fresh;
    fresh.anchor = id;
    fresh.nodes = {id};
    const Lowering* lowering = find_lowering(graph_.node(id).op->name);
    fresh.inner = lowering != nullptr && lowering->accepts(graph_, id) ? lowering->inner_dims(graph_, id) : 0;
    fresh.closed = fresh.inner == 0;
    fresh.shape = result_shape(id);
    fresh.number = result_dtype(id);
    take_prologue(id, fresh);
    drafts_.push_back(fresh);
    for (ir::NodeId node : fresh.nodes) of_[node] = static_cast<int>(drafts_.size()) - 1;
  }

  /// The anchor is the only reader of what a prologue makes, so that no cycle arises.
  void take_prologue(ir::NodeId id, Draft& fresh) {
    if (graph_.node(id).op->name != "Conv" || !takes_direct_conv(graph_, id)) return;
    if (generator_of(id) == ir::Generator::Separable) {
      take_depthwise(id, fresh);
    } else if (numerics_ != Numerics::Strict) {
      take_upsampling(id, fresh);
    }
  }

  /// Taps that a Resize makes one are weights added up: another sum than the plain one.
  void take_upsampling(ir::NodeId id, Draft& fresh) {
    const std::optional<ir::NodeId> resize = upsampling_of(graph_, id);
    const auto at = resize ? of_.find(*resize) : of_.end();
    if (at == of_.end() || draft(at->second).nodes.size() != 1) return;
    draft(at->second).nodes.clear();
    fresh.prologue = *resize;
    fresh.nodes = {*resize, id};
  }

  /// A depthwise convolution with its epilogue.
  void take_depthwise(ir::NodeId id, Draft& fresh) {
    const int made_by = draft_for(graph_.node(id).inputs[0], id);
    if (made_by < 0) return;
    Draft& made = draft(made_by);
    if (!made.anchor.is_valid() || made.prologue.is_valid() || made.is_attention) return;
    if (made.nodes.size() >= kMostNodes || !takes_separable_conv(graph_, made.anchor, id)) return;
    fresh.prologue = made.anchor;
    fresh.nodes = std::exchange(made.nodes, {});
    for (ir::NodeId node : fresh.nodes) {
      if (node != made.anchor) fresh.between.push_back(node);
    }
    fresh.nodes.push_back(id);
  }

  /// The one that is named, if the anchor's lowering has it.
  std::optional<ir::Generator> generator_of(ir::NodeId anchor) const {
    const auto named = generators_.find(anchor);
    if (named == generators_.end()) return std::nullopt;
    const std::optional<ir::Generator> generator = ir::find_generator(named->second);
    const Lowering* lowering = find_lowering(graph_.node(anchor).op->name);
    const bool is_known =
        generator && lowering != nullptr && lowering->has_generator != nullptr && lowering->has_generator(*generator);
    return is_known ? generator : std::nullopt;
  }

  Draft& draft(int i) { return drafts_[static_cast<size_t>(i)]; }

  ir::DType result_dtype(ir::NodeId id) const { return graph_.value(graph_.first_output(id)).type.dtype; }

  ir::Shape result_shape(ir::NodeId id) const { return graph_.value(graph_.first_output(id)).type.shape; }

  std::vector<int> operand_drafts(ir::NodeId id) const {
    std::vector<int> found;
    for (ir::ValueId value : graph_.node(id).inputs) {
      if (!value.is_valid()) continue;
      auto at = of_.find(graph_.value(value).producer);
      if (at != of_.end() && std::find(found.begin(), found.end(), at->second) == found.end())
        found.push_back(at->second);
    }
    return found;
  }

  // Shapes fit, and an anchor's lanes run along whole rows of every operand from outside.
  bool takes(int home, ir::NodeId id) {
    const Draft& d = draft(home);
    const std::optional<ir::DType> number = number_of(graph_, id);
    if (number && d.number && number != d.number) return false;
    if (d.by_rows) return d.nodes.size() < kMostNodes && row_role(graph_, id, d.shape) != RowRole::None;
    if (d.closed || d.nodes.size() >= kMostNodes || d.shape != result_shape(id)) return false;
    if (!d.anchor.is_valid()) return true;
    IterationSpace space{d.shape, d.inner};
    const ir::Node& node = graph_.node(id);
    // An anchor scatters only numbers, and its lanes may lie apart.
    if (result_dtype(id) != d.number || depends_on_place(node)) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_valid() || !reads_operand(node, i)) continue;
      if (graph_.value(node.inputs[i]).type.dtype != d.number) return false;
      if (!operand_access(broadcast_operand_shape(graph_, id, i), space)) return false;
    }
    return true;
  }

  // A kernel reads the operands of its anchor, and of what lies before that, from memory, so their producers cannot be
  // in its epilogue.
  bool feeds_anchor(const std::vector<ir::NodeId>& producers, const Draft& of) const {
    std::vector<ir::NodeId> readers = of.between;
    readers.insert(readers.end(), {of.anchor, of.prologue});
    return std::any_of(readers.begin(), readers.end(),
                       [&](ir::NodeId reader) { return reader.is_valid() && feeds(producers, reader); });
  }

  bool feeds(const std::vector<ir::NodeId>& producers, ir::NodeId reader) const {
    const std::vector<ir::ValueId>& operands = graph_.node(reader).inputs;
    return std::any_of(operands.begin(), operands.end(), [&](ir::ValueId v) {
      return v.is_valid() && std::find(producers.begin(), producers.end(), graph_.value(v).producer) != producers.end();
    });
  }

  void merge(int home, int other) {
    Draft& into = draft(home);
    Draft& from = draft(other);
    if (from.anchor.is_valid() || from.closed || from.shape != into.shape || (from.by_rows && !into.by_rows)) return;
    if (into.nodes.size() + from.nodes.size() > kMostNodes) return;
    for (ir::NodeId id : from.nodes) {
      if (!takes(home, id)) return;
    }
    if (feeds_anchor(from.nodes, into)) return;
    if (leads_around({home}, from.nodes) || leads_around({other}, into.nodes)) return;
    for (ir::NodeId id : from.nodes) of_[id] = home;
    if (!into.number) into.number = from.number;
    into.nodes.insert(into.nodes.end(), from.nodes.begin(), from.nodes.end());
    std::sort(into.nodes.begin(), into.nodes.end());
    from.nodes.clear();
  }

  bool is_stored(ir::ValueId value, int home) const {
    const ir::Value& v = graph_.value(value);
    if (v.is_output) return true;
    return std::any_of(v.uses.begin(), v.uses.end(), [&](const ir::Use& use) {
      auto at = of_.find(use.node);
      return at == of_.end() || at->second != home;
    });
  }

  // Returns the groups in topological order, ties by the smallest first node.
  std::vector<Group> ordered() {
    std::map<int, std::set<int>> needs;
    std::map<int, std::set<int>> feeds;
    std::set<std::pair<ir::NodeId, int>> ready;
    size_t alive = 0;
    for (int i = 0; i < static_cast<int>(drafts_.size()); ++i) {
      if (draft(i).nodes.empty()) continue;
      ++alive;
      for (ir::NodeId id : draft(i).nodes) {
        for (int other : operand_drafts(id)) {
          if (other == i) continue;
          needs[i].insert(other);
          feeds[other].insert(i);
        }
      }
      if (needs[i].empty()) ready.insert({draft(i).nodes.front(), i});
    }
    std::vector<Group> groups;
    while (!ready.empty()) {
      int i = ready.begin()->second;
      ready.erase(ready.begin());
      Group group;
      group.anchor = draft(i).anchor;
      group.nodes = draft(i).nodes;
      group.prologue = draft(i).prologue;
      group.between = draft(i).between;
      group.generator = generator_of(group.anchor);
      group.moves = std::move(draft(i).moves);
      // A reduction alone has a lowering of its own, for any axes.
      const bool is_reduction =
          group.nodes.size() == 1 && find_reduction(graph_.node(group.nodes[0]).op->name) != nullptr;
      if (draft(i).by_rows && is_reduction) group.anchor = group.nodes[0];
      if (draft(i).by_rows && !is_reduction) group.rows = draft(i).shape;
      if (draft(i).is_attention) group.rows = draft(i).row_shape;
      for (ir::NodeId id : group.nodes) {
        for (ir::ValueId value : graph_.node(id).outputs) {
          if (value.is_valid() && is_stored(value, i)) group.stored.push_back(value);
        }
      }
      groups.push_back(std::move(group));
      for (int next : feeds[i]) {
        needs[next].erase(i);
        if (needs[next].empty()) ready.insert({draft(next).nodes.front(), next});
      }
    }
    COLLAGE_CHECK(groups.size() == alive, "the groups of a partition form a cycle");
    return groups;
  }

  const ir::Graph& graph_;
  const std::vector<ir::NodeId>& nodes_;
  const GeneratorNames& generators_;
  Numerics numerics_;
  std::vector<Draft> drafts_;
  std::map<ir::NodeId, int> of_;
};

}  // namespace

std::vector<Group> form_groups(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                               const GeneratorNames& generators, Numerics numerics) {
  return Grouping(graph, nodes, generators, numerics).run();
}

}  // namespace collage::codegen
