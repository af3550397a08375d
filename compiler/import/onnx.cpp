// SPDX-License-Identifier: Apache-2.0
// Reads the model in the order: opsets, names, inputs and initializers, nodes in topological order, outputs. A node
// that fails is reported once; nodes that read its results are skipped silently, so one fault gives one message.
#include "compiler/import/onnx.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "compiler/import/attribute_kinds.h"
#include "compiler/import/compositions/compositions.h"
#include "compiler/import/onnx_importer.h"
#include "compiler/import/sparse.h"
#include "compiler/import/upgrade.h"
#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/support/check.h"

namespace collage::import {

using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using support::Code;

namespace {

constexpr size_t kMostErrors = 20;

/// Functions that call functions.
constexpr size_t kMostNested = 100;

}  // namespace

std::optional<int> OnnxImporter::read_opset(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  // Models before IR version 3 name no opset: they use the first.
  int opset = imports.empty() ? 1 : kOpset;
  for (const auto& import : imports) {
    if (!domain_of(import.domain()).empty()) continue;
    if (import.version() < 1 || import.version() > kNewestOpset) {
      return diags_.error_at(Code::UnsupportedOnnx, file_, "opset {} is not supported: 1 to {} are", import.version(),
                             kNewestOpset);
    }
    opset = static_cast<int>(import.version());
  }
  return opset;
}

bool OnnxImporter::read_header() {
  std::optional<int> opset = read_opset(model_.opset_import());
  if (!opset || !functions_.add(model_, file_, diags_)) return false;
  opset_ = *opset;
  return true;
}

bool OnnxImporter::add_constant(const std::string& name, Tensor tensor, const std::string& place) {
  if (graph_.find_value(name).is_valid()) {
    return diags_.error_at(Code::Redefinition, place, "`{}` is defined twice", name);
  }
  bool is_output = std::any_of(proto_.output().begin(), proto_.output().end(),
                               [&name](const auto& output) { return output.name() == name; });
  if (!is_output) {
    graph_.add_constant(name, ir::make_constant(std::move(tensor)));
    return true;
  }
  ValueId source = graph_.add_constant(emitter_.fresh_name(name + ".value"), ir::make_constant(std::move(tensor)));
  return emitter_.emit({"Identity", {source}, {}, {name}, place, name});
}

void OnnxImporter::add_initializers(const onnx::GraphProto& proto) {
  const NameSet read = collect_names(proto).read;
  // An empty name stands for an operand that is absent; what has it is read by none.
  const auto is_needed = [&](const std::string& name) {
    return !name.empty() && read.contains(name) && !options_.bound_inputs.contains(name);
  };
  for (const auto& initializer : proto.initializer()) {
    const std::string& name = initializer.name();
    if (!is_needed(name)) continue;
    std::string place = at("initializer", name);
    runtime::Result<Tensor> tensor = tensor_of(initializer, external_);
    if (!tensor) {
      diags_.error_at(Code::BadConstant, place, "{}", tensor.message());
      failed_.insert(name);
      continue;
    }
    if (!add_constant(name, std::move(*tensor), place)) failed_.insert(name);
  }
  for (const auto& sparse : proto.sparse_initializer()) {
    const std::string& name = sparse.values().name();
    if (!is_needed(name)) continue;
    std::string place = at("initializer", name);
    runtime::Result<Tensor> tensor = dense_tensor_of(sparse, external_);
    if (!tensor) diags_.error_at(Code::BadConstant, place, "{}", tensor.message());
    if (!tensor || !add_constant(name, std::move(*tensor), place)) failed_.insert(name);
  }
}

void OnnxImporter::add_input(const onnx::ValueInfoProto& input, const ir::ClosedShapes& shapes) {
  std::string place = at("input", input.name());
  std::string name = input.name().empty() ? emitter_.fresh_name("input") : input.name();
  if (graph_.find_value(name).is_valid()) {
    diags_.error_at(Code::Redefinition, place, "`{}` is defined twice", name);
    return;
  }
  if (auto bound = options_.bound_inputs.find(name); bound != options_.bound_inputs.end()) {
    graph_.add_constant(name, ir::make_constant(bound->second));
    return;
  }
  failed_.insert(name);
  if (!input.type().has_tensor_type()) {
    diags_.error_at(Code::UnsupportedOnnx, place, "only tensors are supported");
    return;
  }
  int element = input.type().tensor_type().elem_type();
  std::optional<runtime::DType> dtype = dtype_of(element);
  if (!dtype) {
    diags_.error_at(Code::UnsupportedOnnx, place, "elements of {} are not supported", element_name(element));
    return;
  }
  const Shape& shape = shapes.inputs.at(input.name());
  if (!element_count_of(shape)) {
    diags_.error_at(Code::InputMismatch, place, "the shape {} is impossible", runtime::to_string(shape));
    return;
  }
  graph_.add_input(name, {*dtype, shape});
  failed_.erase(name);
}

void OnnxImporter::add_inputs() {
  NameSet initialized;
  for (const auto& initializer : proto_.initializer()) initialized.insert(initializer.name());
  for (const auto& sparse : proto_.sparse_initializer()) initialized.insert(sparse.values().name());
  // Before IR version 4 every initializer is also an input; it is a default value, which is never overridden here.
  auto is_left_out = [&](const std::string& name) {
    return initialized.contains(name) && !options_.bound_inputs.contains(name);
  };
  auto is_bound = [&](const auto& named) { return options_.bound_inputs.contains(named.name); };
  std::vector<ir::OpenInput> open = open_inputs(proto_);
  std::erase_if(open, [&](const ir::OpenInput& input) { return is_left_out(input.name) || is_bound(input); });
  std::vector<ir::ShapeBinding> bindings = options_.bindings;
  std::erase_if(bindings, is_bound);
  std::optional<ir::ClosedShapes> shapes = ir::close_shapes(open, bindings, file_, diags_);
  for (const auto& input : proto_.input()) {
    if (is_left_out(input.name())) continue;
    if (shapes) {
      add_input(input, *shapes);
    } else {
      failed_.insert(input.name());
    }
  }
}

std::optional<std::vector<int>> OnnxImporter::node_order() {
  std::map<std::string, int, std::less<>> producer;
  bool is_good = true;
  for (int i = 0; i < proto_.node_size(); ++i) {
    for (const std::string& output : proto_.node(i).output()) {
      if (output.empty()) continue;
      bool is_new = producer.emplace(output, i).second;
      if (is_new && !graph_.find_value(output).is_valid()) continue;
      diags_.error_at(Code::Redefinition, place_of(proto_.node(i), file_), "`{}` is defined twice", output);
      is_good = false;
    }
  }
  if (!is_good) return std::nullopt;
  std::vector<std::vector<int>> readers(static_cast<size_t>(proto_.node_size()));
  std::vector<int> missing(static_cast<size_t>(proto_.node_size()), 0);
  for (int i = 0; i < proto_.node_size(); ++i) {
    for (const std::string& input : names_read(proto_.node(i))) {
      auto it = producer.find(input);
      // A body that reads a result of its node is reported where the body is added.
      if (it == producer.end() || (it->second == i && !reads_itself(proto_.node(i)))) continue;
      readers[static_cast<size_t>(it->second)].push_back(i);
      ++missing[static_cast<size_t>(i)];
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < proto_.node_size(); ++i) {
    if (missing[static_cast<size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int reader : readers[static_cast<size_t>(i)]) {
      if (--missing[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() == static_cast<size_t>(proto_.node_size())) return order;
  auto stuck = std::find_if(missing.begin(), missing.end(), [](int count) { return count > 0; });
  return diags_.error_at(Code::BadModel, place_of(proto_.node(static_cast<int>(stuck - missing.begin())), file_),
                         "its operands depend on a cycle");
}

bool OnnxImporter::add_constant_node(const onnx::NodeProto& node, const std::string& place) {
  if (node.output_size() != 1 || node.attribute_size() != 1) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "a Constant has one value and one result");
  }
  if (node.output(0).empty()) return true;
  const auto& attribute = node.attribute(0);
  if (attribute.has_sparse_tensor()) {
    runtime::Result<Tensor> dense = dense_tensor_of(attribute.sparse_tensor(), external_);
    if (!dense) return diags_.error_at(Code::BadConstant, place, "{}", dense.message());
    return add_constant(node.output(0), std::move(*dense), place);
  }
  if (attribute.has_s() || attribute.strings_size() > 0) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "a Constant of strings (`{}`) is not supported",
                           attribute.name());
  }
  PendingNode pending{node.op_type(), {}, {}, {}, place, node.name()};
  if (!read_attributes(node, pending)) return false;
  const runtime::AttrValue* value = pending.attrs.find(attribute.name());
  Tensor tensor;
  if (const auto* given = std::get_if<Tensor>(value)) {
    tensor = *given;
  } else if (const auto* real = std::get_if<double>(value)) {
    tensor = Tensor(runtime::DType::F32, {});
    tensor.as<float>()[0] = static_cast<float>(*real);
  } else if (const auto* reals = std::get_if<runtime::Floats>(value)) {
    tensor = Tensor(runtime::DType::F32, {static_cast<int64_t>(reals->size())});
    std::transform(reals->begin(), reals->end(), tensor.as<float>().begin(),
                   [](double each) { return static_cast<float>(each); });
  } else if (const auto* number = std::get_if<int64_t>(value)) {
    tensor = Tensor(runtime::DType::I64, {});
    tensor.as<int64_t>()[0] = *number;
  } else if (const auto* numbers = std::get_if<runtime::Ints>(value)) {
    tensor = Tensor(runtime::DType::I64, {static_cast<int64_t>(numbers->size())});
    std::copy(numbers->begin(), numbers->end(), tensor.as<int64_t>().begin());
  } else {
    return diags_.error_at(Code::UnsupportedOnnx, place, "a Constant with `{}` is not supported", attribute.name());
  }
  return add_constant(node.output(0), std::move(tensor), place);
}

ValueId OnnxImporter::find_operand(const std::string& name) {
  ValueId value = graph_.find_value(name);
  if (value.is_valid() || request_ == nullptr || name.empty()) return value;
  std::optional<KnownValue> known = request_->find(name);
  if (!known || !known->type) return value;
  if (known->constant != nullptr) return graph_.add_constant(name, ir::make_constant(*known->constant));
  return graph_.add_input(name, *known->type);
}

void OnnxImporter::add_node(const onnx::NodeProto& node) {
  std::string place = place_of(node, file_);
  // Nobody can read what has no name.
  if (std::all_of(node.output().begin(), node.output().end(), [](const std::string& name) { return name.empty(); }))
    return;
  unfinished_.insert(node.output().begin(), node.output().end());
  const bool is_there = make_node(node, place);
  for (const std::string& output : node.output()) {
    unfinished_.erase(output);
    if (is_there) {
      failed_.erase(output);
    } else {
      failed_.insert(output);
    }
  }
}

bool OnnxImporter::make_node(const onnx::NodeProto& node, const std::string& place) {
  PendingNode pending{node.op_type(), {}, {}, {node.output().begin(), node.output().end()}, place, node.name()};
  for (const std::string& input : node.input()) {
    if (failed_.contains(input) && !input.empty()) return false;
    if (sequences_.contains(input)) {
      pending.inputs.push_back({});
      continue;
    }
    ValueId value = input.empty() ? ValueId() : find_operand(input);
    if (!value.is_valid() && unfinished_.contains(input) && !input.empty()) {
      return diags_.error_at(Code::UndefinedValue, place, "reads `{}`, a result of its own or of the node around it",
                             input);
    }
    if (!input.empty() && !value.is_valid()) {
      const NameSet taken = collect_names(proto_).taken;
      std::vector<std::string> known(taken.begin(), taken.end());
      diags_.error_at(Code::UndefinedValue, place, "reads `{}`, which nothing defines", input)
          .did_you_mean(support::closest(input, known));
      return false;
    }
    pending.inputs.push_back(value);
  }
  bool is_standard = domain_of(node.domain()).empty();
  // A function of the file defines any operator but those that are known here by their name in the standard.
  const onnx::FunctionProto* function = functions_.find(node);
  bool is_known = is_standard &&
                  (ir::find_op(node.op_type()) != nullptr || find_composition("", node.op_type(), opset_) != nullptr);
  if (is_standard && node.op_type() == "Constant") return add_constant_node(node, place);
  if (is_standard && node.op_type() == "If") return add_branch(node, place);
  if (function == nullptr && is_loop(node)) return add_turns(node, std::move(pending));
  if (function == nullptr && domain_of(node.domain()) == "ai.onnx.preview" && node.op_type() == "FlexAttention") {
    return add_flex_attention(node, std::move(pending));
  }
  if (function != nullptr && !is_known) return add_call(node, *function, place);
  return add_operator(node, std::move(pending));
}

bool OnnxImporter::add_call(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                            const std::string& place) {
  if (std::find(calls_.begin(), calls_.end(), &function) != calls_.end()) {
    return diags_.error_at(Code::BadModel, place, "function `{}` calls itself", function.name())
        .note("a function is replaced by its nodes, so it cannot be part of them");
  }
  if (calls_.size() >= kMostNested) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "calls are nested more than {} deep", kMostNested);
  }
  unfolded_ += function.node_size();
  if (left_to_unroll_) *left_to_unroll_ -= function.node_size();
  if (unfolded_ > kMostUnfolded) {
    return diags_.error_at(Code::UnsupportedOnnx, place, "the calls of functions unfold into more than {} nodes",
                           kMostUnfolded);
  }
  std::optional<int> opset = read_opset(function.opset_import());
  if (!opset) return false;
  std::optional<std::vector<onnx::NodeProto>> nodes = unfold_call(node, function, place, emitter_);
  if (!nodes) return false;
  size_t errors_before = diags_.error_count();
  const int outer_opset = std::exchange(opset_, *opset);
  calls_.push_back(&function);
  for (const onnx::NodeProto& inner : *nodes) {
    if (diags_.error_count() > errors_before) break;
    add_node(inner);
  }
  calls_.pop_back();
  opset_ = outer_opset;
  if (diags_.error_count() > errors_before) return false;
  return std::none_of(node.output().begin(), node.output().end(), [this](const std::string& output) {
    return !output.empty() && !graph_.find_value(output).is_valid();
  });
}

