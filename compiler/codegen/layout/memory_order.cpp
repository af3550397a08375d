// SPDX-License-Identifier: Apache-2.0
// First the layout of every value (layout_classes.h), then node by node.
#include "compiler/codegen/layout/memory_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compiler/codegen/kernel/pointwise.h"
#include "compiler/codegen/kernel/window_layout.h"
#include "compiler/codegen/layout/layout_classes.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"
#include "runtime/core/layout.h"

namespace collage::codegen {
namespace {

using ir::NodeId;
using ir::Shape;
using ir::ValueId;
using runtime::Result;
using runtime::Status;

/// How an operator names the dimensions of its data.
enum class Naming {
  None,        ///< not at all: elementwise
  Window,      ///< channels, then a window: `data_layout`, `out_layout`
  GlobalPool,  ///< all but the first two => a reduction over axes
  Axis,        ///< attribute `axis`
  Axes,        ///< attribute or constant operand `axes`
  Slice,       ///< constant operand 3
  PerDim,      ///< constant operands with an entry, or two, for each dimension
};

struct Row {
  std::string_view op;
  Naming naming;
};

constexpr std::array kRows = {
    Row{"AveragePool", Naming::Window},
    Row{"Concat", Naming::Axis},
    Row{"Conv", Naming::Window},
    Row{"ConvTranspose", Naming::Window},
    Row{"GlobalAveragePool", Naming::GlobalPool},
    Row{"GlobalMaxPool", Naming::GlobalPool},
    Row{"LogSoftmax", Naming::Axis},
    Row{"MaxPool", Naming::Window},
    Row{"Pad", Naming::PerDim},
    Row{"ReduceL1", Naming::Axes},
    Row{"ReduceL2", Naming::Axes},
    Row{"ReduceMax", Naming::Axes},
    Row{"ReduceMean", Naming::Axes},
    Row{"ReduceMin", Naming::Axes},
    Row{"ReduceProd", Naming::Axes},
    Row{"ReduceSum", Naming::Axes},
    Row{"ReduceSumSquare", Naming::Axes},
    Row{"Resize", Naming::PerDim},
    Row{"Slice", Naming::Slice},
    Row{"Softmax", Naming::Axis},
    Row{"Split", Naming::Axis},
};

std::vector<int> order_of(std::string_view layout, size_t rank) {
  std::vector<int> plain(rank);
  for (size_t d = 0; d < rank; ++d) plain[d] = static_cast<int>(d);
  return runtime::layout_permutation(layout, rank).value_or(plain);
}

Shape reordered(const Shape& shape, const std::vector<int>& order) {
  Shape result;
  for (int d : order) result.push_back(shape[static_cast<size_t>(d)]);
  return result;
}

class Renamer {
 public:
  Renamer(const ir::Graph& graph, const std::vector<NodeId>& nodes, const ValueLayouts& given)
      : graph_(graph), nodes_(nodes), given_(given), layouts_(graph, given) {}

  Result<MemoryOrder> run() {
    if (Status status = find_layouts(); !status) return status;
    for (NodeId node : nodes_) {
      if (Status status = rename(node); !status) return status;
    }
    for (ValueId value : boundary_outputs()) made_.graph.mark_output(results_.at(value));
    return std::move(made_);
  }

 private:
  ir::AttrView attrs() const { return {*op_, attrs_}; }
  const ir::TensorType& type(ValueId value) const { return graph_.value(value).type; }
  size_t rank(ValueId value) const { return type(value).shape.size(); }
  bool is_constant(ValueId value) const { return graph_.value(value).is_constant(); }
  bool is_inside(NodeId node) const { return std::binary_search(nodes_.begin(), nodes_.end(), node); }

  /// Returns whether the node computes the same on elements in any order.
  bool is_elementwise(NodeId id) const { return is_pointwise(graph_, id) && !depends_on_place(graph_.node(id)); }

