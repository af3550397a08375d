// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/rules/functions.h"
#include "compiler/match/attribute_value.h"
#include "compiler/match/functions/functions.h"
#include "runtime/core/joined.h"
#include "runtime/support/visible.h"

namespace collage::match {

using ir::Expr;
using ir::ExprOp;
using ExprKind = Expr::Kind;

std::vector<ValueId> values_of(const Graph& graph, const ir::Capture& capture, const Binding& binding) {
  if (!binding.is_present()) return {};
  if (capture.first_operand < 0) return {binding.value};
  std::vector<ValueId> values;
  const std::vector<ValueId>& inputs = graph.node(binding.node).inputs;
  for (size_t i = static_cast<size_t>(capture.first_operand); i < inputs.size(); ++i) {
    if (inputs[i].is_valid()) values.push_back(inputs[i]);
  }
  return values;
}

Evaluated failed(std::string why) {
  return {std::nullopt, std::move(why)};
}
Evaluated number(Number n) {
  return {EvalValue(n), ""};
}
Evaluated boolean(bool b) {
  return {EvalValue(b), ""};
}

std::vector<Number> elements_of(const ir::Tensor& tensor) {
  std::vector<Number> elements;
  elements.reserve(static_cast<size_t>(tensor.count()));
  runtime::TensorView view = tensor.view();
  const bool is_whole = !runtime::is_float(tensor.dtype());
  for (int64_t i = 0; i < tensor.count(); ++i) {
    elements.push_back(is_whole ? Number(runtime::element_as_int(view, i))
                                : Number(runtime::element_as_double(view, i)));
  }
  return elements;
}

Number as_number(const EvalValue& value) {
  if (const Number* n = std::get_if<Number>(&value)) return *n;
  if (const bool* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  return std::nan("");
}

bool as_bool(const EvalValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b;
  if (const Number* n = std::get_if<Number>(&value)) return *n != 0 && !n->is_nan();
  return false;
}

namespace {

EvalValue from_attribute(const runtime::AttrValue& attr) {
  struct Visitor {
    EvalValue operator()(int64_t i) const { return Number(i); }
    EvalValue operator()(double d) const { return Number(d); }
    EvalValue operator()(const std::string& s) const { return s; }
    EvalValue operator()(const runtime::Ints& ints) const { return NumberList(ints); }
    EvalValue operator()(const runtime::Floats& floats) const { return NumberList(floats); }
    EvalValue operator()(const runtime::Strings&) const { return Binding{}; }
    EvalValue operator()(const ir::Tensor& tensor) const { return NumberList(elements_of(tensor)); }
  };
  return std::visit(Visitor(), attr);
}

bool equal(const EvalValue& a, const EvalValue& b) {
  // A number and a truth value only meet where sema lets 0 and 1 stand for one.
  bool mixed = a.index() != b.index() && a.index() < 2 && b.index() < 2;
  if (mixed) return as_number(a) == as_number(b);
  return a == b;
}

class Evaluator {
 public:
  explicit Evaluator(const EvalContext& context) : context_(context) {}

  Evaluated eval(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Number: return expr.whole ? number(*expr.whole) : number(expr.number);
      case ExprKind::String: return {EvalValue(expr.text), ""};
      case ExprKind::DType: return {EvalValue(expr.dtype), ""};
      case ExprKind::Bool: return boolean(expr.number != 0);
      case ExprKind::Capture: return {EvalValue(binding(expr)), ""};
      case ExprKind::Attribute: return attribute(expr);
      case ExprKind::BackendAttr: return backend_attribute(expr);
      case ExprKind::Quantity: return quantity(expr);
      case ExprKind::BackendVersion: return number(context_.backend.version);
      case ExprKind::LibraryVersion: return library_version();
      case ExprKind::Knob: return knob(expr);
      case ExprKind::Unary: return unary(expr);
      case ExprKind::Binary: return binary(expr);
      case ExprKind::List: return list(expr);
      case ExprKind::Call: return call(expr);
      case ExprKind::If: {
        Evaluated condition = eval(expr.args.at(0));
        return condition ? eval(expr.args.at(as_bool(*condition.value) ? 1 : 2)) : condition;
      }
      case ExprKind::OrElse: {
        Evaluated value = eval(expr.args.at(0));
        return value ? value : eval(expr.args.at(1));
      }
    }
    return failed("unknown expression");
  }

 private:
  Binding binding(const Expr& expr) const {
    auto at = static_cast<size_t>(expr.capture);
    return expr.capture >= 0 && at < context_.bindings.size() ? context_.bindings[at] : Binding{};
  }

  Evaluated attribute(const Expr& expr) {
    Binding node = binding(expr.args.at(0));
    if (!node.is_present()) return number(0);
    if (!node.node.is_valid()) return failed(fmt::format("`%{}` is not a node", context_.graph.value(node.value).name));
    auto value = attribute_or_default(context_.graph, node.node, expr.text);
    if (value) return {from_attribute(*value), ""};
    return failed(fmt::format("`{}` has no attribute `{}`", context_.graph.node(node.node).op->name, expr.text));
  }

  Evaluated backend_attribute(const Expr& expr) {
    if (auto set = context_.attrs.find(expr.text); set != context_.attrs.end())
      return {from_attribute(set->second), ""};
    if (const ir::AttrDecl* decl = context_.backend.find_attr(expr.text)) return {from_attribute(decl->fallback), ""};
    return failed(fmt::format("backend `{}` has no attribute `{}`", context_.backend.name, expr.text));
  }

  Evaluated quantity(const Expr& expr) {
    if (context_.quantities == nullptr) return failed(fmt::format("`{}` is not known here", expr.text));
    static constexpr double Quantities::*members[] = {
#define QUANTITY(name, ...) &Quantities::name,
#include "compiler/ir/rules/quantities.def"
#undef QUANTITY
    };
    return number(context_.quantities->*members[static_cast<size_t>(expr.quantity)]);
  }

  Evaluated library_version() {
    if (context_.environment == nullptr) return failed("the library's version is not known here");
    auto found = context_.environment->libraries.find(context_.backend.library);
    if (found == context_.environment->libraries.end())
      return failed(fmt::format("backend `{}` runs no library of this build", context_.backend.name));
    return {EvalValue(found->second.substr(0, found->second.find(' '))), ""};
  }

  Evaluated knob(const Expr& expr) {
    if (context_.knobs == nullptr) return failed(fmt::format("knob `{}` is not known here", expr.text));
    auto found = context_.knobs->find(expr.text);
    if (found == context_.knobs->end()) return failed(fmt::format("there is no knob `{}`", expr.text));
    return {from_attribute(found->second), ""};
  }

  Evaluated unary(const Expr& expr) {
    Evaluated operand = eval(expr.args.at(0));
    if (!operand) return operand;
    bool is_minus = expr.op == ExprOp::Negate;
    auto* list = std::get_if<NumberList>(&*operand.value);
    if (list == nullptr && !is_minus) return boolean(!as_bool(*operand.value));
    NumberList one(std::vector<Number>(1, as_number(*operand.value)));
    for (Number& item : (list != nullptr ? *list : one).items) {
      const std::optional<Number> result = is_minus ? negated(item) : Number(item == 0 ? 1 : 0);
      if (!result) return failed(fmt::format("`-({})` does not fit 64 bits", to_text(item)));
      item = *result;
    }
    return list != nullptr ? operand : number(one.items[0]);
  }

  Evaluated binary(const Expr& expr) {
    Evaluated left = eval(expr.args.at(0));
    if (!left) return left;
    bool is_list = std::holds_alternative<NumberList>(*left.value);
    if (expr.op == ExprOp::And && !is_list && !as_bool(*left.value)) return boolean(false);
    if (expr.op == ExprOp::Or && !is_list && as_bool(*left.value)) return boolean(true);
    if (expr.op == ExprOp::In && is_list && expr.type == ir::ExprType::Bools)
      return each_in(*left.value, expr.args.at(1));
    if (expr.op == ExprOp::In && expr.args.at(1).kind == ExprKind::List) return is_in(*left.value, expr.args[1]);
    Evaluated right = eval(expr.args.at(1));
    if (!right) return right;
    bool is_each = expr.type == ir::ExprType::Bools || expr.type == ir::ExprType::Numbers;
    if (is_each && (is_list || std::holds_alternative<NumberList>(*right.value))) {
      return on_lists(expr, *left.value, *right.value);
    }
    return on_single(expr, *left.value, *right.value);
  }

  static Evaluated on_single(const Expr& expr, const EvalValue& left, const EvalValue& right) {
    switch (expr.op) {
      case ExprOp::And:
      case ExprOp::Or: return boolean(as_bool(right));  // the left side has not decided
      case ExprOp::Equal: return boolean(equal(left, right));
      case ExprOp::NotEqual: return boolean(!equal(left, right));
      case ExprOp::In: return is_in(left, right);
      default: break;
    }
    const Number a = as_number(left), b = as_number(right);
    const std::optional<Number> result = number_operator(expr.op)(a, b);
    if (!result) return failed(why_no_value(expr.op, a, b));
    return expr.type == ir::ExprType::Bool ? boolean(*result != 0) : number(*result);
  }

  static Evaluated on_lists(const Expr& expr, const EvalValue& left, const EvalValue& right) {
    auto as_list = [](const EvalValue& value) {
      const auto* list = std::get_if<NumberList>(&value);
      return list != nullptr ? *list : NumberList(std::vector<Number>(1, as_number(value)));
    };
    if (number_operator(expr.op) == nullptr)
      return failed(fmt::format("`{}` does not go with lists", ir::spelling_of(expr.op)));
    auto result = combine(as_list(left), as_list(right), expr.op);
    if (!result) return failed(result.message());
    return {EvalValue(std::move(*result)), ""};
  }

  Evaluated each_in(const EvalValue& value, const Expr& items) {
    NumberList list = std::get<NumberList>(value);
    std::vector<Number> wanted;
    for (const Expr& item : items.args) {
      Evaluated candidate = eval(item);
      if (!candidate) return candidate;
      wanted.push_back(as_number(*candidate.value));
    }
    for (Number& item : list.items) item = std::find(wanted.begin(), wanted.end(), item) != wanted.end() ? 1 : 0;
    return {EvalValue(std::move(list)), ""};
  }

  Evaluated is_in(const EvalValue& value, const Expr& items) {
    for (const Expr& item : items.args) {
      Evaluated candidate = eval(item);
      if (!candidate) return candidate;
      if (equal(value, *candidate.value)) return boolean(true);
    }
    return boolean(false);
  }

  static Evaluated is_in(const EvalValue& value, const EvalValue& items) {
    const auto* list = std::get_if<NumberList>(&items);
    if (list == nullptr) return failed("`in` needs a list");
    return boolean(std::find(list->items.begin(), list->items.end(), as_number(value)) != list->items.end());
  }

  Evaluated list(const Expr& expr) {
    std::vector<Number> numbers;
    for (const Expr& item : expr.args) {
      Evaluated element = eval(item);
      if (!element) return element;
      numbers.push_back(as_number(*element.value));
    }
    return {EvalValue(NumberList(std::move(numbers))), ""};
  }

  Evaluated call(const Expr& expr) {
    std::vector<EvalValue> args;
    args.reserve(expr.args.size());
    for (const Expr& arg : expr.args) {
      Evaluated value = eval(arg);
      if (!value) return value;
      args.push_back(std::move(*value.value));
    }
    if (args.empty()) return failed(fmt::format("`{}` has no arguments", ir::function_def(expr.function).name));
    return evaluator_of(expr.function)({expr, context_, args});
  }

  const EvalContext& context_;
};

}  // namespace

Quantities quantities_of(const Graph& graph, const std::vector<NodeId>& nodes, const ir::Backend* backend) {
  Quantities q;
  q.ops = static_cast<double>(nodes.size());
  std::set<ValueId> touched;
  for (NodeId id : nodes) {
    ir::Work work = ir::work_of(graph, id);
    q.macs += work.macs;
    q.flops += work.flops;
    for (ValueId input : graph.node(id).inputs) {
      if (!input.is_valid()) continue;
      NodeId producer = graph.value(input).producer;
      bool is_inside = producer.is_valid() && std::binary_search(nodes.begin(), nodes.end(), producer);
      if (!is_inside) touched.insert(input);
    }
  }
  for (ValueId output : ir::boundary_outputs(graph, nodes)) touched.insert(output);
  for (ValueId value : touched) q.bytes += static_cast<double>(graph.value(value).type.bytes());
  if (backend != nullptr && backend->scratch_bytes()) {
    q.scratch = *backend->scratch_bytes();
    q.tiles = std::max(1.0, std::ceil(q.bytes / q.scratch));
  }
  return q;
}

Evaluated evaluate(const Expr& expr, const EvalContext& context) {
  Evaluated result = Evaluator(context).eval(expr);
  const Binding* captured = result ? std::get_if<Binding>(&*result.value) : nullptr;
  if (captured != nullptr && captured->is_present()) {
    // Only a message shows a capture itself.
    return {EvalValue("%" + context.graph.value(captured->value).name), ""};
  }
  if (captured != nullptr) return failed("absent");
  return result;
}

std::string to_text(const EvalValue& value, ir::Unit unit) {
  struct Visitor {
    ir::Unit unit;
    std::string operator()(const Number& n) const {
      if (unit == ir::Unit::Time) return runtime::human(ir::Duration::seconds(n.real()));
      if (unit == ir::Unit::Bytes) return to_text(n) + " B";
      if (unit == ir::Unit::Energy) return to_text(n) + " J";
      if (unit == ir::Unit::Power) return to_text(n) + " W";
      if (unit == ir::Unit::Rate) return to_text(n) + " B/s";
      return to_text(n);
    }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(DType dtype) const { return std::string(runtime::name_of(dtype)); }
    std::string operator()(const NumberList& list) const {
      constexpr size_t kMaxShown = 16;
      std::string text;
      for (size_t i = 0; i < std::min(list.items.size(), kMaxShown); ++i)
        runtime::add_to_list(text, to_text(list.items[i]));
      if (list.items.size() > kMaxShown) text += fmt::format(", … {} more", list.items.size() - kMaxShown);
      return "[" + text + "]";
    }
    std::string operator()(const Binding&) const { return "?"; }
  };
  return std::visit(Visitor{unit}, value);
}

std::string render(const std::vector<std::variant<std::string, Expr>>& pieces, const EvalContext& context) {
  std::string message;
  for (const auto& piece : pieces) {
    if (const std::string* text = std::get_if<std::string>(&piece)) {
      message += *text;
      continue;
    }
    const Expr& expr = std::get<Expr>(piece);
    Evaluated value = evaluate(expr, context);
    message += value ? to_text(*value.value, expr.unit) : "?";
  }
  return support::masked(message);
}

bool mentions_absent(const Expr& expr, const EvalContext& context) {
  std::span<const Binding> bindings = context.bindings;
  if (expr.kind == ExprKind::Call && expr.function == ir::FunctionId::present) return false;
  if (expr.kind == ExprKind::LibraryVersion) return context.environment == nullptr;
  if (expr.kind == ExprKind::Capture && expr.capture >= 0)
    return !bindings[static_cast<size_t>(expr.capture)].is_present();
  if (expr.kind == ExprKind::If && !mentions_absent(expr.args.at(0), context)) {
    const Evaluated condition = evaluate(expr.args[0], context);
    if (condition) return mentions_absent(expr.args.at(as_bool(*condition.value) ? 1 : 2), context);
  }
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return mentions_absent(arg, context); });
}

