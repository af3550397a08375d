// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/match/instantiate.h"

namespace collage::match {
namespace {

using ir::TemplateOperand;
using ir::TensorType;
using runtime::Status;
using OperandKind = TemplateOperand::Kind;

/// A match that will be rewritten: what goes, and the operators that come.
struct Application {
  NodeId root;
  std::vector<Binding> bindings;
  std::vector<NodeId> removed;  ///< ascending
  BuiltTemplate built;
  ValueId renamed;  ///< takes over the name of the result, a model output; invalid: nothing does
};

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

/// One rewrite on one graph. `sweep` applies all matches that do not overlap.
class Rewriting {
 public:
  Rewriting(Graph& graph, const ir::Backend& backend, const ir::Rewrite& rewrite, const AttrValues& attrs,
            RewriteReport* report, const Environment* environment)
      : graph_(graph),
        rewrite_(rewrite),
        attrs_(attrs),
        report_(report),
        environment_(environment),
        alone_(left_side_alone(backend, rewrite)) {}

  bool run() {
    bool changed = false;
    while (sweep()) changed = true;
    return changed;
  }

 private:
  bool sweep() {
    std::vector<Match> matches = match_rule(graph_, alone_, 0, attrs_, nullptr, {}, environment_);
    std::stable_sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
      return a.root != b.root ? a.root < b.root : a.nodes.size() > b.nodes.size();
    });
    claimed_.assign(graph_.node_count(), false);
    refusals_.clear();
    std::vector<Application> applications;
    for (Match& match : matches) {
      if (std::optional<Application> application = prepare(match)) applications.push_back(std::move(*application));
    }
    if (applications.empty()) {
      if (report_ != nullptr) report_->refusals = std::move(refusals_);
      return false;
    }
    if (report_ != nullptr) report_->applied += static_cast<int>(applications.size());
    emit(applications);
    return true;
  }

  std::optional<Application> prepare(Match& match) {
    for (NodeId node : match.nodes) {
      if (claimed_[node.slot()] || made_.count(graph_.node_name(node)) != 0) return std::nullopt;
    }
    Application application;
    application.root = match.root;
    application.bindings = std::move(match.bindings);
    if (Status fits = fit(match.nodes, &application); !fits) {
      if (!fits.message().empty())
        refusals_.push_back({Refusal::Kind::Inside, 0, match.root, match.nodes, -1, fits.message()});
      return std::nullopt;
    }
    for (NodeId node : match.nodes) claimed_[node.slot()] = true;
    return application;
  }

  /// Completes the application. Fails where it cannot be, without a message where the next sweep looks again.
  Status fit(const std::vector<NodeId>& nodes, Application* application) {
    if (Status named = check_results_are_named(nodes, *application); !named) return named;
    if (Status removed = find_removed(nodes, application); !removed) return removed;
    if (Status built = build(application); !built) return built;
    return take_name(application);
  }

