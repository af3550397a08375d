// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/models/compare_meaning.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/lint/models/rebuild.h"
#include "compiler/lint/models/trials.h"
#include "compiler/match/lowering_misfit.h"

namespace collage::lint {
namespace {

using ir::Graph;
using ir::ValueId;
using match::BuiltOperand;

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

class MeaningRun {
 public:
  MeaningRun(const ir::Backend& backend, int rule, const std::vector<ir::NodeId>& nodes)
      : backend_(backend), rule_(backend.rules[static_cast<size_t>(rule)]), index_(rule), nodes_(nodes) {}

  std::optional<MeaningDifference> run(const Graph& graph, Constants constants) const {
    if (auto found = try_values(graph)) return found;
    if (constants == Constants::AsWritten) return std::nullopt;
    const Graph own = with_own_constants(
        graph, [&](const Graph& other) { return has_inferred_types(other) && !matches(other).empty(); });
    std::optional<MeaningDifference> found = try_values(own);
    // What does not run with other constants, such as a division by zero, says nothing.
    return found && found->runs ? found : std::nullopt;
  }

 private:
  /// Those that have the nodes and a kernel with semantics. Another result of the root would need the node itself.
  std::vector<match::Match> matches(const Graph& graph) const {
    std::vector<match::Match> all = match::match_rule(graph, backend_, index_, {}, nullptr);
    std::erase_if(all, [&](const match::Match& match) {
      return match.nodes != nodes_ || match.results.size() != 1 || !lowering_of(match).meaning;
    });
    return all;
  }

  const ir::Lowering& lowering_of(const match::Match& match) const {
    return rule_.kernels[static_cast<size_t>(match.kernel)].lowering;
  }

  std::optional<MeaningDifference> try_values(const Graph& graph) const {
    for (const Trial& trial : kTrials) {
      std::mt19937_64 random(1);
      Graph changed = graph;
      if (trial.changes_constants) change_constants(changed, trial, random);
      for (const match::Match& match : matches(changed)) {
        if (auto found = compare(changed, match, trial, random)) return found;
      }
    }
    return std::nullopt;
  }

  std::optional<MeaningDifference> compare(const Graph& graph, const match::Match& match, const Trial& trial,
                                           std::mt19937_64& random) const {
    match::Quantities quantities = match::quantities_of(graph, match.nodes, &backend_);
    quantities.launch = backend_.policy.launch.seconds();
    const match::EvalContext context{graph, backend_, {}, match.bindings, &quantities, &match.knobs, nullptr};
    const runtime::Result<match::BuiltTemplate> meaning =
        match::meaning_of(rule_, lowering_of(match), context, match.root);
    MeaningDifference found{false, match.kernel, match::name_of(rule_, match), "", trial.what};
    if (!meaning) {
      found.message = meaning.message();
      return found;
    }
    const Graph other = with_meaning(graph, match, *meaning);
    std::vector<ir::Tensor> inputs;
    for (ValueId input : graph.inputs()) inputs.push_back(random_tensor(graph.value(input).type, trial, random));
    const auto wanted = ir::evaluate_graph(graph, inputs);
    const auto got = ir::evaluate_graph(other, inputs);
    if (!wanted || !got) {
      found.message = wanted ? got.message() : wanted.message();
      return found;
    }
    found.runs = true;
    for (size_t i = 0; i < wanted->size(); ++i) {
      const int64_t at = first_difference((*wanted)[i], (*got)[i]);
      if (at < 0) continue;
      found.message =
          fmt::format("`%{}`{} is {}, and {} by what the lowering asks for", graph.value(graph.outputs()[i]).name,
                      indices((*wanted)[i].shape(), at), element_text((*wanted)[i], at), element_text((*got)[i], at));
      return found;
    }
    return std::nullopt;
  }

  const ir::Backend& backend_;
  const ir::Rule& rule_;
  int index_;
  const std::vector<ir::NodeId>& nodes_;
};

}  // namespace

std::optional<MeaningDifference> meaning_difference(const Graph& graph, const ir::Backend& backend, int rule,
                                                    const std::vector<ir::NodeId>& nodes, Constants constants) {
  const std::vector<ir::Kernel>& kernels = backend.rules[static_cast<size_t>(rule)].kernels;
  const bool has_meaning = std::any_of(kernels.begin(), kernels.end(),
                                       [](const ir::Kernel& kernel) { return kernel.lowering.meaning.has_value(); });
  return has_meaning ? MeaningRun(backend, rule, nodes).run(graph, constants) : std::nullopt;
}

}  // namespace collage::lint