namespace {

/// What a condition is whatever the absent captures were; nullopt where that depends on them, or it has no value.
std::optional<bool> decided(const Expr& expr, const EvalContext& context) {
  if (!mentions_absent(expr, context)) {
    const Evaluated value = evaluate(expr, context);
    return value ? std::optional(as_bool(*value.value)) : std::nullopt;
  }
  if (expr.type != ir::ExprType::Bool) return std::nullopt;
  if (expr.kind == ExprKind::Unary && expr.op == ExprOp::Not) {
    const std::optional<bool> operand = decided(expr.args.at(0), context);
    return operand ? std::optional(!*operand) : std::nullopt;
  }
  if (expr.kind == ExprKind::If) {
    const std::optional<bool> condition = decided(expr.args.at(0), context);
    if (condition) return decided(expr.args.at(*condition ? 1 : 2), context);
    const std::optional<bool> yes = decided(expr.args.at(1), context);
    const std::optional<bool> no = decided(expr.args.at(2), context);
    return yes == no ? yes : std::nullopt;
  }
  if (expr.kind != ExprKind::Binary || (expr.op != ExprOp::And && expr.op != ExprOp::Or)) return std::nullopt;
  const bool deciding = expr.op == ExprOp::Or;  // one operand of this value decides
  const std::optional<bool> left = decided(expr.args.at(0), context);
  const std::optional<bool> right = left == deciding ? left : decided(expr.args.at(1), context);
  if (left == deciding || right == deciding) return deciding;
  return left && right ? std::optional(!deciding) : std::nullopt;
}

}  // namespace

