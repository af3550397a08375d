// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/expectations.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/match/evaluate.h"
#include "compiler/place/candidates/candidates.h"
#include "runtime/core/joined.h"
#include "runtime/core/layout.h"

namespace collage::rules_tool {
namespace {

using ir::Expectation;

const ir::Kernel& kernel_of(const ir::Backend& backend, const match::Match& match) {
  return backend.rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)];
}

std::string by_text(const ir::Backend& backend, const match::Match& match) {
  std::string name = match::name_of(backend.rules[static_cast<size_t>(match.rule)], match);
  size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

bool runs_by(const ir::Backend& backend, const match::Match& match, const Expectation& expected) {
  if (kernel_of(backend, match).name != expected.name) return false;
  return std::all_of(expected.knobs.begin(), expected.knobs.end(), [&](const auto& knob) {
    auto at = match.knobs.find(knob.first);
    return at != match.knobs.end() && runtime::to_string(at->second) == runtime::to_string(knob.second);
  });
}

bool holds(double left, ir::ExprOp comparison, double right) {
  switch (comparison) {
    case ir::ExprOp::Less: return left < right;
    case ir::ExprOp::LessEqual: return left <= right;
    case ir::ExprOp::Greater: return left > right;
    case ir::ExprOp::GreaterEqual: return left >= right;
    default: return ir::Duration::seconds(left) == ir::Duration::seconds(right);
  }
}

/// Every choice of formats of the match.
place::BackendCandidates units_of(const ir::Graph& graph, const place::ActiveBackend& active,
                                  const place::LayoutTable& layouts, const match::Match& match) {
  place::BackendCandidates found;
  found.matches.push_back(match);
  place::make_units(graph, active, layouts, &found);
  return found;
}

/// The value of the model called `name`, or that a capture called so stands for.
ir::ValueId find_value(const ir::Graph& graph, const ir::Rule& rule, const match::Match& match,
                       const std::string& name) {
  for (ir::ValueId value : graph.value_ids()) {
    if (graph.value(value).name == name) return value;
  }
  int capture = rule.find_capture(name);
  return capture < 0 ? ir::ValueId() : match.bindings[static_cast<size_t>(capture)].value;
}

std::string format_found(const ir::Graph& graph, const ir::Backend& backend, const match::Match& match,
                         const Expectation& expected) {
  place::ActiveBackend active{&backend, {}, nullptr, {}};
  for (const std::string& name : runtime::storage_type_names()) {
    active.allowed.insert(*runtime::parse_storage_type(name));
  }
  place::ActiveBackends all;
  all.push_back(active);
  const place::LayoutTable layouts = place::layouts_in_play(all);
  const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
  const ir::ValueId value = find_value(graph, rule, match, expected.name);
  if (!value.is_valid()) return fmt::format("the model has no value `%{}`", expected.name);
  const ir::TensorType& type = graph.value(value).type;
  runtime::TensorForm wanted;
  if (expected.layout) wanted.layout = runtime::layout_of_rank(*expected.layout, type.shape.size());
  if (runtime::lies_plainly(wanted.layout, type.shape)) wanted.layout = runtime::kPlainLayout;
  wanted.storage = runtime::canonical_storage(type.dtype, expected.storage);
  std::string found;
  const place::BackendCandidates candidates = units_of(graph, active, layouts, match);
  for (const place::Unit& unit : candidates.units) {
    for (const auto* list : {&unit.reads, &unit.writes}) {
      for (const place::ValueLayout& item : *list) {
        if (item.value != value) continue;
        if (layouts.at(item.layout) == wanted) return "";
        const std::string name = layouts.name(item.layout);
        if (found.find(name) == std::string::npos) runtime::add_to_list(found, name, " or ");
      }
    }
  }
  if (!candidates.refusals.empty()) return candidates.refusals[0].message;
  return found.empty() ? fmt::format("`%{}` is not at the boundary of the match", expected.name)
                       : fmt::format("`%{}` is wanted as {}", expected.name, found);
}

}  // namespace

std::string call_text(const ir::Graph& graph, const ir::Backend& backend, const match::Match& match) {
  const ir::Lowering& lowering = kernel_of(backend, match).lowering;
  match::Quantities quantities = match::quantities_of(graph, match.nodes, &backend);
  quantities.launch = backend.policy.launch.seconds();
  match::EvalContext context{graph, backend, {}, match.bindings, &quantities, &match.knobs, nullptr};
  std::string args;
  for (const ir::LoweringArg& arg : lowering.args) {
    std::string text;
    if (arg.capture >= 0) {
      const auto at = static_cast<size_t>(arg.capture);
      const ir::Capture& capture = backend.rules[static_cast<size_t>(match.rule)].captures[at];
      const std::vector<ir::ValueId> values = match::values_of(graph, capture, match.bindings[at]);
      if (capture.type == ir::ExprType::Values) {
        for (size_t i = 0; i < values.size(); ++i) {
          runtime::add_to_list(args, fmt::format("{}[{}] = %{}", arg.name, i, graph.value(values[i]).name));
        }
        continue;
      }
      if (values.empty()) continue;
      const ir::ValueId value = values.front();
      text = "%" + graph.value(value).name;
      if (!arg.encoding.empty()) text = fmt::format("encode({}, \"{}\")", text, arg.encoding);
    } else {
      if (match::mentions_absent(*arg.value, context)) continue;
      match::Evaluated value = match::evaluate(*arg.value, context);
      text = value ? match::to_text(*value.value, arg.value->unit) : "?";
      if (arg.value->type == ir::ExprType::String) text = "\"" + text + "\"";
    }
    runtime::add_to_list(args, arg.name + " = " + text);
  }
  return fmt::format("{}({})", lowering.symbol, args);
}

std::string found_instead(const ir::Graph& graph, const ir::Backend& backend, const match::Match& match,
                          const Expectation& expected) {
  switch (expected.kind) {
    case Expectation::Kind::By:
      if (runs_by(backend, match, expected)) return "";
      return fmt::format("it runs by `{}`", by_text(backend, match));
    case Expectation::Kind::Cost:
      if (holds(match.cost, expected.comparison, expected.seconds)) return "";
      return fmt::format("it costs {}", runtime::human(ir::Duration::seconds(match.cost)));
    case Expectation::Kind::Lower: {
      std::string call = call_text(graph, backend, match);
      if (call == expected.text || kernel_of(backend, match).lowering.symbol == expected.text) return "";
      return fmt::format("it is lowered to `{}`", call);
    }
    case Expectation::Kind::Format: return format_found(graph, backend, match, expected);
  }
  return "";
}

}  // namespace collage::rules_tool