  /// The right side stands for the first result of each operator, and for those that the left side names: `(a, b) =
  /// Split(x)`. A match by way of another one would compute something else.
  Status check_results_are_named(const std::vector<NodeId>& nodes, const Application& application) const {
    std::set<ValueId> named;
    auto collect = [&](const ir::Pattern& pattern, const auto& self) -> void {
      for (int capture : pattern.results) {
        if (capture >= 0) named.insert(application.bindings[static_cast<size_t>(capture)].value);
      }
      for (const ir::Pattern& part : pattern.operands) self(part, self);
      for (const ir::Pattern& part : pattern.choices) self(part, self);
    };
    collect(rewrite_.from.root, collect);
    for (const ir::Pattern& other : rewrite_.from.others) collect(other, collect);
    for (NodeId node : nodes) {
      const std::vector<ValueId>& outputs = graph_.node(node).outputs;
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].is_valid() || i == 0 || named.count(outputs[i]) != 0) continue;
        const auto& uses = graph_.value(outputs[i]).uses;
        bool is_read =
            outputs[i] == graph_.first_output(application.root) ||
            std::any_of(uses.begin(), uses.end(), [&](const ir::Use& use) { return contains(nodes, use.node); });
        if (!is_read) continue;
        return Status::error(fmt::format("`%{}` is result {} of its operator, which the left side does not name",
                                         graph_.value(outputs[i]).name, i + 1));
      }
    }
    return Status::ok();
  }

  /// All nodes of the match but those whose results the right side reads.
  Status find_removed(const std::vector<NodeId>& nodes, Application* application) {
    std::set<NodeId> kept;
    std::vector<NodeId> reached;
    for (size_t i = 0; i < application->bindings.size(); ++i) {
      if (!reads_capture(static_cast<int>(i))) continue;
      for (ValueId value : values_of(graph_, rewrite_.from.captures[i], application->bindings[i]))
        reached.push_back(graph_.value(value).producer);
    }
    while (!reached.empty()) {
      NodeId node = reached.back();
      reached.pop_back();
      if (!node.is_valid() || !contains(nodes, node) || !kept.insert(node).second) continue;
      for (ValueId input : graph_.node(node).inputs) {
        if (input.is_valid()) reached.push_back(graph_.value(input).producer);
      }
    }
    for (NodeId node : nodes) {
      if (kept.count(node) == 0) application->removed.push_back(node);
    }
    if (kept.count(application->root) != 0) return Status::error("the right side reads the result that it replaces");
    for (NodeId node : application->removed) {
      if (Status going = check_can_go(node, *application); !going) return going;
    }
    return Status::ok();
  }

  bool reads_capture(int capture) const {
    auto is_it = [capture](const TemplateOperand& operand) {
      return (operand.kind == OperandKind::Capture || operand.kind == OperandKind::Rest) && operand.index == capture;
    };
    if (is_it(rewrite_.to.result)) return true;
    for (const ir::TemplateChoice& choice : rewrite_.to.choices) {
      if (is_it(choice.yes) || is_it(choice.no)) return true;
    }
    return std::any_of(rewrite_.to.steps.begin(), rewrite_.to.steps.end(), [&](const ir::TemplateStep& step) {
      return std::any_of(step.operands.begin(), step.operands.end(), is_it);
    });
  }

  Status check_can_go(NodeId id, const Application& application) const {
    const ir::Node& node = graph_.node(id);
    if (node.pin) return Status::error(fmt::format("`%{}` is pinned", graph_.node_name(id)));
    for (ValueId output : node.outputs) {
      if (!output.is_valid() || output == graph_.first_output(application.root)) continue;
      const ir::Value& value = graph_.value(output);
      auto reader = std::find_if(value.uses.begin(), value.uses.end(),
                                 [&](const ir::Use& use) { return !contains(application.removed, use.node); });
      if (reader == value.uses.end() && !value.is_output) continue;
      if (value.is_output) return Status::error(fmt::format("`%{}` is a model output", value.name));
      return Status::error(fmt::format("`%{}` is also read by `%{}`", value.name, graph_.node_name(reader->node)));
    }
    return Status::ok();
  }

  Status build(Application* application) {
    const TensorType& wanted = graph_.value(graph_.first_output(application->root)).type;
    EvalContext context{graph_, alone_, attrs_, application->bindings};
    runtime::Result<BuiltTemplate> built = instantiate(rewrite_.to, rewrite_.from.captures, context, wanted.dtype);
    if (!built) return built.status();
    application->built = std::move(*built);
    if (application->built.type == wanted) return Status::ok();
    return Status::error(
        fmt::format("the right side is {}, the left side {}", to_string(application->built.type), to_string(wanted)));
  }

  /// A result that is a model output keeps its name: an operator that is there already takes it over.
  Status take_name(Application* application) {
    const ir::Value& result = graph_.value(graph_.first_output(application->root));
    if (!result.is_output || application->built.result.kind != BuiltOperand::Kind::Value) return Status::ok();
    ValueId id = application->built.result.value;
    const ir::Value& value = graph_.value(id);
    if (!value.producer.is_valid() || value.is_output) {
      return Status::error(fmt::format("the model output `%{}` would be `%{}`, which {}", result.name, value.name,
                                       value.is_output       ? "is another one"
                                       : value.is_constant() ? "is a constant"
                                                             : "is an input"));
    }
    if (claimed_[value.producer.slot()]) return Status::error("");  // the next sweep sees what becomes of it
    claimed_[value.producer.slot()] = true;
    application->renamed = id;
    return Status::ok();
  }

  /// Nodes that lose their last reader because of `applications`.
  std::vector<bool> find_bereft(const std::vector<Application>& applications, const std::vector<int>& root_of) const {
    std::vector<size_t> readers(graph_.value_count());
    for (ValueId id : graph_.value_ids()) readers[id.slot()] = graph_.value(id).uses.size();
    std::vector<bool> is_gone(graph_.node_count(), false);
    auto forget = [&](NodeId node) {
      is_gone[node.slot()] = true;
      for (ValueId input : graph_.node(node).inputs) {
        if (input.is_valid()) --readers[input.slot()];
      }
    };
    for (const Application& application : applications) {
      for (NodeId node : application.removed) forget(node);
      for (size_t i = 0; i < application.bindings.size(); ++i) {
        if (!reads_capture(static_cast<int>(i))) continue;
        for (ValueId value : values_of(graph_, rewrite_.from.captures[i], application.bindings[i]))
          ++readers[value.slot()];
      }
    }
    std::vector<bool> is_bereft(graph_.node_count(), false);
    std::vector<NodeId> ids = graph_.node_ids();
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
      const ir::Node& node = graph_.node(*id);
      if (is_gone[id->slot()] || root_of[id->slot()] >= 0 || node.pin) continue;
      bool was_read = false;
      bool is_read = false;
      for (ValueId output : node.outputs) {
        if (!output.is_valid()) continue;
        was_read = was_read || !graph_.value(output).uses.empty();
        is_read = is_read || readers[output.slot()] > 0 || graph_.value(output).is_output;
      }
      if (!was_read || is_read) continue;
      is_bereft[id->slot()] = true;
      forget(*id);
    }
    return is_bereft;
  }

  void emit(const std::vector<Application>& applications) {
    std::vector<int> root_of(graph_.node_count(), -1);
    std::vector<bool> is_removed(graph_.node_count(), false);
    ir::GraphRewriter rewriter(graph_);
    for (size_t i = 0; i < applications.size(); ++i) {
      root_of[applications[i].root.slot()] = static_cast<int>(i);
      for (NodeId node : applications[i].removed) is_removed[node.slot()] = true;
      if (!applications[i].renamed.is_valid()) continue;
      rewriter.rename(applications[i].renamed, graph_.value(graph_.first_output(applications[i].root)).name);
    }
    std::vector<bool> is_bereft = find_bereft(applications, root_of);
    for (NodeId node : graph_.node_ids()) {
      if (root_of[node.slot()] >= 0) {
        emit(applications[static_cast<size_t>(root_of[node.slot()])], rewriter);
      } else if (!is_removed[node.slot()] && !is_bereft[node.slot()]) {
        rewriter.copy(node);
      }
    }
    graph_ = rewriter.finish();
  }

  void emit(const Application& application, ir::GraphRewriter& rewriter) {
    ValueId root = graph_.first_output(application.root);
    const ir::Value& result = graph_.value(root);
    std::vector<ValueId> results;
    auto value_of = [&](const BuiltOperand& operand) -> ValueId {
      switch (operand.kind) {
        case BuiltOperand::Kind::Absent: return {};
        case BuiltOperand::Kind::Value: return rewriter.copied(operand.value);
        case BuiltOperand::Kind::Number:
          return rewriter.add_constant(result.name + ".k", scalar_constant(operand.number, result.type.dtype));
        case BuiltOperand::Kind::Step: return results[static_cast<size_t>(operand.step)];
      }
      return {};
    };
    const BuiltTemplate& to = application.built;
    for (size_t i = 0; i < to.steps.size(); ++i) {
      const BuiltStep& step = to.steps[i];
      std::vector<ValueId> inputs;
      for (const BuiltOperand& operand : step.operands) inputs.push_back(value_of(operand));
      bool is_result = to.result.kind == BuiltOperand::Kind::Step && to.result.step == static_cast<int>(i);
      std::string name = is_result ? result.name : rewriter.fresh_name(result.name);
      results.push_back(is_result ? rewriter.add_result(root, *step.op, inputs, step.attrs)
                                  : rewriter.add_node(*step.op, inputs, step.attrs, result.name, step.type));
      made_.insert(name);
    }
    if (to.result.kind == BuiltOperand::Kind::Value) rewriter.replace(root, value_of(to.result));
  }

  Graph& graph_;
  const ir::Rewrite& rewrite_;
  const AttrValues& attrs_;
  RewriteReport* report_;
  const Environment* environment_;
  ir::Backend alone_;
  std::set<std::string> made_;  ///< first results of the nodes that were made
  std::vector<bool> claimed_;
  std::vector<Refusal> refusals_;
};

}  // namespace

ir::Backend left_side_alone(const ir::Backend& backend, const ir::Rewrite& rewrite) {
  return with_patterns(backend, {rewrite.from});  // what others may read `check_can_go` decides
}

bool apply_rewrite(Graph& graph, const ir::Backend& backend, const ir::Rewrite& rewrite, const AttrValues& attrs,
                   RewriteReport* report, const Environment* environment) {
  return Rewriting(graph, backend, rewrite, attrs, report, environment).run();
}

}  // namespace collage::match
