// SPDX-License-Identifier: Apache-2.0
// See split.h. `slices_of_operands` knows the operators; `Splitter` visits the set with it.
#include "compiler/ir/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "compiler/ir/op_def.h"
#include "compiler/ir/placement.h"
#include "runtime/kernels/window.h"

namespace collage::ir {
namespace {

/// A part of a tensor whose elements are not made: the part's are made alone.
class SliceSource final : public runtime::ElementSource {
 public:
  SliceSource(Tensor whole, const Slice& slice) : whole_(std::move(whole)), slice_(slice) {
    const auto axis = static_cast<size_t>(slice.axis);
    for (size_t d = axis + 1; d < whole_.shape().size(); ++d) inner_ *= whole_.shape()[d];
    stride_ = inner_ * whole_.shape()[axis];
    length_ = inner_ * (slice.end - slice.begin);
  }

  void write(int64_t first, std::span<std::byte> to) const override {
    const size_t width = size_of(whole_.dtype());
    while (!to.empty()) {
      const int64_t row = first / length_, within = first % length_;
      const int64_t count = std::min(length_ - within, static_cast<int64_t>(to.size() / width));
      whole_.read(row * stride_ + inner_ * slice_.begin + within, to.first(static_cast<size_t>(count) * width));
      to = to.subspan(static_cast<size_t>(count) * width);
      first += count;
    }
  }
  bool makes_same(const ElementSource& other) const override {
    const auto* slice = dynamic_cast<const SliceSource*>(&other);
    return slice != nullptr && slice_ == slice->slice_ && identical(whole_, slice->whole_);
  }

 private:
  Tensor whole_;
  Slice slice_;
  int64_t inner_ = 1, stride_ = 0, length_ = 0;  ///< elements
};

constexpr std::array<std::pair<SplitAxis, std::string_view>, 3> kAxes = {
    {{SplitAxis::Batch, "batch"}, {SplitAxis::Channels, "channels"}, {SplitAxis::Rows, "rows"}}};

/// How an operator uses the dimensions of its operands.
enum class Family {
  Elementwise,    ///< operands are broadcast
  Conv,           ///< x, w, and operands along the output channels
  ConvTranspose,  ///< x, w, bias
  Product,        ///< matrices in the last two dimensions, the others broadcast
  Gemm,
  Pool,
  GlobalPool,
  Channelwise,  ///< BatchNormalization: parameters along dimension 1
  Quantize,     ///< parameters along dimension `axis`
  Other
};

Family family_of(const OpDef& op) {
  static constexpr std::array<std::string_view, 21> kBroadcast = {
      "Add",  "And",         "BitShift", "Div",  "Equal", "Greater", "GreaterOrEqual",
      "Less", "LessOrEqual", "Max",      "Mean", "Min",   "Mod",     "Mul",
      "Or",   "PRelu",       "Pow",      "Sub",  "Sum",   "Where",   "Xor"};
  if (op.name == "Conv" || op.name == "ConvInteger" || op.name == "QLinearConv") return Family::Conv;
  if (op.name == "ConvTranspose") return Family::ConvTranspose;
  if (op.name == "MatMul" || op.name == "MatMulInteger" || op.name == "QLinearMatMul") return Family::Product;
  if (op.name == "Gemm") return Family::Gemm;
  if (op.name == "MaxPool" || op.name == "AveragePool" || op.name == "LpPool") return Family::Pool;
  if (op.name == "GlobalAveragePool" || op.name == "GlobalMaxPool" || op.name == "GlobalLpPool")
    return Family::GlobalPool;
  if (op.name == "BatchNormalization") return Family::Channelwise;
  if (op.name == "QuantizeLinear" || op.name == "DequantizeLinear") return Family::Quantize;
  // The second operands of these have unrelated shapes.
  if (op.name == "CastLike" || op.name == "Dropout") return Family::Other;
  bool broadcasts = std::find(kBroadcast.begin(), kBroadcast.end(), op.name) != kBroadcast.end();
  return op.kind == FusionKind::Elementwise || broadcasts ? Family::Elementwise : Family::Other;
}

/// The roles of the operands of a product or convolution; the others are scales, zero points and bias.
struct Operands {
  size_t left = 0;
  size_t right = 1;
};

Operands operands_of(const OpDef& op) {
  return op.name == "QLinearConv" || op.name == "QLinearMatMul" ? Operands{0, 3} : Operands{0, 1};
}

/// Returns the dimension of the axis in a result of this rank; nullopt if there is none.
std::optional<int> dimension_of(const OpDef& op, SplitAxis axis, size_t rank) {
  Family family = family_of(op);
  int dimensions = static_cast<int>(rank);
  int dimension = axis == SplitAxis::Batch ? 0 : axis == SplitAxis::Channels ? 1 : 2;
  if (family == Family::Product || family == Family::Gemm) {
    dimension = axis == SplitAxis::Batch ? 0 : axis == SplitAxis::Channels ? dimensions - 1 : dimensions - 2;
  }
  if (dimension < 0 || dimension >= dimensions) return std::nullopt;
  return dimension;
}

/// Slices of a node's operands that a slice of its result needs, and the attributes of the part.
struct NodeSlices {
  std::vector<Slice> operands;
  AttrMap attrs;
};

class NodeCutter {
 public:
  NodeCutter(const Graph& graph, const Node& node, const Slice& wanted, std::string* why)
      : graph_(graph), node_(node), wanted_(wanted), why_(why) {
    cut_.operands.resize(node.inputs.size());
    cut_.attrs = node.attrs;
  }

