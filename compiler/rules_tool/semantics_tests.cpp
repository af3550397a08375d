// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/semantics_tests.h"

#include <algorithm>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/match/lowering_misfit.h"
#include "compiler/rules_tool/trials.h"

namespace collage::rules_tool {
namespace {

using ir::Graph;
using ir::ValueId;
using match::BuiltOperand;
using support::Code;

const ir::Kernel& kernel_of_match(const ir::Backend& backend, const match::Match& match) {
  return backend.rules[static_cast<size_t>(match.rule)].kernels[static_cast<size_t>(match.kernel)];
}

/// The graph with what the kernel computes in the place of the root of the match.
Graph with_meaning(const Graph& graph, const match::Match& match, const match::BuiltTemplate& meaning) {
  const ValueId root = graph.first_output(match.root);
  const ir::Value& result = graph.value(root);
  ir::GraphRewriter rewriter(graph);
  for (ir::NodeId node : graph.node_ids()) {
    if (node != match.root) {
      rewriter.copy(node);
      continue;
    }
    std::vector<ValueId> made;
    const auto value_of = [&](const BuiltOperand& operand) -> ValueId {
      switch (operand.kind) {
        case BuiltOperand::Kind::Absent: return {};
        case BuiltOperand::Kind::Value: return rewriter.copied(operand.value);
        case BuiltOperand::Kind::Step: return made[static_cast<size_t>(operand.step)];
        case BuiltOperand::Kind::Number:
          return rewriter.add_constant(result.name + ".k", match::scalar_constant(operand.number, result.type.dtype));
      }
      return {};
    };
    for (const match::BuiltStep& step : meaning.steps) {
      std::vector<ValueId> inputs;
      for (const BuiltOperand& operand : step.operands) inputs.push_back(value_of(operand));
      made.push_back(rewriter.add_node(*step.op, inputs, step.attrs, result.name, step.type));
    }
    rewriter.add_result(root, *ir::find_op("Identity"), {value_of(meaning.result)}, {});
  }
  return rewriter.finish();
}

class LoweringTest {
 public:
  LoweringTest(const ir::Backend& backend, const ir::RuleTest& test, support::Diagnostics& diags)
      : backend_(backend), test_(test), diags_(diags) {}

  /// Tests the matches of one rule that have these nodes.
  bool run(const Graph& graph, int rule, const std::vector<ir::NodeId>& nodes) {
    for (const Trial& trial : kTrials) {
      std::mt19937_64 random(1);
      Graph changed = graph;
      if (trial.changes_constants) change_constants(changed, trial, random);
      for (const match::Match& match : match::match_rule(changed, backend_, rule, {}, nullptr)) {
        const bool is_asked = match.nodes == nodes && kernel_of_match(backend_, match).lowering.meaning;
        // Another result of the root would need the node itself.
        if (is_asked && match.results.size() == 1 && !is_same_on(changed, match, trial, random)) return false;
      }
    }
    return true;
  }

 private:
  bool is_same_on(const Graph& graph, const match::Match& match, const Trial& trial, std::mt19937_64& random) {
    const ir::Lowering& lowering = kernel_of_match(backend_, match).lowering;
    match::Quantities quantities = match::quantities_of(graph, match.nodes, &backend_);
    quantities.launch = backend_.policy.launch.seconds();
    const match::EvalContext context{graph, backend_, {}, match.bindings, &quantities, &match.knobs, nullptr};
    const runtime::Result<match::BuiltTemplate> meaning =
        match::meaning_of(backend_.rules[static_cast<size_t>(match.rule)], lowering, context, match.root);
    if (!meaning) return fail(lowering, meaning.message());
    const Graph other = with_meaning(graph, match, *meaning);
    std::vector<ir::Tensor> inputs;
    for (ValueId input : graph.inputs()) inputs.push_back(random_tensor(graph.value(input).type, trial, random));
    const auto wanted = ir::evaluate_graph(graph, inputs);
    const auto got = ir::evaluate_graph(other, inputs);
    if (!wanted || !got) return fail(lowering, wanted ? got.message() : wanted.message());
    for (size_t i = 0; i < wanted->size(); ++i) {
      const int64_t at = first_difference((*wanted)[i], (*got)[i]);
      if (at < 0) continue;
      diags_
          .error(Code::SemanticsDiffer, test_.span, "`%{}`{} is {}, and {} by what the lowering asks for",
                 graph.value(graph.outputs()[i]).name, indices((*wanted)[i].shape(), at),
                 element_text((*wanted)[i], at), element_text((*got)[i], at))
          .note(lowering.span, "rule `{}` is lowered here",
                match::name_of(backend_.rules[static_cast<size_t>(match.rule)], match))
          .note(lowering.meaning->span, "which computes this")
          .note("where inputs and constants are {}", trial.what);
      return false;
    }
    return true;
  }

  bool fail(const ir::Lowering& lowering, const std::string& why) {
    return diags_.error(Code::SemanticsDiffer, test_.span, "what the lowering asks for does not run: {}", why)
        .note(lowering.span, "the lowering");
  }

  const ir::Backend& backend_;
  const ir::RuleTest& test_;
  support::Diagnostics& diags_;
};

}  // namespace

bool lowerings_hold(const Graph& graph, const ir::Backend& backend, size_t first, size_t end, const ir::RuleTest& test,
                    const std::vector<ir::NodeId>& nodes, support::Diagnostics& diags) {
  for (size_t rule = first; rule < end; ++rule) {
    const std::vector<ir::Kernel>& kernels = backend.rules[rule].kernels;
    const bool has_meaning = std::any_of(kernels.begin(), kernels.end(),
                                         [](const ir::Kernel& kernel) { return kernel.lowering.meaning.has_value(); });
    if (has_meaning && !LoweringTest(backend, test, diags).run(graph, static_cast<int>(rule), nodes)) return false;
  }
  return true;
}

}  // namespace collage::rules_tool
