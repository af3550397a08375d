// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lowering_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/encodings/encodings.h"

namespace collage::plan {
namespace {

using ir::NodeId;
using match::Match;

constexpr int kMostSteps = 20'000;

/// Depth-first: takes a match that holds the smallest node left.
class Cover {
 public:
  Cover(const std::vector<Match>& matches, const ir::Backend& backend, const std::vector<std::string>& rules,
        const std::vector<NodeId>& nodes)
      : nodes_(nodes), taken_(nodes.size(), false), by_node_(nodes.size()) {
    for (const std::string& rule : rules) ++left_[rule];
    for (const Match& match : matches) {
      std::string rule = match::name_of(backend.rules[static_cast<size_t>(match.rule)], match);
      if (left_.count(rule) == 0) continue;
      if (!std::includes(nodes.begin(), nodes.end(), match.nodes.begin(), match.nodes.end())) continue;
      by_node_[slot(match.nodes.front())].push_back({&match, rule});
    }
  }

  std::vector<const Match*> run() {
    if (!extend(0)) chosen_.clear();
    return std::move(chosen_);
  }

 private:
  struct Choice {
    const Match* match;
    std::string rule;
  };

  size_t slot(NodeId node) const {
    return static_cast<size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), node) - nodes_.begin());
  }

  void mark(const Match& match, bool taken) {
    for (NodeId node : match.nodes) taken_[slot(node)] = taken;
  }

  bool extend(size_t first) {
    while (first < nodes_.size() && taken_[first]) ++first;
    if (first == nodes_.size()) {
      return std::all_of(left_.begin(), left_.end(), [](const auto& rule) { return rule.second == 0; });
    }
    for (const Choice& choice : by_node_[first]) {  // the smallest node left is the first of its match
      if (++steps_ > kMostSteps) return false;
      const std::vector<NodeId>& nodes = choice.match->nodes;
      bool is_free = std::none_of(nodes.begin(), nodes.end(), [&](NodeId node) { return taken_[slot(node)]; });
      if (!is_free || left_[choice.rule] == 0) continue;
      --left_[choice.rule];
      mark(*choice.match, true);
      chosen_.push_back(choice.match);
      if (extend(first + 1)) return true;
      chosen_.pop_back();
      mark(*choice.match, false);
      ++left_[choice.rule];
    }
    return false;
  }

  const std::vector<NodeId>& nodes_;
  std::vector<bool> taken_;
  std::vector<std::vector<Choice>> by_node_;
  std::map<std::string, int> left_;
  std::vector<const Match*> chosen_;
  int steps_ = 0;
};

bool is_whole(double number) {
  return number == std::floor(number) && std::abs(number) < 0x1p53;
}

/// Numbers that are whole become integers.
runtime::AttrValue to_attribute(const match::EvalValue& value) {
  struct Visitor {
    runtime::AttrValue operator()(double number) const {
      if (is_whole(number)) return static_cast<int64_t>(number);
      return number;
    }
    runtime::AttrValue operator()(bool truth) const { return int64_t{truth}; }
    runtime::AttrValue operator()(const std::string& text) const { return text; }
    runtime::AttrValue operator()(runtime::DType dtype) const { return std::string(name_of(dtype)); }
    runtime::AttrValue operator()(const match::NumberList& list) const {
      if (!std::all_of(list.items.begin(), list.items.end(), is_whole)) return runtime::Floats(list.items);
      return runtime::Ints(list.items.begin(), list.items.end());
    }
    runtime::AttrValue operator()(const match::Binding&) const { return std::string(); }
  };
  return std::visit(Visitor(), value);
}

bool mentions_absent(const ir::Expr& expr, const std::vector<match::Binding>& bindings) {
  if (expr.kind == ir::Expr::Kind::Capture && expr.capture >= 0)
    return !bindings[static_cast<size_t>(expr.capture)].is_present();
  if (expr.kind == ir::Expr::Kind::Call && expr.text == "present") return false;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const ir::Expr& arg) { return mentions_absent(arg, bindings); });
}

}  // namespace

std::string to_string(const ir::Graph& graph, const LoweringRequest& request) {
  std::string args;
  for (const RequestArg& arg : request.args) {
    std::string text = arg.value.is_valid() ? "%" + graph.value(arg.value).name : runtime::to_string(arg.attr);
    if (!arg.encoding.empty()) text = fmt::format("encode({}, \"{}\")", text, arg.encoding);
    args += fmt::format("{}{} = {}", args.empty() ? "" : ", ", arg.name, text);
  }
  std::string results;
  for (ir::ValueId result : request.results) results += (results.empty() ? " -> %" : ", %") + graph.value(result).name;
  return fmt::format("{} \"{}\"({}){}", name_of(request.kind), request.symbol, args, results);
}

