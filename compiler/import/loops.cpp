// SPDX-License-Identifier: Apache-2.0
// Part of OnnxImporter: a loop of few turns, whose number is known, becomes the nodes of its turns.
//
//     y, all = Loop(2, true, x) {body = (i, go, s) {f = Cast(i), n = Add(s, f), outputs: go, n, n}}
//       =>  loop/0/n = Add(x, 0)   loop/1/n = Add(loop/0/n, 1)
//           y = Identity(loop/1/n)  all = Concat(Unsqueeze(loop/0/n), Unsqueeze(loop/1/n))
//
//     all = Scan(x) {body = (row) {n = Neg(row), outputs: n}}
//       =>  loop/0/row, loop/1/row = Squeeze of each part of Split(x)
//           loop/0/n = Neg(loop/0/row)  loop/1/n = Neg(loop/1/row)  all = Concat(Unsqueeze(loop/0/n), …)
//
// The condition that a turn gives must be constant once its nodes are added, unless no turn can follow. Constants of
// the body are there once, for all turns. Every other loop is an error here; in stages (stage.h) it runs on the host,
// turn by turn.
#include <algorithm>
#include <limits>

#include "compiler/import/branch.h"
#include "compiler/import/onnx_importer.h"
#include "compiler/import/pending_node.h"

namespace collage::import {

using ir::Tensor;
using ir::ValueId;
using support::Code;

namespace {

/// Nodes of all turns, loops inside included: more take longer to compile than turns that are compiled once take to
/// run.
constexpr int64_t kMostUnrolled = 512;

/// Nodes of a graph and of the graphs inside it, without constants; at least 1.
int64_t nodes_of(const onnx::GraphProto& graph) {
  int64_t nodes = 0;
  for (const auto& node : graph.node()) {
    nodes += node.op_type() == "Constant" ? 0 : 1;
    for (const auto& attribute : node.attribute()) nodes += attribute.has_g() ? nodes_of(attribute.g()) : 0;
  }
  return std::max<int64_t>(nodes, 1);
}

/// Whether a turn of a Loop gives the condition that it was given.
bool hands_on_condition(const onnx::GraphProto& body) {
  const std::string& given = body.input(1).name();
  const std::string& result = body.output(0).name();
  return given == result || std::any_of(body.node().begin(), body.node().end(), [&](const onnx::NodeProto& node) {
           return node.op_type() == "Identity" && node.input_size() == 1 && node.input(0) == given &&
                  node.output_size() == 1 && node.output(0) == result;
         });
}

/// An element of a list that may be shorter.
int64_t number_at(const runtime::Ints& list, size_t i) {
  return i < list.size() ? list[i] : 0;
}

/// Whether the body of a Loop has the condition and the states that the node has, and all results that the node wants.
bool fits_loop(const onnx::NodeProto& node, const onnx::GraphProto* body) {
  return body != nullptr && node.input_size() >= 2 && body->input_size() == node.input_size() &&
         body->output_size() >= std::max(node.input_size() - 1, node.output_size() + 1);
}

/// The same of a Scan over so many operands.
bool fits_scan(const onnx::NodeProto& node, const onnx::GraphProto* body, int64_t scanned) {
  return body != nullptr && scanned >= 1 && scanned <= node.input_size() && body->input_size() == node.input_size() &&
         body->output_size() >= std::max<int64_t>(node.input_size() - scanned, node.output_size());
}

}  // namespace

struct OnnxImporter::LoopBody {
  const PendingNode& node;  ///< the loop
  onnx::GraphProto graph;   ///< without constants
  NameSet read;             ///< names that its nodes read, and its results
  std::string label;        ///< of the loop, in the names of what it becomes
  int64_t nodes;            ///< of one turn

