// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize/quantize_graph.h"

#include <algorithm>
#include <map>
#include <optional>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/ops/op_def.h"

namespace collage::quantize {
namespace {

using ir::AttrMap;
using ir::DType;
using ir::Graph;
using ir::GraphRewriter;
using ir::Node;
using ir::NodeId;
using ir::TensorType;
using ir::ValueId;
using runtime::Shape;
using runtime::Tensor;

/// A value as integers, in the new graph.
struct Integers {
  ValueId value;
  ValueId scale, zero;     ///< constants
  bool is_native = false;  ///< a site or what moves its result made them; else a conversion did
};

template <typename T>
Tensor scalar(DType dtype, T number) {
  Tensor tensor(dtype, {});
  tensor.as<T>()[0] = number;
  return tensor;
}

Tensor numbers(const Shape& shape) {
  Tensor tensor(DType::I64, {static_cast<int64_t>(shape.size())});
  std::copy(shape.begin(), shape.end(), tensor.as<int64_t>().begin());
  return tensor;
}

/// Writes sites as operators on integers into a copy of a graph.
class Emitter {
 public:
  Emitter(const Graph& graph, const QuantizableSites& sites, const Ranges& ranges)
      : graph_(graph), sites_(sites), ranges_(ranges), rewriter_(graph), has_floats_(graph.value_count()) {
    for (ValueId id : graph.value_ids()) {
      has_floats_[id.slot()] = graph.value(id).is_input || graph.value(id).is_constant();
    }
  }

  GraphRewriter& rewriter() { return rewriter_; }

  /// Forgets which values exist as integers.
  void begin_group() { integers_.clear(); }

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    for (ValueId input : node.inputs) {
      if (input.is_valid()) floats(input);
    }
    rewriter_.copy(id);
    for (ValueId output : node.outputs) {
      if (output.is_valid()) has_floats_[output.slot()] = true;
    }
  }

  /// The value in f32, converted where it exists as integers only.
  ValueId floats(ValueId old) {
    if (has_floats_[old.slot()]) return rewriter_.copied(old);
    const std::optional<Integers> from = made_as_integers(old);
    has_floats_[old.slot()] = true;
    return rewriter_.add_result(old, *ir::find_op("DequantizeLinear"), {from->value, from->scale, from->zero}, {});
  }

  /// The integers of a site's result as f32, whether or not the value is there.
  ValueId floats_beside(ValueId old) {
    const Integers& from = integers_.at(old);
    return dequantized(from, graph_.value(old).name + ".of_i8", graph_.value(old).type.shape);
  }

  /// Writes a site. Returns the name of the node that makes its integers.
  std::string emit(size_t index) {
    const Site& site = sites_.sites[index];
    std::vector<Integers> operands;
    for (ValueId operand : site.operands) operands.push_back(as_integers(source_of(index, operand)));
    const std::string& name = graph_.value(graph_.first_output(site.node)).name;
    const Integers result = with_scale(site.result, name);
    const ValueId made = site.kind == Site::Kind::Add ? emit_add(site, operands, result, name)
                                                      : emit_product(index, operands[0], result, name);
    integers_[site.result] = {made, result.scale, result.zero, true};
    return maker_;
  }

  /// Whether a site makes the value, or an operator moves what one makes.
  bool is_made_as_integers(ValueId old) const {
    const auto known = integers_.find(old);
    if (known != integers_.end()) return known->second.is_native;
    const NodeId producer = graph_.value(old).producer;
    return producer.is_valid() && is_movement(graph_, graph_.node(producer)) &&
           is_made_as_integers(graph_.node(producer).inputs[0]);
  }

  /// Such a value; nothing for others. Writes what moves it.
  std::optional<Integers> made_as_integers(ValueId old) {
    if (!is_made_as_integers(old)) return std::nullopt;
    if (const auto known = integers_.find(old); known != integers_.end()) return known->second;
    const Node& node = graph_.node(graph_.value(old).producer);
    const std::optional<Integers> from = made_as_integers(node.inputs[0]);
    std::vector<ValueId> inputs = {from->value};
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      inputs.push_back(node.inputs[i].is_valid() ? floats(node.inputs[i]) : ValueId());
    }
    const ir::Value& value = graph_.value(old);
    const ValueId moved =
        rewriter_.add_node(*node.op, std::move(inputs), node.attrs, value.name + ".i8", {DType::I8, value.type.shape});
    integers_[old] = {moved, from->scale, from->zero, true};
    return integers_[old];
  }

