// SPDX-License-Identifier: Apache-2.0
#include "bench/placement/skeleton.h"

#include <algorithm>

#include "compiler/ir/ops/op_def.h"

namespace collage::bench {
namespace {

Kind kind_of(const ir::Graph& graph, const ir::Node& node) {
  using ir::FusionKind;
  const std::string_view op = node.op->name;
  if (op == "Conv" && node.inputs.size() > 1) {
    const ir::Shape& weights = graph.value(node.inputs[1]).type.shape;
    return weights.size() > 1 && weights[1] == 1 && weights[0] > 1 ? Kind::Depthwise : Kind::Contraction;
  }
  if (op == "Concat") return Kind::Join;
  if (op.find("Pool") != std::string_view::npos) return Kind::Pool;
  switch (node.op->kind) {
    case FusionKind::OutFusable: return Kind::Contraction;
    case FusionKind::Elementwise:
    case FusionKind::Broadcast: return Kind::Pointwise;
    case FusionKind::Injective: return Kind::Movement;
    default: return Kind::Other;
  }
}

}  // namespace

ValueId Skeleton::add_input(double bytes) {
  return values.add({NodeId(), {}, false, bytes});
}

ValueId Skeleton::add(Kind kind, const std::vector<ValueId>& reads, double flops, double bytes, double weight_bytes) {
  const NodeId node = nodes.next_id();
  std::vector<ValueId> distinct = reads;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (ValueId v : distinct) values[v].readers.push_back(node);
  const ValueId value = values.add({node, {}, false, bytes});
  nodes.push_back({kind, flops, weight_bytes, std::move(distinct), {value}});
  return value;
}

Skeleton skeleton_of(const ir::Graph& graph, const std::string& name) {
  Skeleton skeleton;
  skeleton.name = name;
  Table<ir::ValueId, ValueId> index(graph.value_count());
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) continue;
    SkeletonValue added;
    added.writer = value.producer;
    added.is_output = value.is_output;
    added.bytes = static_cast<double>(value.type.bytes());
    for (const ir::Use& use : value.uses) added.readers.push_back(use.node);
    std::sort(added.readers.begin(), added.readers.end());
    added.readers.erase(std::unique(added.readers.begin(), added.readers.end()), added.readers.end());
    index[id] = skeleton.values.add(std::move(added));
  }
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    SkeletonNode added;
    added.kind = kind_of(graph, node);
    added.flops = ir::work_of(graph, id).flops;
    for (ir::ValueId value : node.inputs) {
      if (!value.is_valid()) continue;
      if (graph.value(value).is_constant()) {
        added.weight_bytes += static_cast<double>(graph.value(value).type.bytes());
      } else {
        added.reads.push_back(index[value]);
      }
    }
    std::sort(added.reads.begin(), added.reads.end());
    added.reads.erase(std::unique(added.reads.begin(), added.reads.end()), added.reads.end());
    for (ir::ValueId value : node.outputs) {
      if (value.is_valid()) added.writes.push_back(index[value]);
    }
    skeleton.nodes.push_back(std::move(added));
  }
  return skeleton;
}

namespace {

/// Blocks on pictures of `channels` x `pixels`; sizes vary from block to block in a fixed way.
class Maker {
 public:
  explicit Maker(std::string name) { s_.name = std::move(name); }

  bool full(size_t nodes) const { return s_.nodes.size() >= nodes; }
  Skeleton finish(const std::vector<ValueId>& outputs) {
    for (ValueId v : outputs) s_.values[v].is_output = true;
    for (SkeletonValue& value : s_.values) value.is_output |= value.readers.empty();
    return std::move(s_);
  }
  ValueId input() { return s_.add_input(bytes()); }
  void vary() {
    ++block_;
    channels_ = 64.0 * (1 + block_ / 3 % 4);
    pixels_ = 3136.0 / (1 + block_ / 3 % 4);
  }