  std::string prefix(int64_t turn) const { return fmt::format("{}/{}/", label, turn); }
  /// The name of a result of the loop; empty where it is not wanted.
  std::string result(size_t i) const { return i < node.outputs.size() ? node.outputs[i] : ""; }
};

bool OnnxImporter::is_loop(const onnx::NodeProto& node) {
  return domain_of(node.domain()).empty() && (node.op_type() == "Loop" || node.op_type() == "Scan");
}

const Tensor* OnnxImporter::known_tensor(const std::string& name) const {
  if (const ValueId value = graph_.find_value(name); value.is_valid()) return emitter_.constant(value);
  if (request_ == nullptr) return nullptr;
  const std::optional<KnownValue> known = request_->find(name);
  return known ? known->constant : nullptr;
}

std::optional<bool> OnnxImporter::known_condition(const std::string& name) const {
  if (name.empty()) return true;
  const Tensor* condition = known_tensor(name);
  if (condition == nullptr || condition->count() != 1 || is_float(condition->dtype())) return std::nullopt;
  return runtime::element_as_int(condition->view(), 0) != 0;
}

bool OnnxImporter::knows_turns(const onnx::NodeProto& node) const {
  if (node.op_type() == "Scan") return true;  // lengths are shapes
  if (node.input_size() < 2 || !known_condition(node.input(1))) return false;
  return node.input(0).empty() || known_tensor(node.input(0)) != nullptr;
}

bool OnnxImporter::add_turns(const onnx::NodeProto& node, PendingNode pending) {
  if (!read_attributes(node, pending, {"body"})) return false;
  const int64_t unfolded = unfolded_;
  const bool is_outermost = !left_to_unroll_;
  if (is_outermost) left_to_unroll_ = kMostUnrolled;
  const bool is_added = node.op_type() == "Loop" ? add_loop(node, pending) : add_scan(node, pending);
  if (is_outermost) left_to_unroll_.reset();
  if (!is_added) unfolded_ = unfolded;
  return is_added;
}

std::optional<OnnxImporter::LoopBody> OnnxImporter::open_body(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                                              const PendingNode& pending) {
  LoopBody loop{pending, body, {}, label_of(node), nodes_of(body)};
  NewNames names;
  const auto take = [&](std::string* name) -> bool {
    const std::string own = emitter_.take_name(loop.label + "/" + *name, emitter_.is_read(*name));
    if (!names.emplace(*name, own).second) {
      return diags_.error_at(Code::Redefinition, pending.where, "its graph defines `{}` twice", *name);
    }
    *name = own;
    return true;
  };
  for (auto& initializer : *loop.graph.mutable_initializer()) {
    if (!take(initializer.mutable_name())) return std::nullopt;
  }
  for (auto& sparse : *loop.graph.mutable_sparse_initializer()) {
    if (!take(sparse.mutable_values()->mutable_name())) return std::nullopt;
  }
  std::vector<onnx::NodeProto> constants;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> others;
  for (auto& inner : *loop.graph.mutable_node()) {
    const bool is_constant = domain_of(inner.domain()).empty() && inner.op_type() == "Constant";
    if (!is_constant) {
      *others.Add() = std::move(inner);
      continue;
    }
    for (std::string& output : *inner.mutable_output()) {
      if (!output.empty() && !take(&output)) return std::nullopt;
    }
    constants.push_back(std::move(inner));
  }
  loop.graph.mutable_node()->Swap(&others);
  for (const auto& input : loop.graph.input()) {
    if (!names.contains(input.name())) continue;
    return diags_.error_at(Code::Redefinition, pending.where, "its graph defines `{}` twice", input.name());
  }
  for (auto& inner : *loop.graph.mutable_node()) rename_operands(inner, names);
  for (auto& output : *loop.graph.mutable_output()) rename(*output.mutable_name(), names);
  const size_t errors_before = diags_.error_count();
  add_initializers(loop.graph);
  for (const auto& constant : constants) add_node(constant);
  if (diags_.error_count() > errors_before) return std::nullopt;
  loop.graph.clear_initializer();
  loop.graph.clear_sparse_initializer();
  loop.read = collect_names(loop.graph).read;
  return loop;
}

std::optional<std::vector<std::string>> OnnxImporter::add_turn(const LoopBody& loop, int64_t turn,
                                                               const std::vector<std::string>& operands) {
  const std::string& place = loop.node.where;
  *left_to_unroll_ -= loop.nodes;
  unfolded_ += loop.nodes;
  if (*left_to_unroll_ < 0 || unfolded_ > kMostUnfolded) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "its turns are more than {} nodes", kMostUnrolled);
  }
  const std::string prefix = loop.prefix(turn);
  std::optional<onnx::GraphProto> own = with_own_names(loop.graph, operands, {}, place, emitter_, prefix);
  if (!own) return std::nullopt;
  const size_t errors_before = diags_.error_count();
  for (int i = 0; i < own->node_size(); ++i) {
    onnx::NodeProto& inner = *own->mutable_node(i);
    inner.set_name(prefix + label_of(loop.graph.node(i)));
    add_node(inner);
    if (diags_.error_count() > errors_before) return std::nullopt;
  }
  std::vector<std::string> results;
  for (const auto& output : own->output()) results.push_back(output.name());
  return results;
}

