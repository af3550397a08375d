// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/instantiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "runtime/core/element.h"
#include "runtime/core/text.h"

namespace collage::match {

using runtime::Result;
using runtime::Status;

namespace {

using ir::TemplateOperand;
using OperandKind = TemplateOperand::Kind;

/// As the operator wants it, or nothing: 2.5 is no int.
std::optional<runtime::AttrValue> to_attribute(const EvalValue& value, ir::AttrKind kind) {
  const bool is_number = std::holds_alternative<bool>(value) || std::holds_alternative<Number>(value);
  const auto* list = std::get_if<NumberList>(&value);
  switch (kind) {
    case ir::AttrKind::Int:
      if (const auto whole = is_number ? to_whole(as_number(value)) : std::nullopt) return *whole;
      return std::nullopt;
    case ir::AttrKind::Float:
      if (!is_number) return std::nullopt;
      return as_number(value).real();
    case ir::AttrKind::String:
      if (const auto* text = std::get_if<std::string>(&value)) return *text;
      return std::nullopt;
    case ir::AttrKind::Ints: {
      if (list == nullptr) return std::nullopt;
      runtime::Ints ints;
      for (const Number& n : list->items) {
        const std::optional<int64_t> whole = to_whole(n);
        if (!whole) return std::nullopt;
        ints.push_back(*whole);
      }
      return ints;
    }
    case ir::AttrKind::Floats: {
      if (list == nullptr) return std::nullopt;
      runtime::Floats floats;
      for (const Number& n : list->items) floats.push_back(n.real());
      return floats;
    }
    case ir::AttrKind::Strings:
    case ir::AttrKind::Tensor: break;
  }
  return std::nullopt;
}

/// Types follow from inference on a graph of nothing but the steps.
class Instantiation {
 public:
  Instantiation(const ir::Template& shape, const std::vector<ir::Capture>& captures, const EvalContext& context,
                ir::DType dtype)
      : shape_(shape), captures_(captures), context_(context), dtype_(dtype), steps_(shape.steps.size(), -1) {}

  Result<BuiltTemplate> run() {
    const Result<BuiltOperand> result = operand(shape_.result);
    if (!result) return result.status();
    if (result->kind != BuiltOperand::Kind::Value && result->kind != BuiltOperand::Kind::Step)
      return Status::error("its result is absent in this match");
    built_.result = *result;
    built_.type = scratch_.value(scratch_value(*result)).type;
    return std::move(built_);
  }

 private:
  Result<BuiltOperand> operand(const TemplateOperand& from) {
    const auto at = static_cast<size_t>(from.index);
    switch (from.kind) {
      case OperandKind::Absent: return BuiltOperand{};
      case OperandKind::Capture: {
        const Binding& binding = context_.bindings[at];
        if (!binding.is_present()) return BuiltOperand{};
        return BuiltOperand{BuiltOperand::Kind::Value, binding.value};
      }
      case OperandKind::Number:
        if (runtime::holds(dtype_, from.number)) return BuiltOperand{BuiltOperand::Kind::Number, {}, from.number};
        return Status::error(fmt::format("{} is no {}", from.number, runtime::name_of(dtype_)));
      case OperandKind::Rest: break;  // of `operands` only
      case OperandKind::Step: return step(at);
      case OperandKind::Choice: return choice(shape_.choices[at]);
    }
    return Status::error("");
  }

  Result<BuiltOperand> choice(const ir::TemplateChoice& from) {
    if (mentions_absent(from.condition, context_)) return operand(from.no);
    const Evaluated holds = evaluate(from.condition, context_);
    if (holds) return operand(as_bool(*holds.value) ? from.yes : from.no);
    return Status::error(fmt::format("a condition has no value: {}", holds.why));
  }

  Result<BuiltOperand> step(size_t index) {
    if (steps_[index] >= 0) return BuiltOperand{BuiltOperand::Kind::Step, {}, 0, steps_[index]};
    const ir::TemplateStep& from = shape_.steps[index];
    const Result<const ir::OpDef*> op = from.op != nullptr ? from.op : named_operator(*from.op_name);
    if (!op) return op.status();
    BuiltStep made;
    made.op = *op;
    for (const TemplateOperand& wanted : from.operands) {
      if (wanted.kind == OperandKind::Rest) {
        const auto at = static_cast<size_t>(wanted.index);
        for (ValueId value : values_of(context_.graph, captures_[at], context_.bindings[at]))
          made.operands.push_back({BuiltOperand::Kind::Value, value});
        continue;
      }
      Result<BuiltOperand> built = operand(wanted);
      if (!built) return built;
      made.operands.push_back(*built);
    }
    while (!made.operands.empty() && made.operands.back().kind == BuiltOperand::Kind::Absent) made.operands.pop_back();
    if (Status set = set_attributes(from, &made); !set) return set;
    if (Status inferred = infer(&made); !inferred) return inferred;
    built_.steps.push_back(std::move(made));
    steps_[index] = static_cast<int>(built_.steps.size()) - 1;
    return BuiltOperand{BuiltOperand::Kind::Step, {}, 0, steps_[index]};
  }

