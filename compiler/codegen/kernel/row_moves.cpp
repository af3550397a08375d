// SPDX-License-Identifier: Apache-2.0
// First the nodes, from the result up: one belongs to the program if all of its readers do, and if rows of its results
// are made of rows of its operands. Then, element by element of the result's row, what each element is made of and
// where that lies: tables of positions, so that no form of cutting and joining has a case of its own (row_steps.h).
// Last the pieces in which these tables are regular, which become loops (row_pieces.cpp).
//
// A pointwise node that is read at several positions would be computed as many times: it stays outside, and its result
// is read from memory.
#include "compiler/codegen/kernel/row_moves.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/kernel/row_steps.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/tensor.h"

namespace collage::codegen {
namespace {

using Positions = std::vector<int64_t>;

/// Limits live vectors and the size of one kernel.
constexpr size_t kMostMovedNodes = 48;
constexpr size_t kMostTerms = 96;
/// The most elements of a row: a row is one task, and its tables have as many entries.
constexpr int64_t kLongestMovedRow = 1 << 12;
/// Nodes below a Concat that are tried as the end of its program.
constexpr size_t kMostBelow = 16;

/// Elements of a row of shape `from` => those of a row of shape `to`. `change` gets the place along each dimension of
/// `from` and makes it one of `to`; false: the element comes from elsewhere.
template <typename Change>
Positions mapped(const Positions& at, const ir::Shape& from, const ir::Shape& to, const Change& change) {
  Positions result, place;
  result.reserve(at.size());
  for (int64_t rest : at) {
    place.resize(from.size());
    const bool is_needed = rest >= 0;
    for (size_t d = from.size(); is_needed && d-- > 0; rest /= from[d]) place[d] = rest % from[d];
    if (!is_needed || !change(place)) {
      result.push_back(-1);
      continue;
    }
    int64_t index = 0;
    for (size_t d = 0; d < to.size(); ++d) index = index * to[d] + place[d];
    result.push_back(index);
  }
  return result;
}

bool is_needed_somewhere(const Positions& at) {
  return std::any_of(at.begin(), at.end(), [](int64_t i) { return i >= 0; });
}

/// The program that ends at one node, with a number of its last dimensions as the row.
class RowMoveBuilder {
 public:
  RowMoveBuilder(const ir::Graph& graph, ir::NodeId root, size_t row_dims, const std::set<ir::NodeId>& free)
      : graph_(graph), root_(root), result_(graph.first_output(root)), row_dims_(row_dims), free_(free) {
    const ir::TensorType& type = graph.value(result_).type;
    dtype_ = type.dtype;
    moves_.outer = lead_of(graph_, result_, row_dims);
    moves_.length = runtime::element_count(row_of(graph_, result_, row_dims));
  }

  /// Returns a program that `join` is a part of and that has more than `fewer` nodes, if there is one.
  std::optional<RowMoves> run(ir::NodeId join, size_t fewer) {
    if (moves_.length == 0 || moves_.length > kLongestMovedRow || runtime::element_count(moves_.outer) == 0)
      return std::nullopt;
    if (!runtime::is_float(dtype_)) return std::nullopt;
    do {
      collect();
      // Tables are made only of programs that would be taken: those of longer rows take as many times as long.
      if (inside_.size() <= fewer || !inside_.contains(join) || !is_worth_it()) return std::nullopt;
      known_.clear();
      moves_.terms.clear();
      is_full_ = false;
      Positions all(static_cast<size_t>(moves_.length));
      std::iota(all.begin(), all.end(), int64_t{0});
      moves_.result = term_of(result_, row_dims_, all);
      if (failed_) return std::nullopt;
    } while (leave_out_repeated());
    if (is_full_ || !find_pieces(moves_)) return std::nullopt;
    moves_.nodes.assign(inside_.begin(), inside_.end());
    return std::move(moves_);
  }

 private:
  static constexpr size_t kContradictory = std::numeric_limits<size_t>::max();

  const ir::Shape& shape_of(ir::ValueId value) const { return graph_.value(value).type.shape; }

  /// From row to row along each outer dimension; nullopt if the dimensions before the row do not broadcast to these.
  std::optional<Positions> strides_of(ir::ValueId value, size_t dims) const {
    const ir::Shape lead = lead_of(graph_, value, dims);
    const size_t rank = moves_.outer.size();
    Positions strides(rank, 0);
    int64_t stride = runtime::element_count(row_of(graph_, value, dims));
    for (size_t back = 1; back <= std::max(rank, lead.size()); ++back) {
      const int64_t extent = back <= lead.size() ? lead[lead.size() - back] : 1;
      if (extent == 1) continue;
      if (back > rank || extent != moves_.outer[rank - back]) return std::nullopt;
      strides[rank - back] = stride;
      stride *= extent;
    }
    return strides;
  }