bool OnnxImporter::report_no_tensor(const LoopBody& loop, const std::string& name) {
  if (failed_.contains(name)) return false;
  return diags_.error_at(Code::UndefinedValue, loop.node.where, "its graph gives `{}`, which is no tensor", name);
}

bool OnnxImporter::take_rows(const LoopBody& loop, const std::vector<std::string>& given, size_t first,
                             std::vector<std::vector<ValueId>>& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (loop.result(first + i).empty()) continue;
    const std::string& name = given[given.size() - rows.size() + i];
    rows[i].push_back(find_operand(name));
    if (!rows[i].back().is_valid()) return report_no_tensor(loop, name);
  }
  return true;
}

bool OnnxImporter::add_state(const LoopBody& loop, const std::string& state, const std::string& result) {
  if (result.empty()) return true;
  PendingNode node{"Identity", {find_operand(state)}, {}, {result}, loop.node.where, loop.node.origin};
  if (sequences_.contains(state) && !is_in_stages_) return sequences_.add(std::move(node), {state});
  return node.inputs[0].is_valid() ? emitter_.emit(std::move(node)) : report_no_tensor(loop, state);
}

bool OnnxImporter::add_rows(const LoopBody& loop, const std::vector<ValueId>& rows, int64_t axis,
                            const std::string& result) {
  if (result.empty()) return true;
  const PendingNode& node = loop.node;
  if (rows.empty()) {
    return diags_.error_at(Code::NotConstant, node.where, "it has no turns, so that nothing says what `{}` is", result);
  }
  if (axis < 0) axis += static_cast<int64_t>(emitter_.type(rows.front()).shape.size()) + 1;
  const ValueId axes = emitter_.add_ints(result + ".axes", {axis});
  if (rows.size() == 1)
    return emitter_.emit({"Unsqueeze", {rows.front(), axes}, {}, {result}, node.where, node.origin});
  std::vector<ValueId> parts;
  for (const ValueId row : rows) {
    parts.push_back(emitter_.emit_before(node, "Unsqueeze", {row, axes}, {}, result + ".row"));
    if (!parts.back().is_valid()) return false;
  }
  ir::AttrMap attrs;
  attrs.set("axis", axis);
  return emitter_.emit({"Concat", std::move(parts), std::move(attrs), {result}, node.where, node.origin});
}

bool OnnxImporter::add_results(const LoopBody& loop, const std::vector<std::string>& states,
                               const std::vector<std::vector<ValueId>>& rows, const std::vector<int64_t>& axes) {
  for (size_t i = 0; i < states.size(); ++i) {
    if (!add_state(loop, states[i], loop.result(i))) return false;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!add_rows(loop, rows[i], number_at(axes, i), loop.result(states.size() + i))) return false;
  }
  return true;
}