 private:
  /// The operand of a convolution that stands for a Gemm may have any shape: it is reshaped anyway.
  ValueId source_of(size_t index, ValueId operand) const {
    if (sites_.sites[index].kind != Site::Kind::Gemm || !is_convolution(index)) return operand;
    while (is_made_as_integers(operand) && !integers_.contains(operand)) {
      const Node& node = graph_.node(graph_.value(operand).producer);
      if (node.op->name != "Reshape" && node.op->name != "Flatten") break;
      operand = node.inputs[0];
    }
    return operand;
  }

  bool is_convolution(size_t index) const { return sites_.constants[index].weights->values.shape().size() > 2; }

  ValueId constant(const std::string& base, Tensor data) {
    return rewriter_.add_constant(base, ir::make_constant(std::move(data)));
  }

  /// Scale and zero point of a value; its integers are not there yet.
  Integers with_scale(ValueId old, const std::string& base) {
    const Scale scale = scale_of(ranges_.find(graph_.value(old).name)->second);
    return {{},
            constant(base + ".scale", scalar(DType::F32, scale.scale)),
            constant(base + ".zero", scalar(DType::I8, scale.zero))};
  }

  Integers as_integers(ValueId old) {
    if (std::optional<Integers> made = made_as_integers(old)) return *made;
    if (const auto known = integers_.find(old); known != integers_.end()) return known->second;
    const ir::Value& value = graph_.value(old);
    Integers integers = with_scale(old, value.name);
    integers.value = quantized(floats(old), integers, value.name + ".i8", value.type.shape);
    return integers_[old] = integers;
  }

  ValueId quantized(ValueId floats, const Integers& as, const std::string& base, const Shape& shape) {
    return rewriter_.add_node(*ir::find_op("QuantizeLinear"), {floats, as.scale, as.zero}, {}, base,
                              {DType::I8, shape});
  }
  ValueId dequantized(const Integers& from, const std::string& base, const Shape& shape) {
    return rewriter_.add_node(*ir::find_op("DequantizeLinear"), {from.value, from.scale, from.zero}, {}, base,
                              {DType::F32, shape});
  }

  /// Conversions that no other node shares: a backend takes all of them as one operator.
  ValueId emit_add(const Site& site, const std::vector<Integers>& operands, const Integers& result,
                   const std::string& name) {
    const Shape& shape = graph_.value(site.result).type.shape;
    std::vector<ValueId> addends;
    for (size_t i = 0; i < operands.size(); ++i) {
      addends.push_back(dequantized(operands[i], graph_.value(site.operands[i]).name + ".addend", shape));
    }
    const ValueId sum = rewriter_.add_node(*ir::find_op("Add"), addends, {}, name + ".sum", {DType::F32, shape});
    maker_ = rewriter_.fresh_name(name + ".i8");
    return quantized(sum, result, maker_, shape);
  }

  ValueId emit_product(size_t index, const Integers& x, const Integers& y, const std::string& name) {
    const Site& site = sites_.sites[index];
    const SiteConstants& constants = sites_.constants[index];
    const IntegerWeights& weights = *constants.weights;
    const Node& node = graph_.node(site.node);
    const Shape& shape = graph_.value(site.result).type.shape;
    const ValueId w = constant(name + ".weight", weights.values);
    const ValueId w_scale = constant(name + ".weight_scale", weights.scale);
    const ValueId w_zero = constant(name + ".weight_zero", weights.zero);
    std::vector<ValueId> inputs = {x.value, x.scale, x.zero, w, w_scale, w_zero, y.scale, y.zero};
    if (!is_convolution(index)) return product("QLinearMatMul", std::move(inputs), {}, name, shape);
    if (!constants.bias.is_empty_handle()) inputs.push_back(constant(name + ".bias", constants.bias));
    if (site.kind == Site::Kind::Conv) return product("QLinearConv", std::move(inputs), node.attrs, name, shape);
    Shape picture = graph_.value(site.operands[0]).type.shape, result = shape;
    picture.insert(picture.end(), {1, 1});
    result.insert(result.end(), {1, 1});
    inputs[0] = reshaped(x.value, picture, graph_.value(site.operands[0]).name + ".picture");
    return reshaped(product("QLinearConv", std::move(inputs), {}, name, result), shape, name + ".row");
  }

  ValueId product(const char* op, std::vector<ValueId> inputs, AttrMap attrs, const std::string& name,
                  const Shape& shape) {
    maker_ = rewriter_.fresh_name(name + ".i8");
    return rewriter_.add_node(*ir::find_op(op), std::move(inputs), std::move(attrs), maker_, {DType::I8, shape});
  }

