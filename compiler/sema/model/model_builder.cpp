// SPDX-License-Identifier: Apache-2.0
// Ports, constants and operators; names and their errors.
#include "compiler/sema/model/model_builder.h"

#include <limits>

#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/placement/verify.h"

namespace collage::sema {

using ir::AttrMap;
using ir::NodeId;
using ir::OpDef;
using ir::TensorType;
using ir::ValueId;
using runtime::Floats;
using runtime::Ints;
using runtime::Strings;
using support::Code;
using syntax::Name;
using syntax::Scalar;

namespace {

/// A list has the type of its elements, or the type that the operator requires if possible (`[]`, `[1]` as floats).
std::optional<runtime::AttrValue> list_value(const std::vector<Scalar>& items, const ir::AttrKind* wanted) {
  Ints ints;
  Floats floats;
  Strings strings;
  for (const Scalar& item : items) {
    if (const auto* text = std::get_if<std::string>(&item.value)) strings.push_back(*text);
    if (const auto* integer = std::get_if<int64_t>(&item.value)) {
      ints.push_back(*integer);
      floats.push_back(static_cast<double>(*integer));
    }
    if (const auto* flag = std::get_if<bool>(&item.value)) ints.push_back(*flag ? 1 : 0);
    if (const auto* real = std::get_if<double>(&item.value)) floats.push_back(*real);
  }
  if (wanted != nullptr && *wanted == ir::AttrKind::Floats && floats.size() == items.size()) return floats;
  if (wanted != nullptr && *wanted == ir::AttrKind::Strings && strings.size() == items.size()) return strings;
  if (ints.size() == items.size()) return ints;
  if (floats.size() == items.size()) return floats;
  if (strings.size() == items.size()) return strings;
  return std::nullopt;
}

runtime::AttrValue scalar_value(const Scalar& scalar, const ir::AttrKind* wanted) {
  if (const auto* text = std::get_if<std::string>(&scalar.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&scalar.value)) return int64_t{*flag ? 1 : 0};
  if (const auto* real = std::get_if<double>(&scalar.value)) return *real;
  if (const auto* big = std::get_if<uint64_t>(&scalar.value)) return static_cast<double>(*big);
  int64_t integer = std::get<int64_t>(scalar.value);
  if (wanted != nullptr && *wanted == ir::AttrKind::Float) return static_cast<double>(integer);
  return integer;
}

}  // namespace

std::optional<Model> ModelBuilder::build() {
  size_t before = diags_.error_count();
  model_.graph.name = ast_.name.text;
  find_aliases();
  add_inputs();
  for (statement_ = 0; statement_ < ast_.statements.size(); ++statement_) {
    std::visit([this](const auto& statement) { visit(statement); }, ast_.statements[statement_]);
  }
  add_outputs();
  if (diags_.error_count() > before) return std::nullopt;
  finish_partitions();
  if (diags_.error_count() > before) return std::nullopt;
  if (!model_.placement.empty() && !ir::verify(model_.graph, model_.placement, diags_)) return std::nullopt;
  return std::move(model_);
}

std::vector<NamedType> ModelBuilder::types() {
  only_types_ = true;
  build();
  return std::move(types_);
}

void ModelBuilder::add_inputs() {
  for (const syntax::PortAst& port : ast_.inputs) {
    std::optional<TensorType> type = resolve_type(port.type, diags_);
    if (!check_results({port.name})) continue;
    Binding binding;
    if (type) binding.value = model_.graph.add_input(port.name.text, *type, port.name.span);
    bind(port.name, binding);
  }
}

void ModelBuilder::add_outputs() {
  if (ast_.implicit_outputs) {
    for (ir::ValueId id : model_.graph.value_ids()) {
      const ir::Value& value = model_.graph.value(id);
      if (value.producer.is_valid() && value.uses.empty()) model_.graph.mark_output(id);
    }
    return;
  }
  if (ast_.outputs.empty()) diags_.error(Code::BadModel, ast_.name.span, "model `{}` has no output", ast_.name.text);
  std::map<std::string, support::Span> seen;
  for (const syntax::PortAst& port : ast_.outputs) {
    std::optional<TensorType> type = resolve_type(port.type, diags_);
    if (auto [first, is_new] = seen.emplace(port.name.text, port.name.span); !is_new) {
      diags_.error(Code::Redefinition, port.name.span, "output `%{}` is listed twice", port.name.text)
          .note(first->second, "first here");
      continue;
    }
    auto found = scope_.find(port.name.text);
    if (found == scope_.end() || !found->second.is_visible) {
      auto error = diags_.error(Code::BadModel, port.name.span, "output `%{}` is never defined", port.name.text);
      if (found != scope_.end()) {
        error.note(found->second.span, "this value is inside its partition and not among its results");
      } else {
        error.did_you_mean(near_name(port.name.text));
      }
      continue;
    }
    const Binding& binding = found->second;
    if (!type || !binding.value.is_valid()) continue;
    const ir::Value& value = model_.graph.value(binding.value);
    if (value.type != *type) {
      diags_
          .error(Code::TypeMismatch, port.type.span, "output `%{}` is `{}`, `{}` is declared", port.name.text,
                 to_string(value.type), to_string(*type))
          .note(binding.span, "defined here");
      continue;
    }
    bool is_implied = binding.partition >= 0 && !states_[static_cast<size_t>(binding.partition)].has_body;
    if (binding.format != ir::kHostPlain && (binding.is_converted || !is_implied)) {
      diags_
          .error(Code::WrongFormat, port.name.span, "output `%{}` is in `{}`; a model's outputs are plain host tensors",
                 port.name.text, to_string(binding.format))
          .note(binding.span, "give it another name here, and add `%{} = convert … to host`", port.name.text);
      continue;
    }
    if (value.is_output) {
      diags_.error(Code::Redefinition, port.name.span, "`%{}` is an output already, under the name `%{}`",
                   port.name.text, value.name);
      continue;
    }
    model_.graph.mark_output(binding.value);
  }
}

/// A name in scope that is spelled like `name`; empty if there is none, and for names of one letter.
std::string ModelBuilder::near_name(std::string_view name) const {
  if (name.size() < 2) return "";
  std::vector<std::string> names;
  for (const auto& [known, binding] : scope_) {
    if (binding.is_visible && !binding.is_placeholder) names.push_back(known);
  }
  return support::closest(name, names);
}

void ModelBuilder::bind(const Name& name, Binding binding) {
  binding.span = name.span;
  if (only_types_ && binding.value.is_valid()) types_.push_back({name.span, model_.graph.value(binding.value).type});
  scope_.insert_or_assign(name.text, std::move(binding));
}

bool ModelBuilder::check_results(const std::vector<Name>& results) {
  bool fresh = true;
  for (size_t i = 0; i < results.size(); ++i) {
    const Name& name = results[i];
    if (name.is_absent()) continue;
    for (size_t j = 0; j < i; ++j) {
      if (results[j].text != name.text) continue;
      fresh = diags_.error(Code::Redefinition, name.span, "`%{}` is defined twice by one statement", name.text);
    }
    auto found = scope_.find(name.text);
    if (found == scope_.end() || found->second.is_placeholder) continue;
    int other = found->second.partition;
    if (current_ >= 0 && other >= 0 && other != current_) {
      fresh = diags_
                  .error(Code::PartitionOverlap, name.span, "`%{}` is computed in partition `@{}` and again in `@{}`",
                         name.text, model_.placement.partitions[static_cast<size_t>(other)].name,
                         model_.placement.partitions[static_cast<size_t>(current_)].name)
                  .note(found->second.span, "first here; a node belongs to one partition");
    } else {
      fresh = diags_.error(Code::Redefinition, name.span, "`%{}` is defined twice", name.text)
                  .note(found->second.span, "first defined here");
    }
  }
  return fresh;
}

void ModelBuilder::report_undefined(const Name& name) {
  bool is_detailed = suggestions_left_-- > 0;
  if (is_detailed && report_partition_cycle(name)) return;
  auto error = diags_.error(Code::UndefinedValue, name.span, "`%{}` is not defined", name.text);
  for (size_t i = statement_; i < ast_.statements.size(); ++i) {
    const auto& results =
        std::visit([](const auto& s) -> const std::vector<Name>& { return s.results; }, ast_.statements[i]);
    for (const Name& result : results) {
      if (result.text != name.text) continue;
      error.note(result.span, "it is defined here: values must be defined before they are used");
      return;
    }
  }
  if (is_detailed) error.did_you_mean(near_name(name.text));
}

const ModelBuilder::Binding* ModelBuilder::find(const Name& name) {
  auto found = scope_.find(name.text);
  if (found == scope_.end()) {
    report_undefined(name);
    Binding placeholder;  // reported once
    placeholder.is_placeholder = true;
    bind(name, placeholder);
    return nullptr;
  }
  const Binding& binding = found->second;
  if (!binding.is_visible && binding.partition != current_) {
    diags_
        .error(Code::UndefinedValue, name.span, "`%{}` is inside partition `@{}`", name.text,
               model_.placement.partitions[static_cast<size_t>(binding.partition)].name)
        .note(binding.span, "to use it outside, name it among the results of the partition");
    return nullptr;
  }
  return binding.value.is_valid() ? &binding : nullptr;
}

/// Where only types are wanted, what shapes do not depend on stays zero: many elements, and floats in files.
std::optional<ir::Constant> ModelBuilder::make_constant(const syntax::ConstAst& ast) {
  constexpr int64_t kMostShown = 4096;
  if (!only_types_ || std::holds_alternative<syntax::DenseAst>(ast.form)) return constants_.make(ast);
  const syntax::TypeAst& written =
      std::visit([](const auto& form) -> const syntax::TypeAst& { return form.type; }, ast.form);
  support::Diagnostics unheard(diags_.sources());
  const std::optional<TensorType> type = resolve_type(written, unheard);
  if (!type || type->bytes() > kMaxMadeUpBytes) return constants_.make(ast);
  const bool is_file = std::holds_alternative<syntax::FileAst>(ast.form);
  const bool is_left_out =
      runtime::element_count(type->shape) > kMostShown || (is_file && runtime::is_float(type->dtype));
  if (!is_left_out) return constants_.make(ast);
  ir::Constant constant;
  constant.form = ir::Constant::Form::File;
  if (!is_file) {
    // One element shows what is wrong with the others.
    syntax::ConstAst small = ast;
    std::visit([](auto& form) { form.type.dims.clear(); }, small.form);
    std::optional<ir::Constant> made = constants_.make(small);
    if (!made) return std::nullopt;
    constant = std::move(*made);
  }
  constant.data = ir::Tensor(type->dtype, type->shape);
  return constant;
}

void ModelBuilder::visit(const syntax::ConstAst& ast) {
  if (!check_results(ast.results)) return;
  std::optional<ir::Constant> constant = make_constant(ast);
  if (ast.results.size() != 1 || ast.results[0].is_absent()) {
    diags_.error(Code::WrongArity, ast.results[0].span, "a constant has one result, which needs a name");
    return;
  }
  Binding binding;
  const Name& name = ast.results[0];
  if (constant) {
    std::string unique = model_.graph.unique_name(name.text);
    binding.value = model_.graph.add_constant(unique, std::move(*constant), name.span);
  }
  bind(name, binding);
}

bool ModelBuilder::resolve_operands(const syntax::OpAst& op, std::vector<ValueId>* operands) {
  bool resolved = true;
  for (const Name& name : op.operands) {
    if (name.is_absent()) {
      operands->emplace_back();
      continue;
    }
    const Binding* binding = find(name);
    if (binding == nullptr) {
      resolved = false;
      continue;
    }
    operands->push_back(binding->value);
    if (model_.graph.value(binding->value).is_constant()) continue;
    if (current_ >= 0 && binding->partition != current_ && !body_inputs_.contains(name.text)) {
      resolved = diags_
                     .error(Code::UndefinedValue, name.span, "`%{}` is not among the inputs of partition `@{}`",
                            name.text, model_.placement.partitions[static_cast<size_t>(current_)].name)
                     .note(binding->span, "defined here");
    } else if (current_ < 0 && binding->is_converted) {
      resolved = diags_
                     .error(Code::WrongFormat, name.span, "`%{}` is a converted value, which only partitions can read",
                            name.text)
                     .note(binding->span, "converted here");
    }
  }
  return resolved;
}

std::optional<AttrMap> ModelBuilder::build_attrs(const syntax::OpAst& op, const OpDef& def) {
  AttrMap attrs;
  bool valid = true;
  for (const syntax::AttrAst& attr : op.attrs) {
    if (attrs.has(attr.name.text)) {
      valid = diags_.error(Code::Redefinition, attr.name.span, "attribute `{}` is given twice", attr.name.text);
      continue;
    }
    const ir::AttrDef* known = def.find_attr(attr.name.text);
    const ir::AttrKind* wanted = known != nullptr ? &known->kind : nullptr;
    std::optional<runtime::AttrValue> value;
    if (const auto* scalar = std::get_if<Scalar>(&attr.value)) {
      value = scalar_value(*scalar, wanted);
    } else if (const auto* list = std::get_if<std::vector<Scalar>>(&attr.value)) {
      value = list_value(*list, wanted);
      if (!value) diags_.error(Code::BadAttribute, attr.span, "the list mixes numbers and strings");
    } else if (std::optional<ir::Tensor> tensor = make_dense(std::get<syntax::DenseAst>(attr.value), diags_)) {
      value = std::move(*tensor);
    }
    valid = valid && value.has_value();
    if (value) attrs.set(attr.name.text, std::move(*value));
  }
  if (!valid) return std::nullopt;
  return attrs;
}

std::optional<ir::Pin> ModelBuilder::build_pin(const syntax::OpAst& op) {
  if (!op.pin) return std::nullopt;
  ir::Pin pin;
  pin.device = op.pin->device.text;
  pin.span = op.pin->span;
  if (op.pin->index) {
    if (*op.pin->index < 0 || *op.pin->index > std::numeric_limits<int>::max()) {
      diags_.error(Code::BadLiteral, op.pin->span, "no device has an instance {}", *op.pin->index);
      return std::nullopt;
    }
    pin.instance = static_cast<int>(*op.pin->index);
  }
  return pin;
}

void ModelBuilder::visit(const syntax::OpAst& op) {
  bool valid = check_results(op.results);
  std::optional<int> partition = membership_of(op);
  std::vector<ValueId> operands;
  bool resolved = resolve_operands(op, &operands);
  if (!valid) return;
  NodeId node;
  const OpDef* def = ir::find_op(op.op.text);
  bool has_result = false;
  for (const Name& result : op.results) has_result = has_result || !result.is_absent();
  if (!has_result) {
    diags_.error(Code::WrongArity, op.results[0].span, "a result of the operator needs a name");
  } else if (def == nullptr) {
    diags_.error(Code::UnknownOperator, op.op.span, "unknown operator `{}`", op.op.text)
        .did_you_mean(support::closest(op.op.text, ir::op_names()));
  } else if (std::optional<AttrMap> attrs = build_attrs(op, *def); attrs && resolved && partition) {
    ir::NodeSource source;
    source.node = op.op.span;
    for (const Name& operand : op.operands) source.operands.push_back(operand.span);
    for (const syntax::AttrAst& attr : op.attrs)
      source.attrs.emplace_back(attr.name.text, attr.name.span.to(attr.span));
    std::vector<std::string> names;
    for (const Name& result : op.results) {
      auto alias = aliases_.find(result.text);
      const std::string& name = alias == aliases_.end() ? result.text : alias->second;
      names.push_back(result.is_absent() ? "" : model_.graph.unique_name(name));
    }
    node = append_inferred(model_.graph, *def, operands, std::move(*attrs), std::move(names), source, diags_);
  }
  if (node.is_valid()) {
    model_.graph.node(node).pin = build_pin(op);
    check_types(op, node);
    if (*partition >= 0) model_.placement.partitions[static_cast<size_t>(*partition)].nodes.push_back(node);
  }
  bind_results(op, node, partition.value_or(current_));
}

void ModelBuilder::check_types(const syntax::OpAst& op, NodeId node) {
  if (op.types.empty()) return;
  if (op.types.size() != op.results.size()) {
    diags_.error(Code::WrongArity, op.op.span, "{} results have {} types", op.results.size(), op.types.size());
    return;
  }
  for (size_t i = 0; i < op.types.size(); ++i) {
    ValueId result = model_.graph.node(node).outputs[i];
    if (!op.types[i] || !result.is_valid()) continue;
    std::optional<TensorType> written = resolve_type(*op.types[i], diags_);
    const TensorType& inferred = model_.graph.value(result).type;
    if (!written || *written == inferred) continue;
    diags_.error(Code::TypeMismatch, op.types[i]->span, "`%{}` is `{}`, `{}` is written", op.results[i].text,
                 to_string(inferred), to_string(*written));
  }
}

void ModelBuilder::bind_results(const syntax::OpAst& op, NodeId node, int partition) {
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Name& name = op.results[i];
    if (name.is_absent()) continue;
    Binding binding;
    binding.partition = partition;
    binding.is_visible = current_ < 0;
    binding.is_undecided = partition < 0;
    if (partition >= 0)
      binding.format.space = ir::boundary_space(model_.placement.partitions[static_cast<size_t>(partition)].instance);
    if (node.is_valid()) {
      binding.value = model_.graph.node(node).outputs[i];
      model_.graph.value(binding.value).span = name.span;
      if (partition >= 0) written_[binding.value] = binding.format;
    } else if (i < op.types.size() && op.types[i]) {
      // The node failed, but its type is written: continues with a substitute, so that later errors are found. The
      // graph is discarded in the end.
      if (std::optional<TensorType> type = resolve_type(*op.types[i], diags_)) {
        binding.value = model_.graph.add_input(model_.graph.unique_name(name.text), *type, name.span);
      }
    }
    bind(name, binding);
  }
}

}  // namespace collage::sema
