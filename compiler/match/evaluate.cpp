// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/op_def.h"
#include "compiler/match/attribute_value.h"

namespace collage::match {
namespace {

using ir::Expr;
using Kind = Expr::Kind;

Evaluated failed(std::string why) {
  return {std::nullopt, std::move(why)};
}
Evaluated number(double n) {
  return {EvalValue(n), ""};
}
Evaluated boolean(bool b) {
  return {EvalValue(b), ""};
}

double as_number(const EvalValue& value) {
  if (const double* n = std::get_if<double>(&value)) return *n;
  if (const bool* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  return std::nan("");
}

bool as_bool(const EvalValue& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b;
  if (const double* n = std::get_if<double>(&value)) return *n != 0 && !std::isnan(*n);
  return false;
}

EvalValue from_attribute(const runtime::AttrValue& attr) {
  struct Visitor {
    EvalValue operator()(int64_t i) const { return static_cast<double>(i); }
    EvalValue operator()(double d) const { return d; }
    EvalValue operator()(const std::string& s) const { return s; }
    EvalValue operator()(const runtime::Ints& ints) const { return std::vector<double>(ints.begin(), ints.end()); }
    EvalValue operator()(const runtime::Floats& floats) const { return floats; }
    EvalValue operator()(const runtime::Strings&) const { return Binding{}; }
    EvalValue operator()(const ir::Tensor& tensor) const {
      std::vector<double> elements;
      for (int64_t i = 0; i < tensor.count(); ++i) elements.push_back(runtime::element_as_double(tensor.view(), i));
      return elements;
    }
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
      case Kind::Number: return number(expr.number);
      case Kind::String: return {EvalValue(expr.text), ""};
      case Kind::DType: return {EvalValue(expr.dtype), ""};
      case Kind::Bool: return boolean(expr.number != 0);
      case Kind::Capture: return {EvalValue(binding(expr)), ""};
      case Kind::Attribute: return attribute(expr);
      case Kind::BackendAttr: return backend_attribute(expr);
      case Kind::Quantity: return quantity(expr);
      case Kind::Unary: return unary(expr);
      case Kind::Binary: return binary(expr);
      case Kind::List: return list(expr);
      case Kind::Call: return call(expr);
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
    const Quantities& q = *context_.quantities;
    if (expr.text == "ops") return number(q.ops);
    if (expr.text == "macs") return number(q.macs);
    if (expr.text == "flops") return number(q.flops);
    if (expr.text == "bytes") return number(q.bytes);
    if (expr.text == "launch") return number(q.launch);
    if (expr.text == "rules") return number(q.rules);
    return failed(fmt::format("unknown quantity `{}`", expr.text));
  }

  Evaluated unary(const Expr& expr) {
    Evaluated operand = eval(expr.args.at(0));
    if (!operand) return operand;
    if (expr.text == "-") return number(-as_number(*operand.value));
    return boolean(!as_bool(*operand.value));
  }

  Evaluated binary(const Expr& expr) {
    const std::string& op = expr.text;
    Evaluated left = eval(expr.args.at(0));
    if (!left) return left;
    if (op == "and" && !as_bool(*left.value)) return boolean(false);
    if (op == "or" && as_bool(*left.value)) return boolean(true);
    if (op == "in" && expr.args.at(1).kind == Kind::List) return is_in(*left.value, expr.args[1]);
    Evaluated right = eval(expr.args.at(1));
    if (!right) return right;
    if (op == "and" || op == "or") return boolean(as_bool(*right.value));
    if (op == "==") return boolean(equal(*left.value, *right.value));
    if (op == "!=") return boolean(!equal(*left.value, *right.value));
    if (op == "in") return is_in(*left.value, *right.value);
    double a = as_number(*left.value);
    double b = as_number(*right.value);
    if (op == "+") return number(a + b);
    if (op == "-") return number(a - b);
    if (op == "*") return number(a * b);
    if (op == "/") return number(a / b);
    if (op == "%") return number(std::fmod(a, b));
    if (op == "<") return boolean(a < b);
    if (op == "<=") return boolean(a <= b);
    if (op == ">") return boolean(a > b);
    if (op == ">=") return boolean(a >= b);
    return failed(fmt::format("unknown operator `{}`", op));
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
    const auto* numbers = std::get_if<std::vector<double>>(&items);
    if (numbers == nullptr) return failed("`in` needs a list");
    return boolean(std::find(numbers->begin(), numbers->end(), as_number(value)) != numbers->end());
  }

  Evaluated list(const Expr& expr) {
    std::vector<double> numbers;
    for (const Expr& item : expr.args) {
      Evaluated element = eval(item);
      if (!element) return element;
      numbers.push_back(as_number(*element.value));
    }
    return {EvalValue(std::move(numbers)), ""};
  }

  Evaluated call(const Expr& expr) {
    std::vector<EvalValue> args;
    for (const Expr& arg : expr.args) {
      Evaluated value = eval(arg);
      if (!value) return value;
      args.push_back(std::move(*value.value));
    }
    if (args.empty()) return failed(fmt::format("`{}` has no arguments", expr.text));
    if (const Binding* captured = std::get_if<Binding>(&args[0])) return call_on_capture(expr.text, *captured, args);
    return call_on_numbers(expr.text, args);
  }

  Evaluated call_on_capture(const std::string& name, Binding captured, const std::vector<EvalValue>& args) {
    if (name == "present") return boolean(captured.is_present());
    if (!captured.is_present()) return number(0);
    const ir::Value& value = context_.graph.value(captured.value);
    const ir::Shape& shape = value.type.shape;
    if (name == "dtype") return {EvalValue(value.type.dtype), ""};
    if (name == "rank") return number(static_cast<double>(shape.size()));
    if (name == "elems") return number(static_cast<double>(runtime::element_count(shape)));
    if (name == "bytes") return number(static_cast<double>(value.type.bytes()));
    if (name == "is_const") return boolean(value.is_constant());
    if (name == "uses") return number(static_cast<double>(value.uses.size() + (value.is_output ? 1 : 0)));
    if (name == "value") {
      if (!value.is_constant() || runtime::element_count(shape) != 1)
        return failed(fmt::format("`%{}` is no constant of one element", value.name));
      return number(runtime::element_as_double(value.constant->data.view(), 0));
    }
    if (name == "shape") return {EvalValue(std::vector<double>(shape.begin(), shape.end())), ""};
    if (name == "dim" && args.size() > 1) {
      double index = as_number(args[1]);
      auto rank = static_cast<double>(shape.size());
      double at = index < 0 ? index + rank : index;
      if (at >= 0 && at < rank) return number(static_cast<double>(shape[static_cast<size_t>(at)]));
      return failed(fmt::format("`%{}` has {} dimensions, none with index {:g}", value.name, shape.size(), index));
    }
    return failed(fmt::format("unknown function `{}`", name));
  }

  static Evaluated call_on_numbers(const std::string& name, const std::vector<EvalValue>& args) {
    double a = as_number(args[0]);
    if (name == "min" || name == "max") {
      for (const EvalValue& arg : args) {
        double b = as_number(arg);
        // std::fmin would hide a NaN.
        if (std::isnan(b)) return number(b);
        a = name == "min" ? std::min(a, b) : std::max(a, b);
      }
      return number(a);
    }
    if (const auto* numbers = std::get_if<std::vector<double>>(&args[0])) {
      if (name == "len") return number(static_cast<double>(numbers->size()));
      if (name == "at" && args.size() > 1) {
        double index = as_number(args[1]);
        double at = index < 0 ? index + static_cast<double>(numbers->size()) : index;
        if (at >= 0 && at < static_cast<double>(numbers->size())) return number((*numbers)[static_cast<size_t>(at)]);
        return failed(fmt::format("a list of {} has no element {:g}", numbers->size(), index));
      }
    }
    // A list attribute of an absent node is 0, and so is all of it.
    if (name == "len" || name == "at") return number(0);
    if (name == "pow" && args.size() > 1) return number(std::pow(a, as_number(args[1])));
    if (name == "log2") return number(std::log2(a));
    if (name == "ceil") return number(std::ceil(a));
    if (name == "floor") return number(std::floor(a));
    if (name == "abs") return number(std::abs(a));
    if (name == "sqrt") return number(std::sqrt(a));
    return failed(fmt::format("unknown function `{}`", name));
  }

  const EvalContext& context_;
};

std::string number_text(double n) {
  if (std::abs(n) < 0x1p53 && n == std::floor(n)) return std::to_string(static_cast<int64_t>(n));
  return fmt::format("{:.6g}", n);
}

/// `present(b)` asks whether a capture is there, so it does not count as a mention.
bool mentions_absent(const Expr& expr, std::span<const Binding> bindings) {
  if (expr.kind == Kind::Call && expr.text == "present") return false;
  if (expr.kind == Kind::Capture && expr.capture >= 0) return !bindings[static_cast<size_t>(expr.capture)].is_present();
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return mentions_absent(arg, bindings); });
}

}  // namespace