bool OnnxImporter::report_unknown(const onnx::NodeProto& node, const std::string& place) {
  std::string domain = domain_of(node.domain());
  if (!unsupported_.insert(domain + "." + node.op_type()).second) return false;
  std::vector<std::string> known = composed_ops(domain);
  if (domain.empty()) {
    for (const std::string& op : ir::op_names()) known.push_back(op);
    return diags_.error_at(Code::UnsupportedOnnx, place, "operator `{}` is not supported", node.op_type())
        .did_you_mean(support::closest(node.op_type(), known));
  }
  return diags_
      .error_at(Code::UnsupportedOnnx, place, "operator `{}` of domain `{}` is not supported", node.op_type(),
                node.domain())
      .did_you_mean(support::closest(node.op_type(), known));
}

bool OnnxImporter::read_attributes(const onnx::NodeProto& node, PendingNode& pending, const NameSet& except) {
  for (const auto& attribute : node.attribute()) {
    if (except.contains(attribute.name())) continue;
    runtime::Result<runtime::AttrValue> value = attribute_of(attribute, external_);
    if (!value) return diags_.error_at(Code::UnsupportedOnnx, pending.where, "{}", value.message());
    pending.attrs.set(attribute.name(), std::move(*value));
  }
  if (!domain_of(node.domain()).empty()) return true;
  if (auto problem = fit_foreign_attributes(pending.op, pending.attrs)) {
    return diags_.error_at(Code::BadAttribute, pending.where, "{}", *problem);
  }
  return true;
}

