// SPDX-License-Identifier: Apache-2.0
#include "compiler/match/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/cost_table.h"
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

/// A list of all elements would take more memory than an answer is worth.
constexpr int64_t kMostElements = int64_t{1} << 23;

std::vector<double> elements_of(const ir::Tensor& tensor) {
  std::vector<double> elements;
  elements.reserve(static_cast<size_t>(tensor.count()));
  runtime::TensorView view = tensor.view();
  for (int64_t i = 0; i < tensor.count(); ++i) elements.push_back(runtime::element_as_double(view, i));
  return elements;
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
    EvalValue operator()(const runtime::Ints& ints) const {
      return NumberList(std::vector<double>(ints.begin(), ints.end()));
    }
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
      case Kind::Number: return number(expr.number);
      case Kind::String: return {EvalValue(expr.text), ""};
      case Kind::DType: return {EvalValue(expr.dtype), ""};
      case Kind::Bool: return boolean(expr.number != 0);
      case Kind::Capture: return {EvalValue(binding(expr)), ""};
      case Kind::Attribute: return attribute(expr);
      case Kind::BackendAttr: return backend_attribute(expr);
      case Kind::Quantity: return quantity(expr);
      case Kind::Version: return version(expr);
      case Kind::Knob: return knob(expr);
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

  Evaluated version(const Expr& expr) {
    if (expr.text == "backend_version") return number(context_.backend.version);
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
    if (auto* list = std::get_if<NumberList>(&*operand.value)) {
      bool is_minus = expr.text == "-";
      for (double& item : list->items) item = is_minus ? -item : item == 0 ? 1 : 0;
      return operand;
    }
    if (expr.text == "-") return number(-as_number(*operand.value));
    return boolean(!as_bool(*operand.value));
  }

  Evaluated binary(const Expr& expr) {
    const std::string& op = expr.text;
    Evaluated left = eval(expr.args.at(0));
    if (!left) return left;
    bool is_list = std::holds_alternative<NumberList>(*left.value);
    if (op == "and" && !is_list && !as_bool(*left.value)) return boolean(false);
    if (op == "or" && !is_list && as_bool(*left.value)) return boolean(true);
    if (op == "in" && is_list && expr.type == ir::ExprType::Bools) return each_in(*left.value, expr.args.at(1));
    if (op == "in" && expr.args.at(1).kind == Kind::List) return is_in(*left.value, expr.args[1]);
    Evaluated right = eval(expr.args.at(1));
    if (!right) return right;
    bool is_each = expr.type == ir::ExprType::Bools || expr.type == ir::ExprType::Numbers;
    if (is_each && (is_list || std::holds_alternative<NumberList>(*right.value))) {
      return on_lists(op, *left.value, *right.value);
    }
    if (op == "and" || op == "or") return boolean(as_bool(*right.value));
    if (op == "==") return boolean(equal(*left.value, *right.value));
    if (op == "!=") return boolean(!equal(*left.value, *right.value));
    if (op == "in") return is_in(*left.value, *right.value);
    NumberOperator run = find_operator(op);
    if (run == nullptr) return failed(fmt::format("unknown operator `{}`", op));
    double result = run(as_number(*left.value), as_number(*right.value));
    return op[0] == '<' || op[0] == '>' ? boolean(result != 0) : number(result);
  }

  static Evaluated on_lists(const std::string& op, const EvalValue& left, const EvalValue& right) {
    auto as_list = [](const EvalValue& value) {
      const auto* list = std::get_if<NumberList>(&value);
      return list != nullptr ? *list : NumberList({as_number(value)});
    };
    NumberOperator run = find_operator(op);
    if (run == nullptr) return failed(fmt::format("unknown operator `{}`", op));
    std::string why;
    auto result = combine(as_list(left), as_list(right), run, &why);
    if (!result) return failed(std::move(why));
    return {EvalValue(std::move(*result)), ""};
  }

  Evaluated each_in(const EvalValue& value, const Expr& items) {
    NumberList list = std::get<NumberList>(value);
    std::vector<double> wanted;
    for (const Expr& item : items.args) {
      Evaluated candidate = eval(item);
      if (!candidate) return candidate;
      wanted.push_back(as_number(*candidate.value));
    }
    for (double& item : list.items) item = std::find(wanted.begin(), wanted.end(), item) != wanted.end() ? 1 : 0;
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
    std::vector<double> numbers;
    for (const Expr& item : expr.args) {
      Evaluated element = eval(item);
      if (!element) return element;
      numbers.push_back(as_number(*element.value));
    }
    return {EvalValue(NumberList(std::move(numbers))), ""};
  }

  Evaluated call(const Expr& expr) {
    std::vector<EvalValue> args;
    for (const Expr& arg : expr.args) {
      Evaluated value = eval(arg);
      if (!value) return value;
      args.push_back(std::move(*value.value));
    }
    if (args.empty()) return failed(fmt::format("`{}` has no arguments", expr.text));
    if (expr.text == "table") return table(expr, args);
    if (const Binding* captured = std::get_if<Binding>(&args[0])) return call_on_capture(expr.text, *captured, args);
    return call_on_numbers(expr.text, args);
  }

  Evaluated call_on_capture(const std::string& name, Binding captured, const std::vector<EvalValue>& args) {
    if (name == "present") return boolean(captured.is_present());
    if (!captured.is_present()) return number(0);
    const Graph& graph = context_.graph;
    const ir::Value& value = graph.value(captured.value);
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
    if (name == "shape") return {EvalValue(NumberList(std::vector<double>(shape.begin(), shape.end()))), ""};
    if (name == "values") {
      if (!value.is_constant()) return failed(fmt::format("`%{}` is no constant", value.name));
      if (runtime::element_count(shape) > kMostElements)
        return failed(fmt::format("`%{}` has {} elements, `values` reads at most {}", value.name,
                                  runtime::element_count(shape), kMostElements));
      NumberList list(elements_of(value.constant->data));
      list.shape = shape;
      return {EvalValue(std::move(list)), ""};
    }
    if (name == "is_output") return boolean(value.is_output);
    if (name == "is_input") return boolean(!value.is_constant() && !value.producer.is_valid());
    if (name == "op") {
      if (!captured.node.is_valid()) return failed(fmt::format("`%{}` is not a node", value.name));
      return {EvalValue(std::string(graph.node(captured.node).op->name)), ""};
    }
    auto is_listed = [&](NodeId node) {
      return std::any_of(args.begin() + 1, args.end(), [&](const EvalValue& arg) {
        const auto* wanted = std::get_if<std::string>(&arg);
        return wanted != nullptr && *wanted == graph.node(node).op->name;
      });
    };
    if (name == "fed_by") return boolean(value.producer.is_valid() && is_listed(value.producer));
    if (name == "read_by") {
      return boolean(
          std::any_of(value.uses.begin(), value.uses.end(), [&](const ir::Use& use) { return is_listed(use.node); }));
    }
    const Binding* other = args.size() > 1 ? std::get_if<Binding>(&args[1]) : nullptr;
    if (other != nullptr && !other->is_present()) return boolean(false);
    if (name == "reaches" && other != nullptr) return boolean(reaches(graph, captured.value, other->value));
    if (name == "broadcasts" && other != nullptr) {
      return boolean(broadcasts(shape, graph.value(other->value).type.shape));
    }
    if (name == "dim" && args.size() > 1) {
      double index = as_number(args[1]);
      auto rank = static_cast<double>(shape.size());
      double at = index < 0 ? index + rank : index;
      if (at >= 0 && at < rank) return number(static_cast<double>(shape[static_cast<size_t>(at)]));
      return failed(fmt::format("`%{}` has {} dimensions, none with index {:g}", value.name, shape.size(), index));
    }
    return failed(fmt::format("unknown function `{}`", name));
  }

  Evaluated table(const Expr& expr, const std::vector<EvalValue>& args) {
    std::vector<double> place;
    for (const EvalValue& arg : args) place.push_back(as_number(arg));
    std::string why;
    std::optional<double> found = expr.table->at(place, &why);
    return found ? number(*found) : failed(std::move(why));
  }

  /// A path leads from `from` to `to`. Ids are a topological order, so nothing before `from` lies on one.
  static bool reaches(const Graph& graph, ValueId from, ValueId to) {
    NodeId first = graph.value(from).producer;
    std::set<NodeId> seen;
    std::vector<ValueId> open{to};
    while (!open.empty()) {
      ValueId value = open.back();
      open.pop_back();
      if (value == from) return true;
      NodeId node = graph.value(value).producer;
      if (!node.is_valid() || (first.is_valid() && node < first) || !seen.insert(node).second) continue;
      for (ValueId input : graph.node(node).inputs) {
        if (input.is_valid()) open.push_back(input);
      }
    }
    return false;
  }

  static bool broadcasts(const ir::Shape& from, const ir::Shape& to) {
    if (from.size() > to.size()) return false;
    size_t lead = to.size() - from.size();
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 1 && from[i] != to[lead + i]) return false;
    }
    return true;
  }

  static Evaluated call_on_list(const std::string& name, const NumberList& list, const std::vector<EvalValue>& args) {
    size_t size = list.items.size();
    if (name == "len") return number(static_cast<double>(size));
    if (name == "at" && args.size() > 1) {
      double index = as_number(args[1]);
      double at = index < 0 ? index + static_cast<double>(size) : index;
      if (at >= 0 && at < static_cast<double>(size)) return number(list.items[static_cast<size_t>(at)]);
      return failed(fmt::format("a list of {} has no element {:g}", size, index));
    }
    if (name == "abs") {
      NumberList magnitudes = list;
      for (double& item : magnitudes.items) item = std::abs(item);
      return {EvalValue(std::move(magnitudes)), ""};
    }
    auto holding =
        static_cast<size_t>(size - static_cast<size_t>(std::count(list.items.begin(), list.items.end(), 0.0)));
    if (name == "all") return boolean(holding == size);
    if (name == "any") return boolean(holding > 0);
    if (name == "count") return number(static_cast<double>(holding));
    if (name.ends_with("_per") && args.size() > 1) {
      std::string why;
      auto reduced = reduce_per(name, list, as_number(args[1]), &why);
      if (!reduced) return failed(std::move(why));
      return {EvalValue(std::move(*reduced)), ""};
    }
    std::optional<double> reduced = reduce(name, list);
    return reduced ? number(*reduced) : failed("an empty list has no smallest or largest element");
  }

  static Evaluated call_on_numbers(const std::string& name, const std::vector<EvalValue>& args) {
    if (const auto* list = std::get_if<NumberList>(&args[0])) return call_on_list(name, *list, args);
    if (name == "version_at_least" && args.size() > 1) {
      const auto* have = std::get_if<std::string>(&args[0]);
      const auto* want = std::get_if<std::string>(&args[1]);
      if (have == nullptr || want == nullptr) return boolean(true);
      std::optional<int> order = compare_versions(*have, *want);
      if (order) return boolean(*order >= 0);
      bool is_first = !compare_versions(*have, "0");
      return failed(fmt::format("\"{}\" is no version", is_first ? *have : *want));
    }
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
    // A list attribute of an absent node is 0, and so is all of it.
    if (name == "len" || name == "at" || name.ends_with("_per")) return number(0);
    if (name == "sum" || name == "product") return number(a);
    if (name == "all" || name == "any") return boolean(as_bool(args[0]));
    if (name == "count") return number(as_bool(args[0]) ? 1 : 0);
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
bool mentions_absent(const Expr& expr, const EvalContext& context) {
  std::span<const Binding> bindings = context.bindings;
  if (expr.kind == Kind::Call && expr.text == "present") return false;
  if (expr.kind == Kind::Version && expr.text == "library_version") return context.environment == nullptr;
  if (expr.kind == Kind::Capture && expr.capture >= 0) return !bindings[static_cast<size_t>(expr.capture)].is_present();
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return mentions_absent(arg, context); });
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
      if (unit == ir::Unit::Energy) return number_text(n) + " J";
      if (unit == ir::Unit::Power) return number_text(n) + " W";
      if (unit == ir::Unit::Rate) return number_text(n) + " B/s";
      return number_text(n);
    }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(const std::string& s) const { return s; }
    std::string operator()(DType dtype) const { return std::string(runtime::name_of(dtype)); }
    std::string operator()(const NumberList& list) const {
      constexpr size_t kMostShown = 16;
      std::string text;
      for (size_t i = 0; i < std::min(list.items.size(), kMostShown); ++i)
        text += (text.empty() ? "" : ", ") + number_text(list.items[i]);
      if (list.items.size() > kMostShown) text += fmt::format(", … {} more", list.items.size() - kMostShown);
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
  return message;
}

bool clause_holds(const ir::Clause& clause, const EvalContext& context, std::string* message) {
  if (mentions_absent(clause.condition, context)) return true;
  Evaluated condition = evaluate(clause.condition, context);
  if (condition && as_bool(*condition.value)) return true;
  *message = render(clause.reason, context);
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