Quantities quantities_of(const Graph& graph, const std::vector<NodeId>& nodes) {
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
    std::string operator()(double n) const {
      if (unit == ir::Unit::Time) return runtime::human(ir::Duration::seconds(n));
      if (unit == ir::Unit::Bytes) return number_text(n) + " B";
      if (unit == ir::Unit::Rate) return number_text(n) + " B/s";
      return number_text(n);
    }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(DType dtype) const { return std::string(runtime::name_of(dtype)); }
    std::string operator()(const std::vector<double>& numbers) const {
      std::string text;
      for (double n : numbers) text += (text.empty() ? "" : ", ") + number_text(n);
      return "[" + text + "]";
    }
    std::string operator()(const Binding&) const { return "?"; }
  };
  return std::visit(Visitor{unit}, value);
}

bool clause_holds(const ir::Clause& clause, const EvalContext& context, std::string* message) {
  if (mentions_absent(clause.condition, context.bindings)) return true;
  Evaluated condition = evaluate(clause.condition, context);
  if (condition && as_bool(*condition.value)) return true;
  message->clear();
  for (const auto& piece : clause.reason) {
    if (const std::string* text = std::get_if<std::string>(&piece)) {
      *message += *text;
      continue;
    }
    const Expr& expr = std::get<Expr>(piece);
    Evaluated value = evaluate(expr, context);
    *message += value ? to_text(*value.value, expr.unit) : "?";
  }
  if (message->empty()) *message = clause.source.empty() ? "a condition does not hold" : clause.source;
  if (!condition) *message += " (" + condition.why + ")";
  return false;
}

std::optional<double> evaluate_cost(const Expr& expr, const EvalContext& context, std::string* why) {
  Evaluated cost = evaluate(expr, context);
  if (!cost) {
    *why = "its cost is unknown: " + cost.why;
    return std::nullopt;
  }
  double seconds = as_number(*cost.value);
  if (std::isfinite(seconds) && seconds >= 0) return seconds;
  *why = std::isnan(seconds) ? "its cost is not a number"
         : std::isinf(seconds)
             ? "its cost is infinite"
             : fmt::format("its cost is negative: {}", runtime::human(ir::Duration::seconds(seconds)));
  return std::nullopt;
}

}  // namespace collage::match