std::string encoding_of(const std::vector<LoweringRequest>& requests, NodeId node, ir::ValueId value) {
  for (const LoweringRequest& request : requests) {
    if (!std::binary_search(request.nodes.begin(), request.nodes.end(), node)) continue;
    for (const RequestArg& arg : request.args) {
      if (arg.value == value && !arg.encoding.empty()) return arg.encoding;
    }
  }
  return "";
}

runtime::LoweringCall make_call(const LoweringRequest& request, const std::vector<NodeId>& nodes,
                                const std::function<int(ir::ValueId, const std::string& encoding)>& slot) {
  runtime::LoweringCall call{request.rule, std::string(name_of(request.kind)), request.symbol, {}, {}, {}};
  for (const RequestArg& arg : request.args) {
    call.args.push_back({arg.name, arg.value.is_valid() ? slot(arg.value, arg.encoding) : -1, arg.attr});
  }
  for (NodeId node : request.nodes) {
    auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
    call.ops.push_back(static_cast<int>(at - nodes.begin()));
  }
  for (ir::ValueId result : request.results) call.results.push_back(slot(result, ""));
  return call;
}

bool loses_precision(const LoweringRequest& request) {
  return std::any_of(request.args.begin(), request.args.end(), [](const RequestArg& arg) {
    return arg.name == "round" || (!arg.encoding.empty() && runtime::is_lossy(arg.encoding));
  });
}

std::vector<const Match*> cover(const std::vector<Match>& matches, const ir::Backend& backend,
                                const std::vector<std::string>& rules, const std::vector<NodeId>& nodes) {
  return Cover(matches, backend, rules, nodes).run();
}

const std::vector<Match>& RequestFinder::matches_of(const BackendTarget& backend) {
  auto [at, is_new] = by_backend_.try_emplace(backend.name);
  if (is_new)
    at->second = match::match_backend(graph_, *backend.rules, backend.attrs, nullptr, {}, backend.environment.get());
  return at->second;
}

std::optional<LoweringRequest> RequestFinder::request(const BackendTarget& backend, const Match& match) {
  const ir::Rule& rule = backend.rules->rules[static_cast<size_t>(match.rule)];
  const ir::Lowering& lowering = rule.kernels[static_cast<size_t>(match.kernel)].lowering;
  std::string name = match::name_of(rule, match);
  LoweringRequest made{name, lowering.kind, lowering.symbol, {}, match.nodes, match.results, lowering.span};
  match::Quantities quantities = match::quantities_of(graph_, match.nodes);
  quantities.launch = backend.rules->policy.launch.seconds();
  match::EvalContext context{graph_,       *backend.rules,           backend.attrs, match.bindings, &quantities,
                             &match.knobs, backend.environment.get()};
  for (const ir::LoweringArg& arg : lowering.args) {
    RequestArg built{arg.name, {}, int64_t{0}, arg.encoding};
    if (arg.capture >= 0) {
      built.value = match.bindings[static_cast<size_t>(arg.capture)].value;
      if (!built.value.is_valid()) continue;
      if (!arg.encoding.empty() && !graph_.value(built.value).is_constant()) {
        diags_
            .error(support::Code::LoweringFailed, lowering.span, "rule `{}`: `%{}` is no constant to encode", rule.name,
                   graph_.value(built.value).name)
            .note("`{}: const` in the pattern keeps others away", arg.name);
        return std::nullopt;
      }
    } else {
      if (mentions_absent(*arg.value, match.bindings)) continue;
      match::Evaluated value = match::evaluate(*arg.value, context);
      if (!value) {
        diags_.error(support::Code::LoweringFailed, arg.value->span, "rule `{}`: `{}` has no value: {}", name, arg.name,
                     value.why);
        return std::nullopt;
      }
      built.attr = to_attribute(*value.value);
    }
    made.args.push_back(std::move(built));
  }
  return made;
}

std::optional<std::vector<LoweringRequest>> RequestFinder::of(const ir::Partition& partition) {
  std::vector<LoweringRequest> requests;
  const BackendTarget* backend = targets_.find_backend(partition.backend);
  if (backend == nullptr || !backend->rules || partition.rules.empty()) return requests;
  for (const Match* match : cover(matches_of(*backend), *backend->rules, partition.rules, partition.nodes)) {
    std::optional<LoweringRequest> made = request(*backend, *match);
    if (!made) return std::nullopt;
    requests.push_back(std::move(*made));
  }
  return requests;
}

}  // namespace collage::plan
