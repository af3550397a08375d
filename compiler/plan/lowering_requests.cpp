// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/lowering_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/match/lowering_misfit.h"
#include "runtime/core/joined.h"
#include "runtime/encodings/encodings.h"
#include "runtime/support/check.h"

namespace collage::plan {
namespace {

using ir::NodeId;

/// An integer, and a double without fraction as far as doubles are exact.
bool is_whole(const ir::Number& number) {
  return number.is_whole() || (number.real() == std::floor(number.real()) && std::abs(number.real()) < 0x1p53);
}

/// Numbers that are whole become integers.
runtime::AttrValue to_attribute(const match::EvalValue& value) {
  struct Visitor {
    runtime::AttrValue operator()(const ir::Number& number) const {
      if (is_whole(number)) return *ir::to_whole(number);
      return number.real();
    }
    runtime::AttrValue operator()(bool truth) const { return int64_t{truth}; }
    runtime::AttrValue operator()(const std::string& text) const { return text; }
    runtime::AttrValue operator()(runtime::DType dtype) const { return std::string(name_of(dtype)); }
    runtime::AttrValue operator()(const match::NumberList& list) const {
      if (std::all_of(list.items.begin(), list.items.end(), is_whole)) {
        runtime::Ints ints;
        for (const ir::Number& number : list.items) ints.push_back(*ir::to_whole(number));
        return ints;
      }
      runtime::Floats floats;
      for (const ir::Number& number : list.items) floats.push_back(number.real());
      return floats;
    }
    runtime::AttrValue operator()(const match::Binding&) const { return std::string(); }
  };
  return std::visit(Visitor(), value);
}

}  // namespace

std::string to_string(const ir::Graph& graph, const LoweringRequest& request) {
  std::string args;
  for (const RequestArg& arg : request.args) {
    std::string text = arg.value.is_valid() ? "%" + graph.value(arg.value).name : runtime::to_string(arg.attr);
    if (!arg.encoding.empty()) text = fmt::format("encode({}, \"{}\")", text, arg.encoding);
    runtime::add_to_list(args, arg.name + " = " + text);
  }
  std::string results;
  for (ir::ValueId result : request.results) results += (results.empty() ? " -> %" : ", %") + graph.value(result).name;
  const std::string precision = request.precision ? fmt::format(" in {}", runtime::name_of(*request.precision)) : "";
  return fmt::format("{} \"{}\"({}){}{}", name_of(request.kind), request.symbol, args, precision, results);
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

runtime::LoweringCall make_call(const LoweringRequest& request, std::vector<int> ops,
                                const std::function<int(ir::ValueId, const std::string& encoding)>& slot) {
  runtime::LoweringCall call{
      request.rule, std::string(name_of(request.kind)), request.symbol, {}, std::move(ops), {}, request.precision};
  for (const RequestArg& arg : request.args) {
    call.args.push_back({arg.name, arg.value.is_valid() ? slot(arg.value, arg.encoding) : -1, arg.attr});
  }
  for (ir::ValueId result : request.results) call.results.push_back(slot(result, ""));
  return call;
}

std::vector<int> places_of(const LoweringRequest& request, const std::vector<NodeId>& nodes) {
  std::vector<int> places;
  for (NodeId node : request.nodes) {
    auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
    places.push_back(static_cast<int>(at - nodes.begin()));
  }
  return places;
}

bool loses_precision(const LoweringRequest& request) {
  return request.precision || std::any_of(request.args.begin(), request.args.end(), [](const RequestArg& arg) {
           return arg.name == "round" || (!arg.encoding.empty() && runtime::is_lossy(arg.encoding));
         });
}

double tolerance_of(const LoweringRequest& request) {
  constexpr double kRoundings = 4;
  constexpr double kBf16 = 0x1p-8, kF16 = 0x1p-11;  // half a unit of the last bit
  if (!request.precision) return loses_precision(request) ? kRoundings * kBf16 : 0;
  const double one = *request.precision == ir::Precision::F16 ? kF16 : kBf16;
  return kRoundings * one * std::sqrt(static_cast<double>(std::max<size_t>(1, request.nodes.size())));
}

namespace {

/// Gives the arguments of `lower` their values.
class Requester {
 public:
  Requester(const ir::Graph& graph, const BackendTarget& backend, const ir::ChosenMatch& match,
            support::Diagnostics& diags)
      : graph_(graph),
        backend_(backend),
        match_(match),
        rule_(backend.rules->rules[static_cast<size_t>(match.rule)]),
        quantities_(match::quantities_of(graph, match.nodes, backend.rules.get())),
        diags_(diags) {
    quantities_.launch = backend.rules->policy.launch.seconds();
  }

  std::optional<LoweringRequest> run() {
    const ir::Lowering& lowering = rule_.kernels[static_cast<size_t>(match_.kernel)].lowering;
    LoweringRequest made{match_.name,  lowering.kind,  lowering.symbol, {},
                         match_.nodes, match_.results, lowering.span,   rule_.precision};
    for (const ir::LoweringArg& arg : lowering.args) {
      const bool is_absent = arg.capture >= 0 ? !bound(arg).is_valid() : match::mentions_absent(*arg.value, context());
      if (is_absent) continue;
      if (arg.capture >= 0 && rule_.captures[static_cast<size_t>(arg.capture)].type == ir::ExprType::Values) {
        add_operands(arg, &made);
        continue;
      }
      std::optional<RequestArg> built = arg.capture >= 0 ? operand(arg, lowering) : attribute(arg);
      if (!built) return std::nullopt;
      made.args.push_back(std::move(*built));
    }
    if (lowering.meaning && !interpret(lowering, &made)) return std::nullopt;
    return made;
  }

 private:
  match::EvalContext context() const {
    return {graph_,        *backend_.rules,           backend_.attrs, match_.bindings, &quantities_,
            &match_.knobs, backend_.environment.get()};
  }

  ir::ValueId bound(const ir::LoweringArg& arg) const {
    return match_.bindings[static_cast<size_t>(arg.capture)].value;
  }

  /// The last node of a match is its root: of the rules with `semantics` only one result is wanted.
  bool interpret(const ir::Lowering& lowering, LoweringRequest* made) {
    runtime::Result<match::BuiltTemplate> meaning = match::meaning_of(rule_, lowering, context(), match_.nodes.back());
    if (!meaning) {
      return diags_.error(support::Code::LoweringFailed, lowering.span, "rule `{}`: {}", match_.name,
                          meaning.message());
    }
    made->meaning = std::move(*meaning);
    return true;
  }

  /// `parts` => `parts[0]`, `parts[1]`, …
  void add_operands(const ir::LoweringArg& arg, LoweringRequest* made) {
    const auto at = static_cast<size_t>(arg.capture);
    size_t index = 0;
    for (ir::ValueId value : match::values_of(graph_, rule_.captures[at], match_.bindings[at]))
      made->args.push_back({fmt::format("{}[{}]", arg.name, index++), value, int64_t{0}, ""});
  }

  std::optional<RequestArg> operand(const ir::LoweringArg& arg, const ir::Lowering& lowering) {
    const ir::Value& value = graph_.value(bound(arg));
    if (arg.encoding.empty() || value.is_constant()) return RequestArg{arg.name, bound(arg), int64_t{0}, arg.encoding};
    diags_
        .error(support::Code::LoweringFailed, lowering.span, "rule `{}`: `%{}` is no constant to encode", rule_.name,
               value.name)
        .note("`{}: const` in the pattern keeps others away", arg.name);
    return std::nullopt;
  }

  std::optional<RequestArg> attribute(const ir::LoweringArg& arg) {
    match::Evaluated value = match::evaluate(*arg.value, context());
    if (value) return RequestArg{arg.name, {}, to_attribute(*value.value), arg.encoding};
    diags_.error(support::Code::LoweringFailed, arg.value->span, "rule `{}`: `{}` has no value: {}", match_.name,
                 arg.name, value.why);
    return std::nullopt;
  }

  const ir::Graph& graph_;
  const BackendTarget& backend_;
  const ir::ChosenMatch& match_;
  const ir::Rule& rule_;
  match::Quantities quantities_;
  support::Diagnostics& diags_;
};

}  // namespace

std::optional<std::vector<LoweringRequest>> requests_of(const ir::Graph& graph, const PlanTargets& targets,
                                                        const ir::Partition& partition, support::Diagnostics& diags) {
  std::vector<LoweringRequest> requests;
  const BackendTarget* backend = targets.find_backend(partition.backend);
  if (backend == nullptr || !backend->rules) return requests;
  for (const ir::ChosenMatch& match : partition.matches) {
    COLLAGE_CHECK(match.is_found(), "rule `{}` of partition {} was not matched", match.name, partition.name);
    std::optional<LoweringRequest> made = Requester(graph, *backend, match, diags).run();
    if (!made) return std::nullopt;
    requests.push_back(std::move(*made));
  }
  return requests;
}

}  // namespace collage::plan