  /// Returns whether the value has a row of its own for each row of the result.
  bool has_all_rows(ir::ValueId value, size_t dims) const {
    return strides_of(value, dims) &&
           runtime::element_count(lead_of(graph_, value, dims)) == runtime::element_count(moves_.outer);
  }

  /// How many of the operand's dimensions are the row, if `dims` of the result's are.
  std::optional<size_t> dims_before_view(ir::ValueId operand, ir::ValueId result, size_t dims) const {
    const int64_t length = runtime::element_count(row_of(graph_, result, dims));
    for (size_t own = 0; own <= shape_of(operand).size(); ++own) {
      if (runtime::element_count(row_of(graph_, operand, own)) == length && has_all_rows(operand, own)) return own;
    }
    return std::nullopt;
  }

  /// The number of row dimensions of each operand from which elements come; nullopt if rows of the result are not made
  /// of rows of these.
  std::optional<std::vector<size_t>> operand_dims(ir::NodeId id, ir::ValueId result, size_t dims) const {
    const ir::Node& node = graph_.node(id);
    const size_t rank = shape_of(result).size();
    switch (row_step(graph_, id)) {
      case RowStep::None: return std::nullopt;
      case RowStep::Compute: {
        size_t read = 0;
        for (; read < node.inputs.size() && reads_operand(node, read); ++read) {
          const ir::ValueId operand = node.inputs[read];
          if (operand.is_valid() && graph_.value(operand).type.dtype != dtype_) return std::nullopt;
        }
        return std::vector<size_t>(read, dims);
      }
      case RowStep::Join:
        if (!row_axis(axis_among(node, rank), rank, dims)) return std::nullopt;
        return std::vector<size_t>(node.inputs.size(), dims);
      case RowStep::View: {
        const std::optional<size_t> own = dims_before_view(node.inputs[0], result, dims);
        return own ? std::optional(std::vector<size_t>{*own}) : std::nullopt;
      }
      case RowStep::Cut: break;
    }
    if (node.op->name != "Gather") {
      return cuts_of(graph_, result, dims) ? std::optional(std::vector<size_t>{dims}) : std::nullopt;
    }
    // The indices' dimensions stand for one of the operand.
    const size_t own_rank = shape_of(node.inputs[0]).size();
    if (!gathered(graph_, node) || dims > rank || dims + own_rank < rank) return std::nullopt;
    const size_t own = dims + own_rank - rank;
    if (!row_axis(axis_among(node, own_rank), own_rank, own)) return std::nullopt;
    return std::vector<size_t>{own};
  }

  /// The number of row dimensions with which nodes inside read the results of the node, if no others read them.
  std::optional<size_t> dims_inside(ir::NodeId id) const {
    std::optional<size_t> dims;
    for (ir::ValueId output : graph_.node(id).outputs) {
      const auto asked = dims_.find(output);
      if (asked == dims_.end()) continue;
      if (asked->second == kContradictory || (dims && *dims != asked->second)) return std::nullopt;
      if (graph_.value(output).type.dtype != dtype_ || !has_all_rows(output, asked->second)) return std::nullopt;
      dims = asked->second;
    }
    return dims && (id == root_ || is_private(id)) ? dims : std::nullopt;
  }

  bool is_private(ir::NodeId id) const {
    const std::vector<ir::ValueId>& outputs = graph_.node(id).outputs;
    return std::all_of(outputs.begin(), outputs.end(), [&](ir::ValueId output) {
      if (!output.is_valid()) return true;
      const ir::Value& value = graph_.value(output);
      return !value.is_output && std::all_of(value.uses.begin(), value.uses.end(),
                                             [&](const ir::Use& use) { return inside_.contains(use.node); });
    });
  }

