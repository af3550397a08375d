// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/lower_match.h"

#include <cmath>

namespace collage::match {
namespace {

runtime::AttrValue as_attribute(const EvalValue& value) {
  struct Visitor {
    using Attr = runtime::AttrValue;
    static bool is_whole(double n) { return n == std::floor(n) && std::abs(n) < 0x1p53; }
    Attr operator()(double n) const { return is_whole(n) ? Attr(static_cast<int64_t>(n)) : Attr(n); }
    Attr operator()(bool b) const { return int64_t{b}; }
    Attr operator()(const std::string& text) const { return text; }
    Attr operator()(DType dtype) const { return std::string(runtime::name_of(dtype)); }
    Attr operator()(const NumberList& list) const {
      bool all_whole = true;
      for (double n : list.items) all_whole = all_whole && is_whole(n);
      if (!all_whole) return runtime::Floats(list.items.begin(), list.items.end());
      runtime::Ints ints;
      for (double n : list.items) ints.push_back(static_cast<int64_t>(n));
      return ints;
    }
    Attr operator()(const Binding&) const { return std::string(); }
  };
  return std::visit(Visitor(), value);
}

}  // namespace

runtime::LoweredCall lower_match(const Graph& graph, const ir::Backend& backend, const Match& match,
                                 const AttrValues& attrs, const Environment* environment) {
  const ir::Rule& rule = backend.rules[static_cast<size_t>(match.rule)];
  const ir::Lowering& lowering = rule.kernels[static_cast<size_t>(match.kernel)].lowering;
  runtime::LoweredCall call{name_of(rule, match), lowering.symbol, {}, {}};
  Quantities quantities = quantities_of(graph, match.nodes);
  EvalContext context{graph, backend, attrs, match.bindings, &quantities, &match.knobs, environment};
  for (const ir::LoweringArg& arg : lowering.args) {
    if (arg.capture >= 0) {
      const Binding& binding = match.bindings[static_cast<size_t>(arg.capture)];
      if (binding.is_present()) call.operands.emplace_back(arg.name, graph.value(binding.value).name);
      continue;
    }
    // What has no value in this match is left out, as an absent operand is.
    Evaluated value = evaluate(*arg.value, context);
    if (value) call.attrs.set(arg.name, as_attribute(*value.value));
  }
  return call;
}

}  // namespace collage::match
