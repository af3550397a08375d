// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/rebuild.h"

#include <algorithm>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/verify.h"
#include "compiler/lint/models/trials.h"
#include "runtime/core/joined.h"
#include "runtime/support/check.h"

namespace collage::lint {
namespace {

using runtime::Ints;

/// Unset: as it was.
struct Changes {
  /// The type of an input, or of a constant whose elements the test leaves open.
  std::function<ir::TensorType(const ir::Value&)> type_of_leaf{};
  std::function<runtime::AttrMap(ir::NodeId)> attributes_of{};
};

bool is_open(const ir::Value& value) {
  return value.is_constant() && value.constant->form == ir::Constant::Form::Random;
}

ir::Constant open_constant(const ir::Constant& like, const ir::TensorType& type) {
  std::mt19937_64 random(like.seed + 1);
  ir::Constant constant = like;
  constant.form = ir::Constant::Form::Random;
  constant.data = random_tensor(type, kTrials[0], random);
  return constant;
}

/// Other lists for an attribute whose list in a node is `now`, or is not written.
std::vector<Ints> other_lists(const Ints& now, size_t rank) {
  std::set<size_t> lengths = {now.size()};
  const size_t spatial = rank > 2 ? rank - 2 : 0;
  if (now.empty()) lengths = {spatial, 2 * spatial, rank};
  lengths.erase(0);
  std::vector<Ints> others;
  for (size_t length : lengths) {
    Ints counted, unit(length, 0), stretched(length, 1);
    for (size_t i = 0; i < length; ++i) counted.push_back(static_cast<int64_t>(i));
    unit[0] = 1;
    stretched[0] = 2;
    others.insert(others.end(), {counted, unit, stretched, Ints(counted.rbegin(), counted.rend())});
  }
  std::erase(others, now);
  return others;
}

std::vector<runtime::AttrValue> other_values(const ir::Graph& graph, const ir::Node& node, const ir::AttrDef& def) {
  const std::string name(def.name);
  std::vector<runtime::AttrValue> others;
  if (def.kind == ir::AttrKind::Int) {
    for (int64_t value : {0, 1, 2, -1}) others.emplace_back(value);
  } else if (def.kind == ir::AttrKind::Float) {
    for (double value : {0.5, 2.0}) others.emplace_back(value);
  } else if (def.kind == ir::AttrKind::Ints && !node.inputs.empty() && node.inputs[0].is_valid()) {
    const size_t rank = graph.value(node.inputs[0]).type.shape.size();
    for (Ints& list : other_lists(node.attrs.get_ints(name), rank)) others.emplace_back(std::move(list));
  }
  if (const runtime::AttrValue* now = node.attrs.find(name)) {
    std::erase_if(others, [now](const runtime::AttrValue& other) { return runtime::equal(other, *now); });
  }
  return others;
}

/// Makes the operand read another value. Use lists stay exact.
void redirect(ir::Graph& graph, ir::Use use, ir::ValueId to) {
  ir::ValueId& operand = graph.node(use.node).inputs[static_cast<size_t>(use.operand)];
  std::erase(graph.value(operand).uses, use);
  operand = to;
  graph.value(to).uses.push_back(use);
}

/// The graph in which these operands read a copy of the constant.
ir::Graph split_off(const ir::Graph& graph, ir::ValueId constant, const std::vector<ir::Use>& uses) {
  ir::Graph split = graph;
  const ir::Value& value = graph.value(constant);
  const ir::ValueId copy = split.add_constant(split.unique_name(value.name), *value.constant);
  for (const ir::Use& use : uses) redirect(split, use, copy);
  return split;
}

/// Whether other elements of the constant are other numbers to compute with, not other shapes.
bool may_be_opened(const ir::Value& value) {
  const ir::DType dtype = value.type.dtype;
  return value.is_constant() && !is_open(value) &&
         (runtime::is_float(dtype) || dtype == ir::DType::I8 || dtype == ir::DType::U8);
}

/// The model with these changes, the same nodes under the same ids, and types inferred anew; nullopt where they do not
/// go together.
std::optional<ir::Graph> rebuilt(const ir::Graph& graph, const Changes& changes) {
  support::SourceManager sources;
  support::Diagnostics ignored(sources);
  ir::Graph made;
  made.name = graph.name;
  std::vector<ir::ValueId> ids(graph.value_count());
  auto type_of = [&](const ir::Value& value) {
    return changes.type_of_leaf ? changes.type_of_leaf(value) : value.type;
  };
  for (ir::ValueId input : graph.inputs()) {
    ids[input.slot()] = made.add_input(graph.value(input).name, type_of(graph.value(input)));
  }
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (!value.is_constant()) continue;
    const ir::TensorType type = is_open(value) ? type_of(value) : value.type;
    ids[id.slot()] =
        made.add_constant(value.name, type == value.type ? *value.constant : open_constant(*value.constant, type));
  }
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::ValueId> inputs;
    std::vector<std::string> names;
    for (ir::ValueId input : node.inputs) inputs.push_back(input.is_valid() ? ids[input.slot()] : ir::ValueId());
    for (ir::ValueId output : node.outputs) names.push_back(output.is_valid() ? graph.value(output).name : "");
    const runtime::AttrMap attrs = changes.attributes_of ? changes.attributes_of(id) : node.attrs;
    const ir::NodeId same = ir::append_inferred(made, *node.op, inputs, attrs, names, {{}, {}, {}, "model"}, ignored);
    if (!same.is_valid()) return std::nullopt;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) ids[node.outputs[i].slot()] = made.node(same).outputs[i];
    }
  }
  for (ir::ValueId output : graph.outputs()) made.mark_output(ids[output.slot()]);
  return made;
}

}  // namespace