  /// Nodes ascend from operands to readers: in descending order, readers are decided first. Only producers of what
  /// nodes inside read are examined.
  void collect() {
    inside_.clear();
    dims_ = {{result_, row_dims_}};
    std::set<ir::NodeId> open;
    if (free_.contains(root_)) open.insert(root_);
    while (!open.empty() && inside_.size() < kMostMovedNodes) {
      const ir::NodeId id = open.extract(std::prev(open.end())).value();
      const std::optional<size_t> dims = left_out_.contains(id) ? std::nullopt : dims_inside(id);
      if (!dims) continue;
      const ir::Node& node = graph_.node(id);
      const auto read = std::find_if(node.outputs.begin(), node.outputs.end(),
                                     [&](ir::ValueId output) { return dims_.contains(output); });
      const std::optional<std::vector<size_t>> operands = operand_dims(id, *read, *dims);
      if (!operands) continue;
      inside_.insert(id);
      for (size_t i = 0; i < operands->size(); ++i) {
        const ir::ValueId operand = node.inputs[i];
        if (!operand.is_valid()) continue;
        const auto [known, is_new] = dims_.try_emplace(operand, (*operands)[i]);
        if (!is_new && known->second != (*operands)[i]) known->second = kContradictory;
        const ir::NodeId producer = graph_.value(operand).producer;
        if (producer.is_valid() && producer < id && free_.contains(producer)) open.insert(producer);
      }
    }
  }

  /// Rows are cut, computed with, and joined: each alone is better off with its neighbours, or as a copy.
  bool is_worth_it() const {
    const auto has = [&](RowStep step) {
      return std::any_of(inside_.begin(), inside_.end(), [&](ir::NodeId id) { return row_step(graph_, id) == step; });
    };
    return has(RowStep::Cut) && has(RowStep::Compute) && has(RowStep::Join);
  }

  int add_term(RowTerm term) {
    if (moves_.terms.size() >= kMostTerms) {
      is_full_ = true;
      return 0;
    }
    moves_.terms.push_back(std::move(term));
    return static_cast<int>(moves_.terms.size()) - 1;
  }

  /// The elements `at` of a value's row.
  int term_of(ir::ValueId value, size_t dims, const Positions& at) {
    if (failed_ || is_full_) return 0;
    const auto key = std::tuple(value, dims, at);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const ir::NodeId producer = graph_.value(value).producer;
    const RowStep step = inside_.contains(producer) ? row_step(graph_, producer) : RowStep::None;
    int term = 0;
    switch (step) {
      case RowStep::None: term = loaded(value, dims, at); break;
      case RowStep::Compute: term = computed(producer, dims, at); break;
      case RowStep::Join: term = joined(producer, dims, at); break;
      case RowStep::Cut:
      case RowStep::View: term = moved(value, dims, at); break;
    }
    known_.emplace(key, term);
    return term;
  }

  int loaded(ir::ValueId value, size_t dims, const Positions& at) {
    std::optional<Positions> strides = strides_of(value, dims);
    if (!strides || graph_.value(value).type.dtype != dtype_) {
      failed_ = true;
      return 0;
    }
    RowTerm term;
    term.at = at;
    term.value = value;
    term.strides = std::move(*strides);
    return add_term(std::move(term));
  }

  int computed(ir::NodeId id, size_t dims, const Positions& at) {
    const ir::Node& node = graph_.node(id);
    RowTerm term;
    term.kind = RowTerm::Kind::Compute;
    term.at = at;
    term.node = id;
    const ir::Shape row = row_of(graph_, node.outputs[0], dims);
    for (size_t i = 0; i < node.inputs.size() && reads_operand(node, i); ++i) {
      if (!node.inputs[i].is_valid()) {
        term.operands.push_back(-1);
        continue;
      }
      const ir::Shape own = row_of(graph_, node.inputs[i], dims);
      const auto repeat = [&](Positions& place) {
        for (size_t d = 0; d < own.size(); ++d) place[d] = own[d] == 1 ? 0 : place[d];
        return true;
      };
      term.operands.push_back(term_of(node.inputs[i], dims, mapped(at, row, own, repeat)));
    }
    return add_term(std::move(term));
  }

  int joined(ir::NodeId id, size_t dims, const Positions& at) {
    const ir::Node& node = graph_.node(id);
    const ir::Shape row = row_of(graph_, node.outputs[0], dims);
    const size_t rank = shape_of(node.outputs[0]).size();
    const size_t axis = *row_axis(axis_among(node, rank), rank, dims);
    RowTerm term;
    term.kind = RowTerm::Kind::Choose;
    term.at.assign(at.size(), -1);
    int64_t start = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ir::Shape own = row_of(graph_, node.inputs[i], dims);
      const Positions there = mapped(at, row, own, [&](Positions& place) {
        place[axis] -= start;
        return place[axis] >= 0 && place[axis] < own[axis];
      });
      start += own[axis];
      term.operands.push_back(is_needed_somewhere(there) ? term_of(node.inputs[i], dims, there) : -1);
      for (size_t p = 0; p < there.size(); ++p) {
        if (there[p] >= 0) term.at[p] = static_cast<int64_t>(i);
      }
    }
    const auto parts = std::count_if(term.operands.begin(), term.operands.end(), [](int part) { return part >= 0; });
    if (parts == 1) return *std::max_element(term.operands.begin(), term.operands.end());
    return add_term(std::move(term));
  }