  ValueId conv(ValueId x, int kernel = 3) {
    const double weights = channels_ * channels_ * kernel * kernel;
    return s_.add(Kind::Contraction, {x}, 2 * weights * pixels_, bytes(), 4 * weights);
  }
  ValueId depthwise(ValueId x, int kernel) {
    const double weights = channels_ * kernel * kernel;
    return s_.add(Kind::Depthwise, {x}, 2 * weights * pixels_, bytes(), 4 * weights);
  }
  ValueId pool(ValueId x) { return s_.add(Kind::Pool, {x}, 9 * channels_ * pixels_, bytes()); }
  ValueId relu(ValueId x) { return s_.add(Kind::Pointwise, {x}, channels_ * pixels_, bytes()); }
  ValueId add(ValueId x, ValueId y) { return s_.add(Kind::Pointwise, {x, y}, channels_ * pixels_, bytes()); }
  ValueId concat(const std::vector<ValueId>& parts) {
    double total = 0;
    for (ValueId v : parts) total += s_.values[v].bytes;
    return s_.add(Kind::Join, parts, 0, total);
  }
  ValueId move(ValueId x) { return s_.add(Kind::Movement, {x}, 0, bytes()); }
  ValueId reduce(ValueId x) { return s_.add(Kind::Other, {x}, 5 * channels_ * pixels_, bytes()); }
  ValueId product(ValueId x, ValueId y) {
    return s_.add(Kind::Contraction, {x, y}, 2 * channels_ * pixels_ * 128, bytes());
  }

 private:
  double bytes() const { return 4 * channels_ * pixels_; }
  Skeleton s_;
  int block_ = 0;
  double channels_ = 64;
  double pixels_ = 3136;
};

ValueId separable(Maker& m, ValueId x, int kernel) {
  for (int i = 0; i < 2; ++i) x = m.conv(m.depthwise(m.relu(x), kernel), 1);
  return x;
}

/// NASNet-A's normal cell.
ValueId nasnet_cell(Maker& m, ValueId current, ValueId previous) {
  const ValueId h = m.conv(m.relu(current), 1);
  const ValueId p = m.conv(m.relu(previous), 1);
  const ValueId a = m.add(separable(m, h, 3), h);
  const ValueId b = m.add(separable(m, p, 3), separable(m, h, 5));
  const ValueId c = m.add(m.pool(h), p);
  const ValueId d = m.add(m.pool(p), m.pool(p));
  const ValueId e = m.add(separable(m, p, 5), separable(m, p, 3));
  return m.concat({a, b, c, d, e});
}

ValueId attention(Maker& m, ValueId x) {
  const ValueId norm = m.reduce(x);
  const ValueId q = m.move(m.conv(norm, 1)), k = m.move(m.conv(norm, 1)), v = m.move(m.conv(norm, 1));
  const ValueId weights = m.reduce(m.relu(m.product(q, k)));
  const ValueId mixed = m.conv(m.move(m.product(weights, v)), 1);
  const ValueId y = m.add(mixed, x);
  const ValueId hidden = m.conv(m.reduce(y), 1);
  const ValueId gelu = m.add(hidden, m.relu(m.relu(hidden)));
  return m.add(m.conv(gelu, 1), y);
}

}  // namespace

Skeleton synthetic(const std::string& family, size_t nodes) {
  Maker m(family + "-" + std::to_string(nodes));
  ValueId x = m.input(), previous = x;
  std::vector<ValueId> dense = {x};
  while (!m.full(nodes)) {
    m.vary();
    if (family == "chain") {
      x = m.relu(m.conv(x));
    } else if (family == "resnet") {
      x = m.relu(m.add(m.conv(m.relu(m.conv(m.relu(m.conv(x, 1)))), 1), x));
    } else if (family == "nasnet") {
      const ValueId next = nasnet_cell(m, x, previous);
      previous = x;
      x = next;
    } else if (family == "densenet") {
      if (dense.size() > 24) dense = {x};
      dense.push_back(m.conv(m.relu(m.conv(m.relu(dense.size() > 1 ? m.concat(dense) : x), 1))));
      x = dense.back();
    } else {
      x = attention(m, x);
    }
  }
  return m.finish({x});
}

}  // namespace collage::bench
