// SPDX-License-Identifier: Apache-2.0
// Merges Pad into what pads itself, and into another Pad. Exact.
//
//     Conv(Pad(%x) by 0) {pads = p}                          =>   Conv(%x) {pads = p + those of the Pad}
//     MaxPool(Pad(%x) by -Inf) {pads = p}                    =>   likewise; also a Pad by 0 of what is never negative
//     AveragePool(Pad(%x) by 0) {count_include_pad = 1}      =>   likewise; also without the attribute if p is 0
//     Pad(Pad(%x) by v) by v                                 =>   Pad(%x) by v
//
// Only borders of the picture count: a Pad of images or channels stays, as does one that crops, and a pool whose last
// windows leave the picture (`ceil_mode`).
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/ops/op_def.h"
#include "compiler/passes/match_node.h"
#include "compiler/passes/pass_manager.h"
#include "runtime/kernels/window.h"

namespace collage::passes {
namespace {

using ir::AttrMap;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Ints = std::vector<int64_t>;

/// A border of one number.
struct Border {
  ValueId x;
  Ints pads;  ///< before every dimension, then after
  double fill = 0;
  ValueId element = {};  ///< the constant of `fill`; invalid: 0
};

/// The free Pad that makes `id`, if it adds constant elements.
std::optional<Border> border_of(const GraphEdit& edit, ValueId id) {
  const Node* pad = made_by(edit, id, "Pad");
  if (pad == nullptr || pad->inputs.size() > 3 || ir::attrs_of(*pad).string_of("mode") != "constant") {
    return std::nullopt;
  }
  const std::optional<Ints> pads = whole_numbers(edit.graph(), *pad, 1);
  if (!pads || std::any_of(pads->begin(), pads->end(), [](int64_t pad_by) { return pad_by < 0; })) return std::nullopt;
  Border border{pad->inputs[0], *pads};
  if (ir::has_operand(*pad, 2)) {
    border.element = pad->inputs[2];
    const std::optional<double> number = number_of(edit, border.element);
    if (!number) return std::nullopt;
    border.fill = *number;
  }
  return border;
}

/// Exact: not all i64 are different as doubles.
bool have_equal_elements(const GraphEdit& edit, const Border& a, const Border& b) {
  if (a.element == b.element) return true;
  if (!a.element.is_valid() || !b.element.is_valid()) {
    const double given = a.element.is_valid() ? a.fill : b.fill;
    return given == 0 && !std::signbit(given);
  }
  const ir::Tensor &left = edit.value(a.element).constant->data, &right = edit.value(b.element).constant->data;
  return std::equal(left.data(), left.data() + left.bytes(), right.data(), right.data() + right.bytes());
}

/// Pads of the spatial dimensions; nullopt where images or channels are padded.
std::optional<Ints> picture_pads(const Border& border) {
  const size_t rank = border.pads.size() / 2;
  if (rank < 3) return std::nullopt;
  Ints pads;
  for (size_t i = 0; i < border.pads.size(); ++i) {
    if (i % rank >= 2) {
      pads.push_back(border.pads[i]);
    } else if (border.pads[i] != 0) {
      return std::nullopt;
    }
  }
  return pads;
}

/// The node's own pads and those of the border; nullopt where its own follow from the shape, and where windows do not
/// take that many.
std::optional<Ints> joined_pads(const Node& node, const Ints& border) {
  const std::string auto_pad = ir::attrs_of(node).string_of("auto_pad");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  Ints pads = auto_pad == "VALID" ? Ints() : ir::attrs_of(node).ints_of("pads");
  pads.resize(border.size(), 0);
  for (size_t i = 0; i < pads.size(); ++i) {
    if (border[i] > runtime::kMaxWindowValue - pads[i]) return std::nullopt;
    pads[i] += border[i];
  }
  return pads;
}

bool is_never_negative(const GraphEdit& edit, ValueId id) {
  for (std::string_view op : {"Abs", "Exp", "HardSigmoid", "Relu", "Sigmoid", "Softmax"}) {
    if (made_by(edit, id, op) != nullptr) return true;
  }
  // Where the bounds exclude each other, the upper one is the result.
  const Node* clip = made_by(edit, id, "Clip");
  if (clip == nullptr || !ir::has_operand(*clip, 1)) return false;
  for (size_t bound = 1; bound < clip->inputs.size(); ++bound) {
    if (!ir::has_operand(*clip, bound)) continue;
    const std::optional<double> number = number_of(edit, clip->inputs[bound]);
    if (!number || !(*number >= 0)) return false;
  }
  return true;
}

/// Every window still has an element of the picture, as pools want it.
bool leaves_windows(const Node& pool, const Ints& pads) {
  const Ints window = ir::attrs_of(pool).ints_of("kernel_shape"), dilations = ir::attrs_of(pool).ints_of("dilations");
  if (std::any_of(dilations.begin(), dilations.end(), [](int64_t dilation) { return dilation != 1; })) return false;
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= window[i % window.size()]) return false;
  }
  return true;
}