  /// A part of one operand, or all of it in another shape.
  int moved(ir::ValueId value, size_t dims, const Positions& at) {
    const ir::NodeId producer = graph_.value(value).producer;
    const ir::Node& node = graph_.node(producer);
    const ir::ValueId from = node.inputs[0];
    const size_t own = operand_dims(producer, value, dims)->front();
    const ir::Shape row = row_of(graph_, value, dims), own_row = row_of(graph_, from, own);
    if (row_step(graph_, producer) == RowStep::View) return term_of(from, own, at);
    if (node.op->name == "Gather") {
      const Positions indices = *gathered(graph_, node);
      const size_t own_rank = shape_of(from).size();
      const size_t axis = *row_axis(axis_among(node, own_rank), own_rank, own);
      const ir::Shape& shape = shape_of(node.inputs[1]);
      return term_of(from, own, mapped(at, row, own_row, [&](Positions& place) {
                       int64_t index = 0;
                       for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + place[axis + d];
                       const auto first = place.begin() + static_cast<std::ptrdiff_t>(axis);
                       const auto next = place.erase(first, first + static_cast<std::ptrdiff_t>(shape.size()));
                       place.insert(next, indices[static_cast<size_t>(index)]);
                       return true;
                     }));
    }
    const std::vector<RowCut> cuts = *cuts_of(graph_, value, dims);
    return term_of(from, own, mapped(at, row, own_row, [&](Positions& place) {
                     for (const RowCut& cut : cuts) place[cut.dim] = cut.start + cut.step * place[cut.dim];
                     return true;
                   }));
  }

  /// Leaves out the last pointwise node that would be computed for more elements than its rows have.
  bool leave_out_repeated() {
    std::map<ir::NodeId, int64_t> made;
    for (const RowTerm& term : moves_.terms) {
      if (term.kind != RowTerm::Kind::Compute) continue;
      made[term.node] += std::count_if(term.at.begin(), term.at.end(), [](int64_t i) { return i >= 0; });
    }
    for (auto entry = made.rbegin(); entry != made.rend(); ++entry) {
      const ir::ValueId result = graph_.node(entry->first).outputs[0];
      if (entry->second <= runtime::element_count(row_of(graph_, result, dims_.at(result)))) continue;
      left_out_.insert(entry->first);
      return true;
    }
    return false;
  }

  const ir::Graph& graph_;
  ir::NodeId root_;
  ir::ValueId result_;
  size_t row_dims_;
  const std::set<ir::NodeId>& free_;
  ir::DType dtype_ = ir::DType::F32;
  std::set<ir::NodeId> inside_;
  std::set<ir::NodeId> left_out_;
  std::map<ir::ValueId, size_t> dims_;  ///< of values that nodes inside read: how many dimensions are the row
  std::map<std::tuple<ir::ValueId, size_t, Positions>, int> known_;
  bool failed_ = false;
  bool is_full_ = false;  ///< there would be more terms; with fewer nodes inside there may be few
  RowMoves moves_;
};

}  // namespace

std::optional<RowMoves> row_moves(const ir::Graph& graph, ir::NodeId join, const std::set<ir::NodeId>& free) {
  std::vector<ir::NodeId> ends = {join};
  while (ends.size() < kMostBelow) {
    const ir::Value& result = graph.value(graph.first_output(ends.back()));
    if (result.is_output || result.uses.size() != 1 || !free.contains(result.uses[0].node)) break;
    const RowStep step = row_step(graph, result.uses[0].node);
    if (step == RowStep::None || step == RowStep::Cut) break;
    ends.push_back(result.uses[0].node);
  }
  for (auto end = ends.rbegin(); end != ends.rend(); ++end) {
    std::optional<RowMoves> most;
    const size_t rank = graph.value(graph.first_output(*end)).type.shape.size();
    for (size_t dims = 1; dims <= rank; ++dims) {
      std::optional<RowMoves> moves = RowMoveBuilder(graph, *end, dims, free).run(join, most ? most->nodes.size() : 0);
      if (moves) most = std::move(moves);
    }
    if (most) return most;
  }
  return std::nullopt;
}

}  // namespace collage::codegen