bool OnnxImporter::add_operator(const onnx::NodeProto& node, PendingNode pending) {
  std::string domain = domain_of(node.domain());
  const ComposedOp* composition = find_composition(domain, node.op_type(), opset_);
  if (composition == nullptr && !domain.empty()) return report_unknown(node, pending.where);
  if (!read_attributes(node, pending)) return false;
  const std::vector<std::string> inputs(node.input().begin(), node.input().end());
  if (domain.empty() && sequences_.handles(node.op_type(), inputs)) return sequences_.add(std::move(pending), inputs);
  if (composition != nullptr) return compose(*composition, std::move(pending), emitter_);
  if (!upgrade(pending, opset_, emitter_)) return false;
  if (ir::find_op(pending.op) == nullptr) return report_unknown(node, pending.where);
  return emitter_.emit(std::move(pending));
}

void OnnxImporter::check_output_type(const onnx::ValueInfoProto& output, const ir::TensorType& type) {
  if (!output.type().has_tensor_type()) return;
  const auto& stated = output.type().tensor_type();
  std::optional<runtime::DType> dtype = dtype_of(stated.elem_type());
  bool fits = !dtype || *dtype == type.dtype;
  if (stated.has_shape()) {
    fits = fits && static_cast<size_t>(stated.shape().dim_size()) == type.shape.size();
    for (int i = 0; fits && i < stated.shape().dim_size(); ++i) {
      const auto& dim = stated.shape().dim(i);
      fits = !dim.has_dim_value() || dim.dim_value() <= 0 || dim.dim_value() == type.shape[static_cast<size_t>(i)];
    }
  }
  if (fits) return;
  diags_.warning_at(Code::TypeMismatch, at("output", output.name()), "it is {}, the model states another type",
                    ir::to_string(type));
}