  Naming naming(NodeId id) const {
    const Row* row = find_row(id);
    return row == nullptr ? Naming::None : row->naming;
  }
  const Row* find_row(NodeId id) const {
    const auto* row =
        std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.op == graph_.node(id).op->name; });
    return row == kRows.end() ? nullptr : row;
  }

  /// Operands whose dimensions the operator's names are about; others are parameters.
  std::vector<ValueId> data_of(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (node.op->name == "Concat") return node.inputs;
    return {node.inputs[0]};
  }

  Status find_layouts() {
    std::vector<ValueId> boundary, inside;
    for (NodeId id : nodes_) {
      const ir::Node& node = graph_.node(id);
      tie_values(id);
      for (ValueId input : node.inputs) {
        if (input.is_valid() && !is_constant(input) && !is_inside(graph_.value(input).producer))
          boundary.push_back(input);
      }
      inside.insert(inside.end(), node.outputs.begin(), node.outputs.end());
    }
    std::erase_if(inside, [](ValueId value) { return !value.is_valid(); });
    for (ValueId value : boundary_outputs()) boundary.push_back(value);
    if (Status status = layouts_.resolve(boundary, inside); !status) return status;
    boundary.insert(boundary.end(), inside.begin(), inside.end());
    for (ValueId value : boundary) {
      const auto given = given_.find(value);
      if (layouts_.is_free(value)) {
        if (given != given_.end()) made_.layouts[value] = given->second;
      } else if (layouts_.of(value) != runtime::kPlainLayout) {
        made_.layouts[value] = layouts_.of(value);
      }
    }
    return Status::ok();
  }

  void tie_values(NodeId id) {
    const ir::Node& node = graph_.node(id);
    const ValueId y = graph_.first_output(id);
    if (is_elementwise(id)) {
      for (ValueId input : node.inputs) {
        if (input.is_valid() && !is_constant(input) && type(input).shape == type(y).shape) layouts_.tie(input, y);
      }
      return;
    }
    const Row* row = find_row(id);
    if (row == nullptr) {
      for (const auto* values : {&node.inputs, &node.outputs}) {
        for (ValueId value : *values) {
          if (value.is_valid() && !is_constant(value)) layouts_.keep_plain(value);
        }
      }
      return;
    }
    if (node.op->name.starts_with("Conv")) return;  // reads either layout
    for (ValueId value : data_of(id)) {
      if (!is_constant(value) && rank(value) == rank(y)) layouts_.tie(value, y);
    }
    for (ValueId value : node.outputs) {
      if (value.is_valid() && rank(value) == rank(y)) layouts_.tie(value, y);
    }
  }

  std::vector<ValueId> boundary_outputs() const {
    std::vector<ValueId> found;
    for (NodeId id : nodes_) {
      for (ValueId value : graph_.node(id).outputs) {
        if (!value.is_valid()) continue;
        const ir::Value& v = graph_.value(value);
        const bool is_read =
            std::any_of(v.uses.begin(), v.uses.end(), [&](const ir::Use& use) { return !is_inside(use.node); });
        if (is_read || v.is_output) found.push_back(value);
      }
    }
    return found;
  }