  std::optional<NodeSlices> run() {
    if (wanted_.is_whole()) return cut_;
    bool ok = false;
    switch (family_of(*node_.op)) {
      case Family::Elementwise: ok = broadcast_all(0); break;
      case Family::Conv: ok = conv(); break;
      case Family::ConvTranspose: ok = conv_transpose(); break;
      case Family::Product: ok = product(); break;
      case Family::Gemm: ok = gemm(); break;
      case Family::Pool: ok = pool(); break;
      case Family::GlobalPool: ok = wanted_.axis <= 1 ? same(0) : none(); break;
      case Family::Channelwise: ok = channelwise(); break;
      case Family::Quantize: ok = quantize(); break;
      case Family::Other: ok = none(); break;
    }
    if (!ok) return std::nullopt;
    return cut_;
  }

 private:
  bool fail(std::string why) {
    *why_ = std::move(why);
    return false;
  }
  bool none() { return fail(fmt::format("{} cannot be cut along dimension {}", node_.op->name, wanted_.axis)); }

  bool has(size_t i) const { return i < node_.inputs.size() && node_.inputs[i].is_valid(); }
  const Shape& shape(size_t i) const { return graph_.value(node_.inputs[i]).type.shape; }
  const Shape& result() const { return graph_.value(node_.outputs[0]).type.shape; }

  void set(size_t i, int axis) { cut_.operands[i] = {axis, wanted_.begin, wanted_.end}; }
  bool same(size_t i) { return set(i, wanted_.axis), true; }

  /// An operand that is broadcast to the result.
  bool broadcast(size_t i) {
    if (!has(i)) return true;
    int axis = wanted_.axis - static_cast<int>(result().size()) + static_cast<int>(shape(i).size());
    if (axis >= 0 && shape(i)[static_cast<size_t>(axis)] != 1) set(i, axis);
    return true;
  }
  bool broadcast_all(size_t first) {
    for (size_t i = first; i < node_.inputs.size(); ++i) broadcast(i);
    return true;
  }

  /// Scales, zero points, bias: one element, or one for each index of the dimension that is cut.
  bool parameters(const Operands& at, bool along_cut) {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (i == at.left || i == at.right || !has(i) || runtime::element_count(shape(i)) == 1) continue;
      if (shape(i).size() != 1 || !goes_with_right(i))
        return fail(fmt::format("operand {} of {} has an unrelated shape", i, node_.op->name));
      if (along_cut) set(i, 0);
    }
    return true;
  }

  bool goes_with_right(size_t i) const {
    std::string_view op = node_.op->name;
    if (op == "Conv") return i == 2;
    if (op == "ConvInteger" || op == "MatMulInteger") return i == 3;
    return i == 4 || i == 5 || (op == "QLinearConv" && i == 8);
  }

  bool conv() {
    Operands at = operands_of(*node_.op);
    if (wanted_.axis == 0) return set(at.left, 0), parameters(at, false);
    if (wanted_.axis == 2) {
      const Shape& w = shape(at.right);
      return window(at.left, Shape(w.begin() + 2, w.end())) && parameters(at, false);
    }
    if (wanted_.axis != 1) return none();
    set(at.right, 0);
    int64_t group = node_.attrs.get_int("group", 1);
    if (group > 1) {
      int64_t channels = shape(at.right)[0] / group;
      if (wanted_.begin % channels != 0 || wanted_.end % channels != 0)
        return fail(fmt::format("a part would have some of the {} channels of a group", channels));
      int64_t inside = shape(at.left)[1] / group;
      cut_.operands[at.left] = {1, wanted_.begin / channels * inside, wanted_.end / channels * inside};
      cut_.attrs.set("group", (wanted_.end - wanted_.begin) / channels);
    }
    return parameters(at, true);
  }