  ValueId reshaped(ValueId value, const Shape& shape, const std::string& base) {
    return rewriter_.add_node(*ir::find_op("Reshape"), {value, constant(base + ".shape", numbers(shape))}, {}, base,
                              {DType::I8, shape});
  }

  const Graph& graph_;
  const QuantizableSites& sites_;
  const Ranges& ranges_;
  GraphRewriter rewriter_;
  std::vector<bool> has_floats_;            ///< by old value: it is in the new graph in f32
  std::map<ValueId, Integers> integers_{};  ///< by old value
  std::string maker_;                       ///< name of the node that makes the integers of the last site
};

/// By node: the site whose operator it is, or whose activation (`is_activation`).
struct SiteOfNode {
  int site = -1;
  bool is_activation = false;
};

std::vector<SiteOfNode> sites_of_nodes(const Graph& graph, const QuantizableSites& sites) {
  std::vector<SiteOfNode> of_node(graph.node_count());
  for (size_t i = 0; i < sites.sites.size(); ++i) {
    of_node[sites.sites[i].node.slot()] = {static_cast<int>(i), false};
    if (sites.sites[i].activation.is_valid()) of_node[sites.sites[i].activation.slot()] = {static_cast<int>(i), true};
  }
  return of_node;
}

size_t output_index(Graph& graph, ValueId value) {
  if (!graph.value(value).is_output) graph.mark_output(value);
  const std::vector<ValueId>& outputs = graph.outputs();
  return static_cast<size_t>(std::find(outputs.begin(), outputs.end(), value) - outputs.begin());
}

/// Whether something outside the group reads the result of a site, or an operator that moves it.
bool leaves_group(const Graph& graph, const Site& site, const std::vector<SiteOfNode>& of_node,
                  const std::vector<bool>& is_in_group) {
  const ir::Value& value = graph.value(site.result);
  return value.is_output || std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) {
           const SiteOfNode& reader = of_node[use.node.slot()];
           return reader.site < 0 || !is_in_group[static_cast<size_t>(reader.site)];
         });
}

}  // namespace

QuantizedGraph quantize_graph(const Graph& graph, const QuantizableSites& sites, const Ranges& ranges,
                              const std::vector<bool>& wanted) {
  const std::vector<SiteOfNode> of_node = sites_of_nodes(graph, sites);
  Emitter emitter(graph, sites, ranges);
  std::vector<std::string> names(sites.sites.size());
  for (NodeId id : graph.node_ids()) {
    const SiteOfNode& at = of_node[id.slot()];
    const auto site = static_cast<size_t>(at.site);
    if (at.site >= 0 && wanted[site]) {
      if (!at.is_activation) names[site] = emitter.emit(site);
      continue;
    }
    const Node& node = graph.node(id);
    if (is_movement(graph, node) && emitter.is_made_as_integers(node.outputs[0])) continue;
    emitter.copy(id);
  }
  for (ValueId output : graph.outputs()) emitter.floats(output);
  return {emitter.rewriter().finish(), std::move(names)};
}

ErrorGraph error_graph(const Graph& graph, const QuantizableSites& sites, const Ranges& ranges,
                       const std::vector<std::vector<size_t>>& groups) {
  const std::vector<SiteOfNode> of_node = sites_of_nodes(graph, sites);
  Emitter emitter(graph, sites, ranges);
  for (NodeId id : graph.node_ids()) emitter.copy(id);
  struct Compared {
    size_t group;
    ValueId integer, exact;
  };
  std::vector<Compared> compared;
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<bool> is_in_group(sites.sites.size());
    for (size_t site : groups[g]) is_in_group[site] = true;
    emitter.begin_group();
    for (size_t i = 0; i < sites.sites.size(); ++i) {
      if (!is_in_group[i]) continue;
      emitter.emit(i);
      const Site& site = sites.sites[i];
      if (leaves_group(graph, site, of_node, is_in_group)) {
        compared.push_back({g, emitter.floats_beside(site.result), emitter.rewriter().copied(site.result)});
      }
    }
  }
  ErrorGraph made{emitter.rewriter().finish(), {}};
  for (const Compared& one : compared) {
    made.compared.push_back({one.group, output_index(made.graph, one.integer), output_index(made.graph, one.exact)});
  }
  return made;
}

Graph with_outputs(const Graph& graph, const std::vector<ValueId>& values) {
  Graph copy = graph;
  for (ValueId value : values) {
    if (!copy.value(value).is_output && copy.value(value).producer.is_valid()) copy.mark_output(value);
  }
  return copy;
}

}  // namespace collage::quantize
