// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/mutate_lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "compiler/lint/logic/expr_text.h"

namespace collage::rules_tool {
namespace {

using ir::Template;
using ir::TemplateOperand;

void for_each_operand(Template& meaning, const std::function<void(TemplateOperand&)>& change) {
  for (ir::TemplateStep& step : meaning.steps) {
    for (TemplateOperand& operand : step.operands) change(operand);
  }
  for (ir::TemplateChoice& choice : meaning.choices) {
    change(choice.yes);
    change(choice.no);
  }
  change(meaning.result);
}

/// What a template computes, operands of commutative operators in one order.
class MeaningText {
 public:
  MeaningText(const Template& meaning, const ir::Rule& rule) : meaning_(meaning), names_(lint::names_of(rule)) {}

  std::string text() const { return text_of(meaning_.result); }

 private:
  std::string text_of(const TemplateOperand& operand) const {
    switch (operand.kind) {
      case TemplateOperand::Kind::Absent: return "none";
      case TemplateOperand::Kind::Capture: return fmt::format("${}", operand.index);
      case TemplateOperand::Kind::Number: return fmt::format("{}", operand.number);
      case TemplateOperand::Kind::Rest: return fmt::format("..{}", operand.index);
      case TemplateOperand::Kind::Step: return text_of(meaning_.steps[static_cast<size_t>(operand.index)]);
      case TemplateOperand::Kind::Choice: {
        const ir::TemplateChoice& choice = meaning_.choices[static_cast<size_t>(operand.index)];
        return fmt::format("if {} then {} else {}", lint::text_of(choice.condition, names_), text_of(choice.yes),
                           text_of(choice.no));
      }
    }
    return "";
  }

  std::string text_of(const ir::TemplateStep& step) const {
    std::vector<std::string> operands;
    for (const TemplateOperand& operand : step.operands) operands.push_back(text_of(operand));
    if (step.op != nullptr) {
      const size_t commuting = ir::commuting_operands(*step.op, operands.size());
      std::sort(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(commuting));
    }
    std::string text = step.op != nullptr ? std::string(step.op->name) : lint::text_of(*step.op_name, names_);
    text += fmt::format("({}){{", fmt::join(operands, ","));
    for (const ir::TemplateAttribute& attribute : step.attributes) {
      text += attribute.name + "=" + lint::text_of(attribute.value, names_) + ",";
    }
    return text + "}";
  }

  const Template& meaning_;
  lint::CaptureNames names_;
};

bool is_operand(const ir::Rule& rule, const ir::LoweringArg& arg) {
  return arg.capture >= 0 && rule.captures[static_cast<size_t>(arg.capture)].type != ir::ExprType::Values;
}

ir::Lowering exchanged(const ir::Lowering& lowering, size_t a, size_t b) {
  ir::Lowering changed = lowering;
  const int left = lowering.args[a].capture;
  const int right = lowering.args[b].capture;
  std::swap(changed.args[a].capture, changed.args[b].capture);
  for_each_operand(*changed.meaning, [&](TemplateOperand& operand) {
    if (operand.kind != TemplateOperand::Kind::Capture) return;
    operand.index = operand.index == left ? right : operand.index == right ? left : operand.index;
  });
  return changed;
}

ir::Lowering left_out(const ir::Rule& rule, const ir::Lowering& lowering, size_t index) {
  ir::Lowering changed = lowering;
  const ir::LoweringArg& arg = lowering.args[index];
  changed.args.erase(changed.args.begin() + static_cast<std::ptrdiff_t>(index));
  if (arg.capture >= 0) {
    for_each_operand(*changed.meaning, [&](TemplateOperand& operand) {
      const bool is_it = operand.kind == TemplateOperand::Kind::Capture && operand.index == arg.capture;
      if (is_it) operand = TemplateOperand();
    });
    return changed;
  }
  const lint::CaptureNames names = lint::names_of(rule);
  const std::string text = lint::text_of(*arg.value, names);
  for (ir::TemplateStep& step : changed.meaning->steps) {
    std::erase_if(step.attributes, [&](const ir::TemplateAttribute& attribute) {
      return lint::text_of(attribute.value, names) == text;
    });
  }
  return changed;
}

}  // namespace

std::vector<LoweringMutant> mutants_of(const ir::Rule& rule, const ir::Lowering& lowering) {
  std::vector<LoweringMutant> mutants;
  if (!lowering.meaning) return mutants;
  const std::string before = MeaningText(*lowering.meaning, rule).text();
  auto add = [&](std::string what, ir::Lowering changed, support::Span span) {
    if (MeaningText(*changed.meaning, rule).text() == before) return;
    mutants.push_back({std::move(what), std::move(changed), span});
  };
  for (size_t i = 0; i < lowering.args.size(); ++i) {
    const ir::LoweringArg& arg = lowering.args[i];
    for (size_t j = i + 1; j < lowering.args.size(); ++j) {
      const ir::LoweringArg& other = lowering.args[j];
      const bool are_alike = arg.capture != other.capture && arg.encoding == other.encoding;
      if (!are_alike || !is_operand(rule, arg) || !is_operand(rule, other)) continue;
      add(fmt::format("`{}` and `{}` exchanged", arg.name, other.name), exchanged(lowering, i, j), other.span);
    }
    const int parameter = lowering.find_parameter(arg.name);
    if (parameter < 0 || !lowering.parameters[static_cast<size_t>(parameter)].may_be_absent) continue;
    add(fmt::format("no `{}`", arg.name), left_out(rule, lowering, i), arg.span);
  }
  return mutants;
}

}  // namespace collage::rules_tool