runtime::Status clause_holds(const ir::Clause& clause, const EvalContext& context) {
  using runtime::Status;
  const bool depends_on_absent = !clause.is_workspace && mentions_absent(clause.condition, context);
  if (depends_on_absent && decided(clause.condition, context).value_or(true)) return Status::ok();
  Evaluated condition = evaluate(clause.condition, context);
  if (!depends_on_absent && condition && as_bool(*condition.value)) return Status::ok();
  std::string message = render(clause.reason, context);
  if (message.empty()) message = clause.source.empty() ? "a condition does not hold" : clause.source;
  if (!depends_on_absent && !condition) message += " (" + condition.why + ")";
  return Status::error(std::move(message));
}

runtime::Result<double> evaluate_cost(const Expr& expr, const EvalContext& context) {
  using runtime::Status;
  Evaluated cost = evaluate(expr, context);
  if (!cost) return Status::error("its cost is unknown: " + cost.why);
  // Sums of such costs would not fit a Duration.
  constexpr double kMostSeconds = 1e5;
  double seconds = as_number(*cost.value).real();
  if (seconds >= 0 && seconds <= kMostSeconds) return seconds;
  if (std::isnan(seconds)) return Status::error("its cost is not a number");
  if (std::isinf(seconds)) return Status::error("its cost is infinite");
  if (seconds > 0) return Status::error(fmt::format("its cost of {:.6g} s is above {:.0f} s", seconds, kMostSeconds));
  return Status::error(fmt::format("its cost is negative: {}", runtime::human(ir::Duration::seconds(seconds))));
}

}  // namespace collage::match