  Status rename(NodeId id) {
    const ir::Node& node = graph_.node(id);
    const ValueId y = graph_.first_output(id);
    attrs_ = node.attrs;
    op_ = node.op;
    operands_.clear();
    Status status = Status::ok();
    if (is_elementwise(id)) {
      status = rename_pointwise(id, layouts_.of(y));
    } else {
      status = rename_operands(id, layouts_.of(data_of(id).front()));
    }
    if (!status) return status;
    std::vector<std::string> names;
    std::vector<ir::TensorType> types;
    for (ValueId value : node.outputs) {
      names.push_back(value.is_valid() ? graph_.value(value).name : "");
      types.push_back(value.is_valid() ? in_memory(value) : ir::TensorType{});
    }
    const NodeId made = made_.graph.add_node(*op_, operands_, attrs_, names, types);
    made_.nodes.push_back(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].is_valid()) continue;
      const ValueId result = made_.graph.node(made).outputs[i];
      results_[node.outputs[i]] = result;
      note(result, node.outputs[i]);
    }
    return Status::ok();
  }

  ir::TensorType in_memory(ValueId value) const {
    return {type(value).dtype, reordered(type(value).shape, order_of(layouts_.of(value), rank(value)))};
  }

  void note(ValueId made, ValueId original) {
    if (made_.values.size() <= made.slot()) made_.values.resize(made.slot() + 1);
    made_.values[made.slot()] = original;
  }

  /// Operands broadcast against a result in a layout: first to its rank, then in its order.
  Status rename_pointwise(NodeId id, const std::string& layout) {
    const ir::Node& node = graph_.node(id);
    const size_t space = rank(graph_.first_output(id));
    const std::vector<int> order = order_of(layout, space);
    if (node.op->name == "BatchNormalization" && layout != runtime::kPlainLayout) {
      if (layout != runtime::layout_of_rank(runtime::kChannelsLast, space)) return refuse(id, node.inputs[0]);
      attrs_.set(kDataLayout, std::string(runtime::kChannelsLast));
    }
    if (scales_along_axis(node)) {
      const int64_t axis = ir::attrs_of(node).int_of("axis");
      const auto at = std::find(order.begin(), order.end(), axis < 0 ? axis + static_cast<int64_t>(space) : axis);
      if (at != order.end()) attrs_.set("axis", static_cast<int64_t>(at - order.begin()));
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool is_parameter =
          i > 0 && (node.op->name == "BatchNormalization" || node.op->name == "Dropout" || scales_along_axis(node));
      if (!input.is_valid() || is_parameter) {
        operands_.push_back(input.is_valid() ? as_it_is(input) : ValueId());
        continue;
      }
      if (!is_constant(input) && layouts_.of(input) == layout && rank(input) == space) {
        operands_.push_back(as_it_is(input));
        continue;
      }
      Shape shape(space - rank(input), 1);
      shape.insert(shape.end(), type(input).shape.begin(), type(input).shape.end());
      if (layouts_.of(input) != runtime::kPlainLayout && !is_constant(input)) return refuse(id, input);
      if (runtime::lies_plainly(layout, shape)) {
        if (results_.contains(input) && made_.graph.value(results_.at(input)).type.shape != reordered(shape, order)) {
          return refuse(id, input);
        }
        operands_.push_back(view(input, reordered(shape, order)));
      } else if (is_constant(input)) {
        operands_.push_back(moved(input, shape, layout));
      } else {
        return refuse(id, input);
      }
    }
    return Status::ok();
  }

  Status rename_operands(NodeId id, const std::string& layout) {
    const ir::Node& node = graph_.node(id);
    const ValueId y = graph_.first_output(id);
    const std::vector<ValueId> data = data_of(id);
    for (ValueId input : node.inputs) {
      const bool is_data = std::find(data.begin(), data.end(), input) != data.end();
      if (input.is_valid() && is_data && is_constant(input) && layout != runtime::kPlainLayout) {
        operands_.push_back(moved(input, type(input).shape, layout));
      } else {
        operands_.push_back(input.is_valid() ? as_it_is(input) : ValueId());
      }
    }
    if (naming(id) == Naming::Window) {
      if (node.outputs.size() > 1)
        return Status::error(fmt::format("`%{}` has indices of a pool", graph_.value(y).name));
      if (layout != runtime::kPlainLayout) attrs_.set(kDataLayout, std::string(runtime::kChannelsLast));
      if (layouts_.of(y) != runtime::kPlainLayout) attrs_.set(kOutLayout, std::string(runtime::kChannelsLast));
      return is_channels_last_or_plain(layout, id) && is_channels_last_or_plain(layouts_.of(y), id) ? Status::ok()
                                                                                                    : refuse(id, y);
    }
    if (layout == runtime::kPlainLayout) return Status::ok();
    return rename_dimensions(id, order_of(layout, rank(data.front())));
  }

  bool is_channels_last_or_plain(const std::string& layout, NodeId id) const {
    return layout == runtime::kPlainLayout ||
           layout == runtime::layout_of_rank(runtime::kChannelsLast, rank(graph_.node(id).inputs[0]));
  }

  Status rename_dimensions(NodeId id, const std::vector<int>& order) {
    const auto count = static_cast<int64_t>(order.size());
    const auto renamed = [&](int64_t axis) {
      const auto at = std::find(order.begin(), order.end(), static_cast<int>(axis < 0 ? axis + count : axis));
      return static_cast<int64_t>(at - order.begin());
    };
    switch (naming(id)) {
      case Naming::None:
      case Naming::Window: return Status::ok();
      case Naming::Axis: attrs_.set("axis", renamed(attrs().int_of("axis"))); return Status::ok();
      case Naming::GlobalPool: {
        std::vector<int64_t> axes;
        for (int64_t axis = 2; axis < count; ++axis) axes.push_back(renamed(axis));
        op_ = ir::find_op(op_->name == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean");
        attrs_.set("axes", axes);
        return Status::ok();
      }
      case Naming::Axes: return rename_axes(id, order, renamed);
      case Naming::Slice: return rename_slice(id, renamed);
      case Naming::PerDim: return rename_entries(id, order);
    }
    return Status::ok();
  }

  template <typename Renamed>
  Status rename_axes(NodeId id, const std::vector<int>& order, const Renamed& renamed) {
    std::vector<int64_t> axes = attrs().ints_of("axes");
    if (operands_.size() > 1 && operands_[1].is_valid()) {
      const std::optional<std::vector<int64_t>> listed = ints(graph_.node(id).inputs[1]);
      if (!listed) return refuse(id, graph_.node(id).inputs[1]);
      axes = *listed;
      operands_.resize(1);
    }
    const bool is_over_all = axes.empty() && !attrs().is_on("noop_with_empty_axes");
    for (int64_t& axis : axes) axis = renamed(axis);
    if (!axes.empty()) attrs_.set("axes", axes);
    if (is_over_all || attrs().int_of("keepdims") != 0) return Status::ok();
    // What is left has no layout: it must be in the order of the dimensions.
    int last = -1;
    for (size_t d = 0; d < order.size(); ++d) {
      if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end()) continue;
      if (order[d] < last) return refuse(id, graph_.first_output(id));
      last = order[d];
    }
    return Status::ok();
  }

  template <typename Renamed>
  Status rename_slice(NodeId id, const Renamed& renamed) {
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    std::vector<int64_t> axes;
    if (inputs.size() > 3 && inputs[3].is_valid()) {
      const std::optional<std::vector<int64_t>> listed = ints(inputs[3]);
      if (!listed) return refuse(id, inputs[3]);
      axes = *listed;
    } else {
      for (int64_t axis = 0; axis < type(inputs[1]).shape[0]; ++axis) axes.push_back(axis);
    }
    for (int64_t& axis : axes) axis = renamed(axis);
    operands_.resize(std::max<size_t>(operands_.size(), 4));
    operands_[3] = constant(axes);
    return Status::ok();
  }

  /// [begins, ends] of Pad, [scales] of Resize, …: whole rows of one entry per dimension.
  Status rename_entries(NodeId id, const std::vector<int>& order) {
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    const bool has_axes = attrs_.has("axes") || (op_->name == "Pad" && inputs.size() > 3);
    if (has_axes) return refuse(id, inputs[0]);
    for (size_t i = 1; i < inputs.size(); ++i) {
      if (!inputs[i].is_valid() || type(inputs[i]).shape.size() != 1) continue;
      if (!is_constant(inputs[i])) return refuse(id, inputs[i]);
      const runtime::Tensor& data = graph_.value(inputs[i]).constant->data;
      const size_t count = order.size();
      if (static_cast<size_t>(data.count()) % count != 0) continue;
      runtime::Tensor entries(data.dtype(), data.shape());
      const size_t size = runtime::size_of(data.dtype());
      for (size_t at = 0; at < static_cast<size_t>(data.count()); ++at) {
        const size_t from = at / count * count + static_cast<size_t>(order[at % count]);
        std::copy_n(data.data() + from * size, size, entries.data() + at * size);
      }
      operands_[i] = add_constant(std::move(entries));
    }
    return Status::ok();
  }

  std::optional<std::vector<int64_t>> ints(ValueId value) const {
    if (!is_constant(value)) return std::nullopt;
    const runtime::Tensor& data = graph_.value(value).constant->data;
    std::vector<int64_t> list;
    for (int64_t i = 0; i < data.count(); ++i) list.push_back(runtime::element_as_int(data.view(), i));
    return list;
  }

  ValueId as_it_is(ValueId value) { return view(value, in_memory(value).shape); }

  /// The same bytes in another shape.
  ValueId view(ValueId value, const Shape& shape) {
    const auto made = results_.find(value);
    if (made != results_.end()) return made->second;
    const auto [found, is_new] = views_.try_emplace({value, shape});
    if (!is_new) return found->second;
    const std::string name = made_.graph.unique_name(graph_.value(value).name);
    if (is_constant(value)) {
      ir::Constant same = *graph_.value(value).constant;
      if (same.data.shape() != shape) same.data = same.data.reshaped(shape);
      found->second = made_.graph.add_constant(name, std::move(same));
    } else {
      found->second = made_.graph.add_input(name, {type(value).dtype, shape});
    }
    note(found->second, value);
    return found->second;
  }

  /// A constant, seen as `shape`, whose elements stand in the order of the layout.
  ValueId moved(ValueId value, const Shape& shape, const std::string& layout) {
    const runtime::Tensor plain = graph_.value(value).constant->data.reshaped(shape);
    runtime::Tensor data(plain.dtype(), reordered(shape, order_of(layout, shape.size())));
    runtime::reorder(plain.view(), runtime::kPlainLayout, runtime::TensorView{plain.dtype(), shape, data.data()},
                     layout);
    return add_constant(std::move(data));
  }

  ValueId constant(const std::vector<int64_t>& list) {
    runtime::Tensor data(ir::DType::I64, {static_cast<int64_t>(list.size())});
    std::copy(list.begin(), list.end(), data.as<int64_t>().begin());
    return add_constant(std::move(data));
  }

  ValueId add_constant(runtime::Tensor data) {
    ir::Constant own;
    own.data = std::move(data);
    const ValueId made = made_.graph.add_constant(made_.graph.unique_name("moved"), std::move(own));
    note(made, ValueId());
    return made;
  }

  Status refuse(NodeId id, ValueId value) const {
    return Status::error(fmt::format("{} of `%{}` does not take `%{}` in this layout", graph_.node(id).op->name,
                                     graph_.node_name(id), graph_.value(value).name));
  }

  const ir::Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const ValueLayouts& given_;
  LayoutClasses layouts_;
  MemoryOrder made_;
  std::map<ValueId, ValueId> results_;                  ///< of nodes that are renamed
  std::map<std::pair<ValueId, Shape>, ValueId> views_;  ///< of values from outside
  // The node that is being renamed.
  const ir::OpDef* op_ = nullptr;
  ir::AttrMap attrs_;
  std::vector<ValueId> operands_;
};

}  // namespace

Result<MemoryOrder> to_memory_order(const ir::Graph& graph, const std::vector<NodeId>& nodes,
                                    const ValueLayouts& layouts) {
  return Renamer(graph, nodes, layouts).run();
}

}  // namespace collage::codegen