void OnnxImporter::mark_outputs() {
  if (proto_.output_size() == 0) diags_.error_at(Code::BadModel, file_, "the model has no output");
  for (const auto& output : proto_.output()) {
    std::string place = at("output", output.name());
    if (failed_.contains(output.name())) continue;
    if (sequences_.contains(output.name())) {
      diags_.error_at(Code::UnsupportedOnnx, place,
                      "it is a sequence or an optional value: only tensors are supported");
      continue;
    }
    ValueId value = graph_.find_value(output.name());
    if (!value.is_valid()) {
      diags_.error_at(Code::BadModel, place, "nothing defines it");
      continue;
    }
    // An output that is also a model input, a constant or an output already becomes the result of a node with a
    // separate name.
    if (!graph_.value(value).producer.is_valid() || graph_.value(value).is_output) {
      std::string name = emitter_.fresh_name(output.name());
      ir::TensorType type = graph_.value(value).type;
      graph_.add_node(*ir::find_op("Identity"), {value}, {}, {name}, {type});
      value = graph_.find_value(name);
    }
    check_output_type(output, graph_.value(value).type);
    graph_.mark_output(value);
  }
}

std::optional<ir::Graph> OnnxImporter::run() {
  size_t errors_before = diags_.error_count();
  if (!check_names(proto_, file_, diags_)) return std::nullopt;
  if (!proto_.name().empty()) graph_.name = proto_.name();
  if (!read_header()) return std::nullopt;
  add_inputs();
  add_initializers(proto_);
  std::optional<std::vector<int>> order = node_order();
  if (!order) return std::nullopt;
  for (int i : *order) {
    add_node(proto_.node(i));
    if (diags_.error_count() - errors_before < kMostErrors) continue;
    return diags_.error_at(Code::UnsupportedOnnx, file_, "too many errors, giving up");
  }
  mark_outputs();
  if (diags_.error_count() > errors_before) return std::nullopt;
  COLLAGE_CHECK(graph_.outputs().size() == static_cast<size_t>(proto_.output_size()),
                "an output is missing, and no error says why");
  return std::move(graph_);
}

std::optional<ir::Graph> import_onnx(const OnnxFile& file, support::Diagnostics& diags, const OnnxOptions& options) {
  return OnnxImporter(file, file.proto().graph(), options, collect_names(file.proto().graph()), diags).run();
}

std::optional<ir::Graph> import_onnx(const std::string& path, support::Diagnostics& diags, const OnnxOptions& options) {
  std::shared_ptr<const OnnxFile> file = OnnxFile::read(path, {}, diags);
  if (file == nullptr) return std::nullopt;
  return import_onnx(*file, diags, options);
}

std::vector<std::string> onnx_input_names(const std::string& path) {
  onnx::ModelProto model;
  std::vector<std::string> names;
  if (!parse_file(path, model)) return names;
  make_names_visible(*model.mutable_graph());
  for (const auto& input : model.graph().input()) names.push_back(input.name());
  return names;
}

}  // namespace collage::import