std::string OnnxImporter::add_number(const LoopBody& loop, int64_t turn, int input, Tensor value) {
  const std::string& name = loop.graph.input(input).name();
  if (!loop.read.contains(name)) return "";
  const std::string own = emitter_.take_name(loop.prefix(turn) + name, true);
  graph_.add_constant(own, ir::make_constant(std::move(value)));
  return own;
}

bool OnnxImporter::add_loop(const onnx::NodeProto& node, const PendingNode& pending) {
  const std::string& place = pending.where;
  const onnx::GraphProto* body = graph_of(node, "body");
  if (!fits_loop(node, body)) {
    return diags_.error_at(Code::BadModel, place, "its body does not fit its {} operands and {} results",
                           node.input_size(), node.output_size());
  }
  const Tensor* trips = known_tensor(node.input(0));
  const std::optional<bool> condition = known_condition(node.input(1));
  const bool has_trips = trips != nullptr && trips->count() == 1 && !is_float(trips->dtype());
  if (!condition || (!has_trips && !node.input(0).empty())) {
    return diags_.error_at(Code::NotConstant, place, "only values of a run say how many turns it has");
  }
  const int64_t most = has_trips ? runtime::element_as_int(trips->view(), 0) : std::numeric_limits<int64_t>::max();
  if (*condition && hands_on_condition(*body) && most > *left_to_unroll_ / nodes_of(*body)) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "its {} turns are more than {} nodes", most, kMostUnrolled);
  }
  std::optional<LoopBody> loop = open_body(node, *body, pending);
  if (!loop) return false;
  std::vector<std::string> states(node.input().begin() + 2, node.input().end());
  std::vector<std::vector<ValueId>> rows(static_cast<size_t>(body->output_size()) - 1 - states.size());
  bool goes_on = *condition;
  for (int64_t turn = 0; turn < most && goes_on; ++turn) {
    Tensor number(ir::DType::I64, {});
    number.as<int64_t>()[0] = turn;
    std::vector<std::string> operands = {add_number(*loop, turn, 0, std::move(number)),
                                         add_number(*loop, turn, 1, Emitter::scalar(ir::DType::Bool, 1))};
    operands.insert(operands.end(), states.begin(), states.end());
    const std::optional<std::vector<std::string>> given = add_turn(*loop, turn, operands);
    if (!given) return false;
    if (turn + 1 < most) {
      const std::optional<bool> next = given->front().empty() ? std::nullopt : known_condition(given->front());
      if (!next) return diags_.error_at(Code::NotConstant, place, "only values of a run say whether it goes on");
      goes_on = *next;
    }
    std::copy_n(given->begin() + 1, states.size(), states.begin());
    if (!take_rows(*loop, *given, states.size(), rows)) return false;
  }
  return add_results(*loop, states, rows, {});
}

std::optional<std::vector<std::string>> OnnxImporter::add_slices(const LoopBody& loop, ValueId scanned, size_t axis,
                                                                 const std::string& input) {
  const PendingNode& node = loop.node;
  const auto turns = static_cast<size_t>(emitter_.type(scanned).shape[axis]);
  const std::string base = loop.label + "/" + input;
  std::vector<ValueId> parts = {scanned};
  if (turns > 1) {
    std::vector<std::string> names(turns);
    for (std::string& name : names) name = emitter_.take_name(base + ".part", true);
    ir::AttrMap attrs;
    attrs.set("axis", static_cast<int64_t>(axis));
    const ValueId sizes = emitter_.add_ints(base + ".sizes", runtime::Ints(turns, 1));
    if (!emitter_.emit({"Split", {scanned, sizes}, std::move(attrs), names, node.where, node.origin})) {
      return std::nullopt;
    }
    parts.clear();
    for (const std::string& name : names) parts.push_back(graph_.find_value(name));
  }
  std::vector<std::string> slices;
  const ValueId axes = emitter_.add_ints(base + ".axes", {static_cast<int64_t>(axis)});
  for (const ValueId part : parts) {
    slices.push_back(emitter_.take_name(loop.prefix(static_cast<int64_t>(slices.size())) + input, true));
    if (!emitter_.emit({"Squeeze", {part, axes}, {}, {slices.back()}, node.where, node.origin})) return std::nullopt;
  }
  return slices;
}