  bool conv_transpose() {
    if (wanted_.axis == 0) return same(0);
    if (wanted_.axis != 1) return none();
    if (node_.attrs.get_int("group", 1) != 1) return fail("a grouped ConvTranspose is not cut along its channels");
    set(1, 1);
    if (has(2)) set(2, 0);
    return true;
  }

  bool product() {
    Operands at = operands_of(*node_.op);
    int left = static_cast<int>(shape(at.left).size());
    int right = static_cast<int>(shape(at.right).size());
    int rank = static_cast<int>(result().size());
    if (left < 2 || right < 2) return fail("an operand of the product is a vector");
    if (wanted_.axis == rank - 1) return set(at.right, right - 1), parameters(at, true);
    if (wanted_.axis == rank - 2) return set(at.left, left - 2), parameters(at, false);
    return broadcast(at.left), broadcast(at.right), parameters(at, false);
  }

  bool gemm() {
    bool is_row = wanted_.axis == 0;
    if (is_row) set(0, node_.attrs.get_int("transA", 0) != 0 ? 1 : 0);
    if (!is_row) set(1, node_.attrs.get_int("transB", 0) != 0 ? 0 : 1);
    return broadcast_all(2);
  }

  bool pool() {
    if (wanted_.axis <= 1) return same(0);
    return wanted_.axis == 2 ? window(0, node_.attrs.get_ints("kernel_shape")) : none();
  }

  bool channelwise() {
    for (size_t i = 1; i < node_.inputs.size() && wanted_.axis == 1; ++i) set(i, 0);
    return same(0);
  }

  bool quantize() {
    int64_t axis = node_.attrs.get_int("axis", 1);
    if (axis < 0) axis += static_cast<int64_t>(result().size());
    for (size_t i = 1; i < node_.inputs.size(); ++i) {
      if (has(i) && !shape(i).empty() && runtime::element_count(shape(i)) != 1 && axis == wanted_.axis) set(i, 0);
    }
    return same(0);
  }