std::set<int64_t> sizes_of_inputs(const ir::Graph& graph) {
  std::set<int64_t> sizes;
  for (ir::ValueId input : graph.inputs()) {
    const ir::Shape& shape = graph.value(input).type.shape;
    sizes.insert(shape.begin(), shape.end());
  }
  return sizes;
}

std::optional<ir::Graph> resized(const ir::Graph& graph, int64_t size, int64_t other, Resized where) {
  Changes changes;
  changes.type_of_leaf = [&](const ir::Value& value) {
    ir::TensorType type = value.type;
    if (value.is_constant() && where == Resized::Inputs) return type;
    std::replace(type.shape.begin(), type.shape.end(), size, other);
    return type;
  };
  return rebuilt(graph, changes);
}

std::vector<ir::Graph> with_other_sizes(const ir::Graph& graph) {
  std::vector<ir::Graph> others;
  for (int64_t size : sizes_of_inputs(graph)) {
    for (int64_t other : {size - 1, size + 1}) {
      if (size < 1 || other < 1) continue;
      std::optional<ir::Graph> made = resized(graph, size, other, Resized::Inputs);
      if (!made) made = resized(graph, size, other, Resized::OpenConstantsToo);
      if (made) others.push_back(std::move(*made));
    }
  }
  return others;
}

std::vector<ir::Graph> with_other_attributes(const ir::Graph& graph) {
  std::vector<ir::Graph> others;
  for (ir::NodeId id : graph.node_ids()) {
    const ir::Node& node = graph.node(id);
    for (const ir::AttrDef& def : node.op->attrs) {
      for (const runtime::AttrValue& value : other_values(graph, node, def)) {
        Changes changes;
        changes.attributes_of = [&](ir::NodeId other) {
          runtime::AttrMap attrs = graph.node(other).attrs;
          if (other == id) attrs.set(std::string(def.name), value);
          return attrs;
        };
        if (std::optional<ir::Graph> made = rebuilt(graph, changes)) others.push_back(std::move(*made));
      }
    }
  }
  return others;
}

ir::Graph with_own_constants(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& accepts) {
  constexpr size_t kMostUses = 12;
  ir::Graph own = graph;
  for (ir::ValueId id : graph.value_ids()) {
    if (!graph.value(id).is_constant()) continue;
    const std::vector<ir::Use> uses = own.value(id).uses;
    // One operand of its own; else two that the pattern wants to be one value.
    for (size_t i = 0; uses.size() > 1 && uses.size() <= kMostUses && i < uses.size(); ++i) {
      for (size_t j = i; j < uses.size(); ++j) {
        const std::vector<ir::Use>& left = own.value(id).uses;
        auto reads_it = [&](const ir::Use& use) { return std::find(left.begin(), left.end(), use) != left.end(); };
        std::vector<ir::Use> some = {uses[i]};
        if (j != i) some.push_back(uses[j]);
        if (left.size() <= some.size() || !std::all_of(some.begin(), some.end(), reads_it)) continue;
        ir::Graph split = split_off(own, id, some);
        if (!accepts(split)) continue;
        own = std::move(split);
        break;
      }
    }
  }
  for (ir::ValueId id : own.value_ids()) {
    if (!may_be_opened(own.value(id))) continue;
    ir::Graph open = own;
    std::mt19937_64 random(id.slot() + 1);
    ir::Constant& constant = *open.value(id).constant;
    constant.form = ir::Constant::Form::Random;
    constant.data = random_tensor(own.value(id).type, kTrials[1], random);
    if (accepts(open)) own = std::move(open);
  }
  return own;
}

bool has_inferred_types(const ir::Graph& graph) {
  try {
    ir::verify(graph);
  } catch (const support::InternalError&) {
    return false;
  }
  return true;
}

std::string changed_types_text(const ir::Graph& graph, const ir::Graph& changed) {
  std::string text;
  for (ir::ValueId id : changed.value_ids()) {
    const ir::Value& value = changed.value(id);
    if (value.producer.is_valid()) continue;
    const ir::ValueId before = graph.find_value(value.name);
    if (!before.is_valid() || graph.value(before).type == value.type) continue;
    runtime::add_to_list(text, fmt::format("`%{}` is {}", value.name, to_string(value.type)));
  }
  return text;
}

}  // namespace collage::lint