  Result<const ir::OpDef*> named_operator(const ir::Expr& name) {
    const Evaluated value = evaluate(name, context_);
    const auto* text = value ? std::get_if<std::string>(&*value.value) : nullptr;
    if (text == nullptr) return Status::error(value.why);
    if (const ir::OpDef* op = ir::find_op(*text)) return op;
    return Status::error(fmt::format("`{}` is no operator", *text));
  }

  Status set_attributes(const ir::TemplateStep& from, BuiltStep* made) {
    for (const ir::TemplateAttribute& attribute : from.attributes) {
      if (shape_.leaves_out_absent_attrs && mentions_absent(attribute.value, context_)) continue;
      const ir::AttrDef* def = made->op->find_attr(attribute.name);
      if (def == nullptr) return Status::error(fmt::format("{} has no attribute `{}`", made->op->name, attribute.name));
      Evaluated value = evaluate(attribute.value, context_);
      std::optional<runtime::AttrValue> built = value ? to_attribute(*value.value, def->kind) : std::nullopt;
      if (!built) {
        return Status::error(fmt::format("`{}` of {} has no value: {}", attribute.name, made->op->name,
                                         value ? to_text(*value.value, attribute.value.unit) : value.why));
      }
      made->attrs.set(attribute.name, std::move(*built));
    }
    return Status::ok();
  }

  Status infer(BuiltStep* made) {
    const auto given = static_cast<int>(made->operands.size());
    if (given < made->op->min_inputs || given > made->op->max_inputs)
      return Status::error(fmt::format("{} does not take {}", made->op->name, runtime::counted(given, "operand")));
    std::vector<ValueId> inputs;
    for (const BuiltOperand& operand : made->operands) inputs.push_back(scratch_value(operand));
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    ir::NodeSource source;
    source.where = "template";
    NodeId node = append_inferred(scratch_, *made->op, inputs, made->attrs, {scratch_.unique_name("t")}, source, diags);
    if (!node.is_valid()) return Status::error(fmt::format("{}: {}", made->op->name, diags.records().at(0).message));
    results_.push_back(scratch_.first_output(node));
    made->type = scratch_.value(results_.back()).type;
    return Status::ok();
  }

  ValueId scratch_value(const BuiltOperand& operand) {
    switch (operand.kind) {
      case BuiltOperand::Kind::Absent: return {};
      case BuiltOperand::Kind::Number:
        return scratch_.add_constant(scratch_.unique_name("k"), scalar_constant(operand.number, dtype_));
      case BuiltOperand::Kind::Step: return results_[static_cast<size_t>(operand.step)];
      case BuiltOperand::Kind::Value: break;
    }
    ValueId& copy = copies_[operand.value];
    if (copy.is_valid()) return copy;
    const ir::Value& value = context_.graph.value(operand.value);
    const std::string name = scratch_.unique_name("x");
    copy = value.is_constant() ? scratch_.add_constant(name, *value.constant) : scratch_.add_input(name, value.type);
    return copy;
  }

  const ir::Template& shape_;
  const std::vector<ir::Capture>& captures_;
  const EvalContext& context_;
  ir::DType dtype_;
  BuiltTemplate built_;
  std::vector<int> steps_;  ///< by step of the template: index into those that are built
  Graph scratch_;
  std::map<ValueId, ValueId> copies_;  ///< of values of the match, in `scratch_`
  std::vector<ValueId> results_;       ///< by built step, in `scratch_`
};

}  // namespace

Result<BuiltTemplate> instantiate(const ir::Template& shape, const std::vector<ir::Capture>& captures,
                                  const EvalContext& context, ir::DType dtype) {
  return Instantiation(shape, captures, context, dtype).run();
}

ir::Constant scalar_constant(double number, ir::DType dtype) {
  ir::Tensor tensor(dtype, {});
  runtime::set_element(tensor.view(), 0, number);
  return ir::make_constant(tensor);
}

}  // namespace collage::match