  /// Rows [begin, end) of a window's result read rows from begin * stride - pad to the last row that the last window
  /// needs. Rows outside the operand are padding of the part; neighbouring parts read some rows twice.
  bool window(size_t operand, const Shape& kernel) {
    const Shape& x = shape(operand);
    runtime::Window w;
    if (auto problem = runtime::resolve_window(Shape(x.begin() + 2, x.end()), kernel, node_.attrs, &w))
      return fail(problem->message);
    if (node_.attrs.get_int("ceil_mode", 0) != 0) return fail("`ceil_mode` counts rows outside the operand");
    int64_t extent = (w.kernel[0] - 1) * w.dilations[0] + 1;
    int64_t first = wanted_.begin * w.strides[0] - w.pads_begin[0];
    int64_t last = (wanted_.end - 1) * w.strides[0] - w.pads_begin[0] + extent;
    int64_t begin = std::max<int64_t>(first, 0);
    int64_t end = std::min(last, w.input[0]);
    if (begin >= end) return fail("a part would read only padding");
    cut_.operands[operand] = {2, begin, end};
    runtime::Ints pads = w.pads_begin;
    pads.insert(pads.end(), w.pads_end.begin(), w.pads_end.end());
    pads[0] = begin - first;
    pads[w.rank()] = last - end;
    cut_.attrs.erase("auto_pad");
    cut_.attrs.set("pads", std::move(pads));
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  Slice wanted_;
  std::string* why_;
  NodeSlices cut_;
};

/// Returns the number of which boundaries between parts are multiples.
int64_t unit_of(const Graph& graph, const Node& node, SplitAxis axis) {
  if (axis != SplitAxis::Channels || family_of(*node.op) != Family::Conv) return 1;
  int64_t group = node.attrs.get_int("group", 1);
  return group > 1 ? graph.value(node.outputs[0]).type.shape[1] / group : 1;
}

class Splitter {
 public:
  Splitter(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {}

  SplitNodes run(NodeId at, SplitAxis axis, int count) {
    SplitNodes split;
    std::optional<Slice> whole = range(at, axis, &split.why);
    if (!whole) return split;
    int64_t unit = unit_of(graph_, graph_.node(at), axis);
    int64_t units = (whole->end - whole->begin) / unit;
    if (units < count) {
      split.why = fmt::format("{} {} for {} parts", units, unit == 1 ? name_of(axis) : "groups", count);
      return split;
    }
    int64_t begin = 0;
    for (int p = 0; p < count; ++p) {
      int64_t end = begin + (units / count + (p < units % count ? 1 : 0)) * unit;
      std::optional<SplitPart> part = cut({whole->axis, begin, end}, at, *whole, &split.why);
      if (!part) {
        split.parts.clear();
        return split;
      }
      split.parts.push_back(std::move(*part));
      begin = end;
    }
    return split;
  }

 private:
  /// Returns the dimension of the set's result that corresponds to the axis of `at`, and its extent.
  std::optional<Slice> range(NodeId at, SplitAxis axis, std::string* why) {
    std::vector<ValueId> results = boundary_outputs(graph_, nodes_);
    if (results.size() != 1) {
      *why = fmt::format("{} results", results.size());
      return std::nullopt;
    }
    result_ = results[0];
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      auto is_read = [&](ValueId v) { return v.is_valid() && (v == result_ || !graph_.value(v).uses.empty()); };
      if (is_read(node.outputs[0]) && std::count_if(node.outputs.begin(), node.outputs.end(), is_read) == 1) continue;
      *why = fmt::format("{} has several results, or none that is read", node.op->name);
      return std::nullopt;
    }
    const Node& node = graph_.node(at);
    const Shape& own = graph_.value(node.outputs[0]).type.shape;
    const Shape& shape = graph_.value(result_).type.shape;
    std::optional<int> dimension = dimension_of(*node.op, axis, own.size());
    if (!can_split(*node.op, axis) || !dimension) {
      *why = fmt::format("{} of {} dimensions cannot be cut along {}", node.op->name, own.size(), name_of(axis));
      return std::nullopt;
    }
    int64_t extent = own[static_cast<size_t>(*dimension)];
    int there = *dimension + static_cast<int>(shape.size()) - static_cast<int>(own.size());
    if (there < 0 || shape[static_cast<size_t>(there)] != extent) {
      *why = fmt::format("the {} of `%{}` are not those of the result", name_of(axis), graph_.node_name(at));
      return std::nullopt;
    }
    at_axis_ = *dimension;
    return Slice{there, 0, extent};
  }

  std::optional<SplitPart> cut(const Slice& result, NodeId at, const Slice& whole, std::string* why) {
    std::map<ValueId, Slice> wanted = {{result_, result}};
    std::map<NodeId, NodeSlices> cuts;
    for (size_t i = nodes_.size(); i-- > 0;) {
      const Node& node = graph_.node(nodes_[i]);
      std::optional<NodeSlices> slices = NodeCutter(graph_, node, wanted.at(node.outputs[0]), why).run();
      if (!slices) return std::nullopt;
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (!node.inputs[k].is_valid()) continue;
        auto [known, is_new] = wanted.emplace(node.inputs[k], slices->operands[k]);
        if (is_new || known->second == slices->operands[k]) continue;
        *why = fmt::format("`%{}` is needed in two different slices", graph_.value(node.inputs[k]).name);
        return std::nullopt;
      }
      cuts.emplace(nodes_[i], std::move(*slices));
    }
    const Slice& there = wanted.at(graph_.node(at).outputs[0]);
    if (there.axis != at_axis_ || there.end - there.begin != result.end - result.begin) {
      *why = fmt::format("`%{}` is not cut where the result is", graph_.node_name(at));
      return std::nullopt;
    }
    bool reads_slice = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const auto& item) { return item.first != result_ && !item.second.is_whole(); });
    if (!reads_slice && whole.end > result.end - result.begin) {
      *why = "no operand is cut";
      return std::nullopt;
    }
    return build(result, wanted, cuts);
  }

  SplitPart build(const Slice& result, const std::map<ValueId, Slice>& wanted, std::map<NodeId, NodeSlices>& cuts) {
    SplitPart part;
    part.result = result;
    part.graph.name = graph_.name;
    std::map<ValueId, ValueId> made;
    auto type_of = [&](ValueId value) {
      const TensorType& type = graph_.value(value).type;
      return TensorType{type.dtype, shape_of_slice(type.shape, wanted.at(value))};
    };
    for (ValueId value : boundary_inputs(graph_, nodes_)) {
      made.emplace(value, part.graph.add_input(graph_.value(value).name, type_of(value)));
      part.reads.emplace_back(value, wanted.at(value));
    }
    for (NodeId id : nodes_) {
      const Node& node = graph_.node(id);
      std::vector<ValueId> inputs;
      for (ValueId input : node.inputs) {
        if (input.is_valid() && graph_.value(input).is_constant() && made.count(input) == 0) {
          made.emplace(input, part.graph.add_constant(graph_.value(input).name, constant(input, wanted.at(input))));
        }
        inputs.push_back(input.is_valid() ? made.at(input) : input);
      }
      ValueId output = node.outputs[0];
      NodeId copy = part.graph.add_node(*node.op, std::move(inputs), std::move(cuts.at(id).attrs),
                                        {graph_.value(output).name}, {type_of(output)}, node.span);
      part.graph.node(copy).origin = node.origin;
      made.emplace(output, part.graph.node(copy).outputs[0]);
    }
    part.graph.mark_output(made.at(result_));
    return part;
  }

  Constant constant(ValueId value, const Slice& slice) const {
    const Constant& whole = *graph_.value(value).constant;
    if (slice.is_whole()) return whole;
    Constant cut;
    cut.data = slice_of(whole.data, slice);
    return cut;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  ValueId result_;
  int at_axis_ = 0;
};

}  // namespace