std::optional<std::vector<size_t>> OnnxImporter::scanned_axes(const PendingNode& node, size_t states, int64_t* turns) {
  const runtime::Ints axes = node.attrs.get_ints("scan_input_axes");
  std::vector<size_t> found;
  for (size_t i = states; i < node.inputs.size(); ++i) {
    if (!has_input(node, i)) return diags_.error_at(Code::BadModel, node.where, "operand {} must be a tensor", i);
    const ir::Shape& shape = emitter_.type(node.inputs[i]).shape;
    const auto rank = static_cast<int64_t>(shape.size());
    const int64_t axis = number_at(axes, i - states);
    if (axis < -rank || axis >= rank) {
      return diags_.error_at(Code::BadAttribute, node.where, "axis {} is out of range", axis);
    }
    found.push_back(static_cast<size_t>(axis < 0 ? axis + rank : axis));
    const int64_t length = shape[found.back()];
    if (i > states && length != *turns) {
      return diags_.error_at(Code::BadModel, node.where, "it scans lengths of {} and {}", *turns, length);
    }
    *turns = length;
  }
  return found;
}

bool OnnxImporter::add_scan(const onnx::NodeProto& node, const PendingNode& pending) {
  const std::string& place = pending.where;
  if (opset_ < 9) return diags_.error_at(Code::UnsupportedOnnx, place, "it scans batches, as before opset 9");
  const onnx::GraphProto* body = graph_of(node, "body");
  const int64_t scanned = pending.attrs.get_int("num_scan_inputs", 0);
  if (!fits_scan(node, body, scanned)) {
    return diags_.error_at(Code::BadModel, place, "its body does not fit its {} operands and {} results",
                           node.input_size(), node.output_size());
  }
  std::vector<std::string> states(node.input().begin(), node.input().end() - static_cast<int>(scanned));
  int64_t turns = 0;
  const std::optional<std::vector<size_t>> axes = scanned_axes(pending, states.size(), &turns);
  if (!axes) return false;
  if (turns > *left_to_unroll_ / nodes_of(*body)) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "its {} turns are more than {} nodes", turns, kMostUnrolled);
  }
  std::optional<LoopBody> loop = open_body(node, *body, pending);
  if (!loop) return false;
  const runtime::Ints input_directions = pending.attrs.get_ints("scan_input_directions");
  std::vector<std::vector<std::string>> slices;
  for (size_t i = 0; i < axes->size() && turns > 0; ++i) {
    const std::string& input = body->input(static_cast<int>(states.size() + i)).name();
    auto names = add_slices(*loop, pending.inputs[states.size() + i], (*axes)[i], input);
    if (!names) return false;
    if (number_at(input_directions, i) != 0) std::reverse(names->begin(), names->end());
    slices.push_back(std::move(*names));
  }
  std::vector<std::vector<ValueId>> rows(static_cast<size_t>(body->output_size()) - states.size());
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::vector<std::string> operands = states;
    for (const std::vector<std::string>& names : slices) operands.push_back(names[static_cast<size_t>(turn)]);
    const std::optional<std::vector<std::string>> given = add_turn(*loop, turn, operands);
    if (!given) return false;
    std::copy_n(given->begin(), states.size(), states.begin());
    if (!take_rows(*loop, *given, states.size(), rows)) return false;
  }
  const runtime::Ints output_directions = pending.attrs.get_ints("scan_output_directions");
  for (size_t i = 0; i < rows.size(); ++i) {
    if (number_at(output_directions, i) != 0) std::reverse(rows[i].begin(), rows[i].end());
  }
  return add_results(*loop, states, rows, pending.attrs.get_ints("scan_output_axes"));
}

}  // namespace collage::import