bool fits_pool(const GraphEdit& edit, const Node& pool, const Border& border, const Ints& pads, AttrMap* attrs) {
  if (pool.outputs.size() != 1 || ir::attrs_of(pool).is_on("ceil_mode")) return false;
  if (has_zero(edit, border.x) || !leaves_windows(pool, pads)) return false;
  if (pool.op->name == "MaxPool") {
    const bool is_least = border.fill == -std::numeric_limits<double>::infinity() ||
                          (border.fill == 0 && is_never_negative(edit, border.x));
    return is_least && runtime::is_float(edit.value(border.x).type.dtype);
  }
  const Ints own = ir::attrs_of(pool).ints_of("pads");
  const bool has_own = std::any_of(own.begin(), own.end(), [](int64_t pad) { return pad != 0; });
  if (border.fill != 0 || (has_own && !ir::attrs_of(pool).is_on("count_include_pad"))) return false;
  attrs->set("count_include_pad", int64_t{1});
  return true;
}

void fold_into_window(GraphEdit& edit, NodeId id) {
  const Node node = edit.node(id);
  const std::optional<Border> border = border_of(edit, node.inputs[0]);
  const std::optional<Ints> around = border ? picture_pads(*border) : std::nullopt;
  const std::optional<Ints> pads = around ? joined_pads(node, *around) : std::nullopt;
  if (!pads) return;
  AttrMap attrs = node.attrs;
  if (node.op->name == "Conv" ? border->fill != 0 : !fits_pool(edit, node, *border, *pads, &attrs)) return;
  attrs.set("pads", *pads);
  attrs.erase("auto_pad");
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = border->x;
  edit.replace_by(node.outputs[0], node.op->name, std::move(inputs), std::move(attrs));
}

void merge_pads(GraphEdit& edit, NodeId id) {
  const ValueId result = edit.node(id).outputs[0];
  const std::optional<Border> outer = border_of(edit, result);
  const std::optional<Border> inner = border_of(edit, edit.node(id).inputs[0]);
  if (!outer || !inner || !have_equal_elements(edit, *outer, *inner)) return;
  if (!is_read_by(edit, edit.node(id).inputs[0], 1)) return;
  Ints pads = outer->pads;
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += inner->pads[i];
  std::vector<ValueId> inputs = {inner->x, edit.add_ints(edit.value(result).name + ".pads", pads)};
  if (ir::has_operand(edit.node(id), 2)) inputs.push_back(edit.node(id).inputs[2]);
  edit.replace_by(result, "Pad", std::move(inputs));
}

}  // namespace

bool fold_pads(ir::Graph& graph, PassContext&) {
  return rewrite_all(graph, [](GraphEdit& edit, NodeId id) {
    const std::string_view op = edit.node(id).op->name;
    if (op == "Conv" || op == "MaxPool" || op == "AveragePool") fold_into_window(edit, id);
    if (op == "Pad") merge_pads(edit, id);
  });
}

}  // namespace collage::passes