std::string_view name_of(SplitAxis axis) {
  return std::find_if(kAxes.begin(), kAxes.end(), [&](const auto& row) { return row.first == axis; })->second;
}

std::optional<SplitAxis> find_split_axis(std::string_view name) {
  auto row = std::find_if(kAxes.begin(), kAxes.end(), [&](const auto& r) { return r.second == name; });
  return row == kAxes.end() ? std::nullopt : std::optional(row->first);
}

std::vector<std::string> split_axis_names() {
  std::vector<std::string> names;
  for (const auto& row : kAxes) names.emplace_back(row.second);
  return names;
}

bool can_split(const OpDef& op, SplitAxis axis) {
  Family family = family_of(op);
  if (axis == SplitAxis::Rows && (family == Family::ConvTranspose || family == Family::GlobalPool)) return false;
  return family != Family::Other;
}

Shape shape_of_slice(Shape shape, const Slice& slice) {
  if (!slice.is_whole()) shape[static_cast<size_t>(slice.axis)] = slice.end - slice.begin;
  return shape;
}

bool is_view(const TensorType& whole, const Slice& slice) {
  if (slice.is_whole()) return true;
  auto axis = static_cast<size_t>(slice.axis);
  for (size_t d = 0; d < axis; ++d) {
    if (whole.shape[d] != 1) return false;
  }
  size_t before = TensorType{whole.dtype, shape_of_slice(whole.shape, {slice.axis, 0, slice.begin})}.bytes();
  return before % runtime::kTensorAlignment == 0;
}

Tensor slice_of(const Tensor& tensor, const Slice& slice) {
  if (slice.is_whole()) return tensor;
  if (!tensor.is_made()) {
    return Tensor(tensor.dtype(), shape_of_slice(tensor.shape(), slice), std::make_shared<SliceSource>(tensor, slice));
  }
  Tensor result(tensor.dtype(), shape_of_slice(tensor.shape(), slice));
  auto axis = static_cast<size_t>(slice.axis);
  size_t inner = size_of(tensor.dtype());
  for (size_t d = axis + 1; d < tensor.shape().size(); ++d) inner *= static_cast<size_t>(tensor.shape()[d]);
  size_t stride = inner * static_cast<size_t>(tensor.shape()[axis]);
  size_t length = inner * static_cast<size_t>(slice.end - slice.begin);
  if (length == 0 || tensor.bytes() == 0) return result;
  const std::byte* from = tensor.data() + inner * static_cast<size_t>(slice.begin);
  for (size_t at = 0; at < result.bytes(); at += length, from += stride) std::memcpy(result.data() + at, from, length);
  return result;
}

SplitNodes split_nodes(const Graph& graph, const std::vector<NodeId>& nodes, NodeId at, SplitAxis axis, int count) {
  return Splitter(graph, nodes).run(at, axis, count);
}

}  // namespace collage::ir
