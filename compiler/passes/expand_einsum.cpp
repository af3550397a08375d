// SPDX-License-Identifier: Apache-2.0
// Writes Einsum as operators that backends know. Operands are multiplied two at a time, in the order of einsum_order.h;
// of two, with the labels
//
//     batch: in both and still needed    row, column: in one of them    inner: in both and not needed any more
//
//     %y = Einsum(%a, %b) {equation = "bihd,bjhd->bhij"}
//     =>  %l = Transpose(%a) {perm = [0, 2, 1, 3]}      batch… row… inner…, each group one dimension (Reshape)
//         %r = Transpose(%b) {perm = [0, 2, 3, 1]}      batch… inner… column…
//         %y = MatMul(%l, %r)                           and a Transpose where the result has another order
//
// Labels of one operand only that are not needed are summed first (ReduceSum); without inner labels it is a Mul. Nodes
// with a label twice in one operand, other dtypes than f32 and f64, and empty dimensions stay as they are.
#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/einsum_order.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/kernels/einsum.h"

namespace collage::passes {
namespace {

using ir::Shape;
using ir::TensorType;
using ir::ValueId;
using Labels = std::vector<int>;

bool has_label(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// A value of the new graph, or the result of a step that is not in it yet.
struct EinsumTerm {
  ValueId value;
  int step = -1;
  Labels labels;  ///< of its dimensions; those of extent 1 that broadcast have none
  Shape shape;
};

/// The nodes that replace one Einsum. They are collected first: the last one gets the result's name.
class EinsumExpansion {
 public:
  EinsumExpansion(ir::GraphRewriter& rewriter, const ir::Graph& graph, ir::NodeId id, runtime::EinsumSpec spec)
      : rewriter_(rewriter), graph_(graph), node_(graph.node(id)), spec_(std::move(spec)) {
    dtype_ = graph.value(node_.inputs[0]).type.dtype;
    name_ = graph.node_name(id);
  }

  void run() {
    Labels result(spec_.result_rank);
    for (size_t d = 0; d < result.size(); ++d) result[d] = static_cast<int>(d);
    std::vector<EinsumTerm> terms;
    for (size_t k = 0; k < node_.inputs.size(); ++k) terms.push_back(operand(k));
    std::vector<Labels> labels;
    for (const EinsumTerm& term : terms) labels.push_back(term.labels);
    std::vector<size_t> open(terms.size());
    std::iota(open.begin(), open.end(), size_t{0});
    for (const auto& [a, b] : einsum_order(labels, result, spec_.space)) {
      std::erase_if(open, [a = a, b = b](size_t term) { return term == a || term == b; });
      std::set<int> needed(result.begin(), result.end());
      for (size_t later : open) needed.insert(terms[later].labels.begin(), terms[later].labels.end());
      open.push_back(terms.size());
      terms.push_back(multiply(terms[a], terms[b], needed));
    }
    EinsumTerm product = sum_unneeded(terms.back(), {result.begin(), result.end()}, {});
    // A label of extent 1 may occur in the result only.
    product = reshaped(arranged(product, result), result);
    if (steps_.empty() || product.step < 0) step("Identity", {product}, {}, product.labels, product.shape);
    emit();
  }

 private:
  struct Step {
    const ir::OpDef* op;
    std::vector<EinsumTerm> inputs;
    std::optional<runtime::Ints> constant;  ///< the last operand
    ir::AttrMap attrs;
    Shape shape;
  };

  EinsumTerm step(std::string_view op, std::vector<EinsumTerm> inputs, std::optional<runtime::Ints> constant,
                  Labels labels, Shape shape, ir::AttrMap attrs = {}) {
    steps_.push_back({ir::find_op(op), std::move(inputs), std::move(constant), std::move(attrs), shape});
    return {{}, static_cast<int>(steps_.size()) - 1, std::move(labels), std::move(shape)};
  }

  /// Dimensions that broadcast are left out.
  EinsumTerm operand(size_t k) {
    EinsumTerm term{rewriter_.copied(node_.inputs[k]), -1, {}, graph_.value(node_.inputs[k]).type.shape};
    for (int place : spec_.places[k]) {
      if (place >= 0) term.labels.push_back(place);
    }
    return reshaped(term, term.labels);
  }

  Shape extents(const Labels& labels) const {
    Shape shape;
    for (int label : labels) shape.push_back(spec_.space[static_cast<size_t>(label)]);
    return shape;
  }

  int64_t extent(const Labels& labels) const { return runtime::element_count(extents(labels)); }

  EinsumTerm with_shape(const EinsumTerm& term, const Shape& shape, const Labels& labels) {
    if (term.shape == shape) return {term.value, term.step, labels, shape};
    return step("Reshape", {term}, runtime::Ints(shape.begin(), shape.end()), labels, shape);
  }

  EinsumTerm reshaped(const EinsumTerm& term, const Labels& labels) {
    return with_shape(term, extents(labels), labels);
  }

  /// Dimensions in the order of `labels`, as far as the term has them.
  EinsumTerm arranged(const EinsumTerm& term, const Labels& order) {
    runtime::Ints perm;
    Labels labels;
    for (int label : order) {
      const auto at = std::find(term.labels.begin(), term.labels.end(), label);
      if (at == term.labels.end()) continue;
      perm.push_back(at - term.labels.begin());
      labels.push_back(label);
    }
    if (std::is_sorted(perm.begin(), perm.end())) return term;
    ir::AttrMap attrs;
    attrs.set("perm", perm);
    return step("Transpose", {term}, std::nullopt, labels, extents(labels), std::move(attrs));
  }

  /// Sums over the labels that neither `needed` nor `other` has.
  EinsumTerm sum_unneeded(const EinsumTerm& term, const std::set<int>& needed, const Labels& other) {
    runtime::Ints axes;
    Labels kept;
    for (size_t d = 0; d < term.labels.size(); ++d) {
      const int label = term.labels[d];
      const bool is_kept = needed.contains(label) || has_label(other, label);
      if (is_kept) {
        kept.push_back(label);
      } else {
        axes.push_back(static_cast<int64_t>(d));
      }
    }
    if (axes.empty()) return term;
    ir::AttrMap attrs;
    attrs.set("keepdims", int64_t{0});
    return step("ReduceSum", {term}, axes, kept, extents(kept), std::move(attrs));
  }

  EinsumTerm multiply(EinsumTerm a, EinsumTerm b, const std::set<int>& needed) {
    const Labels of_b = b.labels;
    b = sum_unneeded(b, needed, a.labels);
    a = sum_unneeded(a, needed, of_b);
    Labels batch, inner, rows, columns;
    for (int label : a.labels) {
      (!has_label(b.labels, label) ? rows : needed.contains(label) ? batch : inner).push_back(label);
    }
    for (int label : b.labels) {
      if (!has_label(a.labels, label)) columns.push_back(label);
    }
    // Labels that are summed later have higher numbers than those of the result, which come in its order.
    for (Labels* labels : {&batch, &rows, &columns}) std::sort(labels->begin(), labels->end());
    if (inner.empty()) return multiply_elements(a, b);
    const bool swaps = !columns.empty() && (rows.empty() || columns.front() < rows.front());
    if (swaps) {
      std::swap(a, b);
      std::swap(rows, columns);
    }
    a = arranged(a, joined({batch, rows, inner}));
    b = arranged(b, joined({batch, inner, columns}));
    const Shape outer = extents(batch);
    auto matrices = [&](int64_t height, int64_t width) {
      Shape shape = outer;
      shape.insert(shape.end(), {height, width});
      return shape;
    };
    a = with_shape(a, matrices(extent(rows), extent(inner)), a.labels);
    b = with_shape(b, matrices(extent(inner), extent(columns)), b.labels);
    const Labels labels = joined({batch, rows, columns});
    const EinsumTerm product = step("MatMul", {a, b}, std::nullopt, labels, matrices(extent(rows), extent(columns)));
    return reshaped(product, labels);
  }

  EinsumTerm multiply_elements(const EinsumTerm& a, const EinsumTerm& b) {
    Labels labels = a.labels;
    for (int label : b.labels) {
      if (!has_label(labels, label)) labels.push_back(label);
    }
    std::sort(labels.begin(), labels.end());
    auto broadcast = [&](const EinsumTerm& term) {
      const EinsumTerm sorted = arranged(term, labels);
      Shape shape;
      for (int label : labels) {
        const bool is_own = has_label(term.labels, label);
        shape.push_back(is_own ? spec_.space[static_cast<size_t>(label)] : 1);
      }
      return with_shape(sorted, shape, sorted.labels);
    };
    const EinsumTerm left = broadcast(a);
    const EinsumTerm right = broadcast(b);
    return step("Mul", {left, right}, std::nullopt, labels, extents(labels));
  }

  static Labels joined(const std::vector<Labels>& parts) {
    Labels all;
    for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  void emit() {
    std::vector<ValueId> results;
    for (size_t i = 0; i < steps_.size(); ++i) {
      Step& step = steps_[i];
      std::vector<ValueId> inputs;
      for (const EinsumTerm& term : step.inputs) {
        inputs.push_back(term.step < 0 ? term.value : results[static_cast<size_t>(term.step)]);
      }
      if (step.constant) {
        runtime::Tensor data(runtime::DType::I64, {static_cast<int64_t>(step.constant->size())});
        std::copy(step.constant->begin(), step.constant->end(), data.as<int64_t>().begin());
        inputs.push_back(rewriter_.add_constant(name_ + ".dims", ir::make_constant(std::move(data))));
      }
      const bool is_last = i + 1 == steps_.size();
      results.push_back(is_last ? rewriter_.add_result(node_.outputs[0], *step.op, inputs, step.attrs)
                                : rewriter_.add_node(*step.op, inputs, step.attrs, name_, {dtype_, step.shape}));
    }
  }

  ir::GraphRewriter& rewriter_;
  const ir::Graph& graph_;
  const ir::Node& node_;
  runtime::EinsumSpec spec_;
  ir::DType dtype_;
  std::string name_;
  std::vector<Step> steps_;
};

std::optional<runtime::EinsumSpec> expandable(const ir::Graph& graph, const ir::Node& node) {
  if (node.op->name != "Einsum" || node.pin) return std::nullopt;
  const ir::DType dtype = graph.value(node.inputs[0]).type.dtype;
  if (dtype != ir::DType::F32 && dtype != ir::DType::F64) return std::nullopt;
  std::vector<Shape> shapes;
  for (ValueId input : node.inputs) shapes.push_back(graph.value(input).type.shape);
  runtime::EinsumSpec spec;
  if (runtime::resolve_einsum(ir::attrs_of(node).string_of("equation"), shapes, &spec)) return std::nullopt;
  if (std::count(spec.space.begin(), spec.space.end(), 0) > 0) return std::nullopt;
  for (const std::vector<int>& places : spec.places) {
    std::set<int> seen;
    for (int place : places) {
      if (place >= 0 && !seen.insert(place).second) return std::nullopt;
    }
  }
  return spec;
}

}  // namespace

bool expand_einsum(ir::Graph& graph, PassContext&) {
  const std::vector<ir::NodeId> nodes = graph.node_ids();
  const bool changes = std::any_of(nodes.begin(), nodes.end(),
                                   [&](ir::NodeId id) { return expandable(graph, graph.node(id)).has_value(); });
  if (!changes) return false;
  ir::GraphRewriter rewriter(graph);
  for (ir::NodeId id : nodes) {
    std::optional<runtime::EinsumSpec> spec = expandable(graph, graph.node(id));
    if (spec) {
      EinsumExpansion(rewriter, graph, id, std::move(*spec)).run();
    } else {
      rewriter.copy(id);
    }
  }
  graph = rewriter.finish();
  return true;
}

}  // namespace collage::passes
