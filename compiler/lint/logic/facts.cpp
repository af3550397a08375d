// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/rules/functions.h"
#include "compiler/lint/logic/comparison.h"

namespace collage::lint {

using ir::Expr;
using ir::ExprOp;
using ir::ExprType;
using ir::FunctionId;
using Kind = Expr::Kind;

namespace {

bool compares(double a, ExprOp op, double b) {
  switch (op) {
    case ExprOp::Less: return a < b;
    case ExprOp::LessEqual: return a <= b;
    case ExprOp::Greater: return a > b;
    case ExprOp::GreaterEqual: return a >= b;
    default: return (a == b) == (op == ExprOp::Equal);
  }
}

}  // namespace

void Facts::add(const Literal& literal) {
  const Expr& expr = *literal.expr;
  if (asks_outside(expr)) return;
  if (auto constant = constant_of(expr, settings_)) {
    if ((*constant != 0) != literal.is_true) impossible_ = true;
    return;
  }
  auto [at, is_new] = truths_.emplace(text(expr), literal.is_true);
  if (!is_new && at->second != literal.is_true) impossible_ = true;
  if (is_comparison(expr) || is_operation(expr, ExprOp::In)) {
    const Expr& left = expr.args.at(0);
    const Expr& right = expr.args.at(1);
    if (expr.op == ExprOp::In) {
      if (right.kind == Kind::List) member(left, right, literal.is_true);
      return;
    }
    if (left.type != right.type) return;
    bool is_equal = (expr.op == ExprOp::Equal) == literal.is_true;
    switch (left.type) {
      case ExprType::Number: return compare(left, expr.op, right, literal.is_true);
      case ExprType::String:
      case ExprType::DType: return equate_names(left, right, is_equal);
      case ExprType::Numbers:
        if (expr.op == ExprOp::Equal || expr.op == ExprOp::NotEqual) equate_lists(left, right, is_equal);
        return;
      default: return;
    }
  }
  if (is_call(expr, FunctionId::all) || is_call(expr, FunctionId::any)) quantify(expr, literal.is_true);
  if (is_call(expr, FunctionId::is_const) && expr.args.at(0).kind == Kind::Capture) {
    auto known = rule_.is_const.find(expr.args[0].capture);
    if (known != rule_.is_const.end() && known->second != literal.is_true) impossible_ = true;
  }
}

void Facts::add_rank_at_most(const Expr& capture, double most) {
  numbers_.bound(rank_of(text(capture)), ExprOp::LessEqual, most);
}

/// Returns whether the value is never NaN and never a fraction.
bool Facts::is_whole(const Expr& expr) const {
  if (auto constant = constant_of(expr, settings_))
    return *constant == std::floor(*constant) && std::isfinite(*constant);
  auto all_whole = [&] {
    return std::all_of(expr.args.begin(), expr.args.end(), [&](const Expr& arg) { return is_whole(arg); });
  };
  switch (expr.kind) {
    case Kind::Attribute:
    case Kind::BackendAttr: return rule_.whole.count(text(expr)) != 0;
    case Kind::Unary: return expr.op == ExprOp::Negate && all_whole();
    case Kind::Binary: {
      if (expr.op == ExprOp::Add || expr.op == ExprOp::Subtract || expr.op == ExprOp::Multiply) return all_whole();
      auto modulus = expr.op == ExprOp::Remainder ? constant_of(expr.args.at(1), settings_) : std::nullopt;
      return modulus && *modulus != 0 && all_whole();
    }
    case Kind::Call: {
      const ir::FunctionDef& function = ir::function_def(expr.function);
      if (function.has(ir::Natural)) return true;
      const bool is_element =
          expr.function == FunctionId::at || expr.function == FunctionId::max_of || expr.function == FunctionId::min_of;
      if (is_element) return is_whole_list(expr.args.at(0));
      return function.has(ir::WholeIfArgumentsAre) && all_whole();
    }
    default: return false;
  }
}

int Facts::rank_of(const std::string& capture) {
  auto [at, is_new] = ranks_.emplace(capture, 0);
  if (is_new) {
    constexpr double kMostDimensions = 64;
    at->second = index_["rank(" + capture + ")"] = numbers_.add_number(true, {0, kMostDimensions});
  }
  return at->second;
}

/// Expects that the dimension exists.
int Facts::dim_of(const std::string& capture, double index) {
  for (const Dim& dim : dims_) {
    if (dim.capture == capture && dim.index == index) return dim.number;
  }
  int number = numbers_.add_number(true, {least_dim_, std::numeric_limits<double>::infinity()});
  index_["dim(" + capture + "," + fmt::format("{}", index) + ")"] = number;
  dims_.push_back({capture, index, number});
  numbers_.bound(rank_of(capture), ExprOp::GreaterEqual, index < 0 ? -index : index + 1);
  return number;
}

/// Returns the number of a term, and adds it if it is new.
int Facts::number(const Expr& expr) {
  bool indexes = (is_call(expr, FunctionId::dim) || is_call(expr, FunctionId::at)) && expr.args.size() == 2;
  auto index = indexes ? constant_of(expr.args[1], settings_) : std::nullopt;
  if (index && *index == std::floor(*index)) {
    if (is_call(expr, FunctionId::dim) && expr.args[0].kind == Kind::Capture) return dim_of(text(expr.args[0]), *index);
    if (is_call(expr.args[0], FunctionId::shape)) return dim_of(text(expr.args[0].args.at(0)), *index);
  }
  if (is_call(expr, FunctionId::rank)) return rank_of(text(expr.args.at(0)));
  if (is_call(expr, FunctionId::max_of)) return extremes_of(expr.args.at(0)).max;
  if (is_call(expr, FunctionId::min_of)) return extremes_of(expr.args.at(0)).min;
  std::string key = text(expr);
  if (auto found = index_.find(key); found != index_.end()) return found->second;
  Range range = range_of(expr, settings_, nullptr);
  if (is_call(expr, FunctionId::elems)) range.low = std::max(range.low, least_dim_);
  if (rule_.positive.count(key) != 0) range.low = 1;
  int number = numbers_.add_number(is_whole(expr), range);
  index_[key] = number;
  if (is_call(expr, FunctionId::elems)) elements_[text(expr.args.at(0))] = number;
  if (expr.kind == Kind::Binary || expr.kind == Kind::Unary || expr.kind == Kind::Call) computed_[number] = &expr;
  if (is_operation(expr, ExprOp::Remainder)) {
    auto modulus = constant_of(expr.args.at(1), settings_);
    auto of = linear(expr.args[0]);
    bool is_term = of && of->factors.size() == 1 && of->constant == 0 && of->factors.begin()->second == 1;
    if (is_term && modulus && *modulus > 0 && *modulus == std::floor(*modulus)) {
      numbers_.relate_remainder(number, of->factors.begin()->first, *modulus);
    }
  }
  return number;
}

std::optional<NumberFacts::Linear> Facts::linear(const Expr& expr) {
  if (!is_whole(expr)) return std::nullopt;
  if (auto constant = constant_of(expr, settings_)) return Linear{{}, *constant};
  if (expr.kind == Kind::Unary ||
      (expr.kind == Kind::Binary && (expr.op == ExprOp::Add || expr.op == ExprOp::Subtract))) {
    auto sum = linear(expr.args.at(0));
    if (!sum) return std::nullopt;
    if (expr.kind == Kind::Unary) {
      Linear negative;
      negative.add(*sum, -1);
      return negative;
    }
    auto right = linear(expr.args.at(1));
    if (right) sum->add(*right, expr.op == ExprOp::Add ? 1 : -1);
    return right ? sum : std::nullopt;
  }
  if (is_operation(expr, ExprOp::Multiply)) {
    for (size_t i : {0, 1}) {
      auto factor = constant_of(expr.args.at(i), settings_);
      auto other = factor ? linear(expr.args.at(1 - i)) : std::nullopt;
      if (!other) continue;
      Linear product;
      if (*factor != 0) product.add(*other, *factor);
      constexpr double kExact = 0x1p52;
      if (std::abs(product.constant) <= kExact) return product;
    }
  }
  return Linear{{{number(expr), 1}}, 0};
}

void Facts::compare(const Expr& left, ExprOp op, const Expr& right, bool is_true) {
  auto a = linear(left);
  auto b = linear(right);
  if (a && b) {
    if (!is_true) op = negated(op);
    Linear difference = *a;
    difference.add(*b, -1);
    Linear opposite;
    opposite.add(difference, -1);
    if (op == ExprOp::NotEqual) return numbers_.require_different(std::move(difference));
    if (op == ExprOp::Less) difference.constant += 1;
    if (op == ExprOp::Greater) opposite.constant += 1;
    if (op == ExprOp::Less || op == ExprOp::LessEqual || op == ExprOp::Equal) numbers_.require(difference);
    if (op == ExprOp::Greater || op == ExprOp::GreaterEqual || op == ExprOp::Equal) numbers_.require(opposite);
    return;
  }
  auto constant_left = constant_of(left, settings_);
  auto constant_right = constant_of(right, settings_);
  if (constant_left && constant_right) {
    if (compares(*constant_left, op, *constant_right) != is_true) impossible_ = true;
    return;
  }
  if (!is_true) {
    if (op != ExprOp::Equal && op != ExprOp::NotEqual) return;
    op = negated(op);
  }
  if (constant_right) return numbers_.bound(number(left), op, *constant_right);
  if (constant_left) return numbers_.bound(number(right), mirrored(op), *constant_left);
  comparisons_.push_back({&left, op, &right});
}

void Facts::member(const Expr& expr, const Expr& set, bool is_true) {
  if (expr.type == ExprType::String || expr.type == ExprType::DType) {
    std::set<std::string> names;
    for (const Expr& item : set.args) {
      auto name = constant_name(item);
      if (!name) return;
      names.insert(*name);
    }
    auto constant = constant_name(expr);
    if (!constant) return choose(expr, names, is_true);
    if ((names.count(*constant) != 0) != is_true) impossible_ = true;
    return;
  }
  if (expr.type != ExprType::Number) return;
  std::set<double> values;
  for (const Expr& item : set.args) {
    auto value = constant_of(item, settings_);
    if (!value || std::isnan(*value)) return;
    values.insert(*value);
  }
  if (auto constant = constant_of(expr, settings_)) {
    if ((values.count(*constant) != 0) != is_true) impossible_ = true;
    return;
  }
  int term = number(expr);
  if (is_true) return numbers_.allow_only(term, values);
  for (double value : values) numbers_.bound(term, ExprOp::NotEqual, value);
}

std::optional<std::string> Facts::constant_name(const Expr& expr) const {
  if (expr.kind == Kind::String || expr.kind == Kind::DType) return text(expr);
  if (expr.kind == Kind::BackendAttr && settings_.count(expr.text) != 0) return text(expr);
  if (expr.kind != Kind::List) return std::nullopt;
  for (const Expr& item : expr.args) {
    if (!constant_of(item, settings_)) return std::nullopt;
  }
  return text(expr);
}

Facts::Choice& Facts::choice(const Expr& term) {
  return choices_[text(term)];
}

void Facts::choose(const Expr& term, const std::set<std::string>& names, bool is_true) {
  Choice& known = choice(term);
  if (!is_true) {
    known.excluded.insert(names.begin(), names.end());
  } else if (!known.allowed) {
    known.allowed = names;
  } else {
    std::erase_if(*known.allowed, [&](const std::string& name) { return names.count(name) == 0; });
  }
}

void Facts::equate_names(const Expr& left, const Expr& right, bool is_equal) {
  auto a = constant_name(left);
  auto b = constant_name(right);
  if (a && b) {
    if ((*a == *b) != is_equal) impossible_ = true;
    return;
  }
  if (b) return choose(left, {*b}, is_equal);
  if (a) return choose(right, {*a}, is_equal);
  choice(left);
  choice(right);
  (is_equal ? equal_choices_ : different_choices_).emplace_back(text(left), text(right));
}

void Facts::equate_lists(const Expr& left, const Expr& right, bool is_equal) {
  equate_names(left, right, is_equal);
  if (!is_equal) return;
  if (left.kind == Kind::List && right.kind == Kind::List) {
    if (left.args.size() != right.args.size()) impossible_ = true;
    for (size_t i = 0; i < left.args.size() && i < right.args.size(); ++i)
      compare(left.args[i], ExprOp::Equal, right.args[i], true);
  } else if (right.kind == Kind::List) {
    equal_elements(left, right);
  } else if (left.kind == Kind::List) {
    equal_elements(right, left);
  } else if (is_call(left, FunctionId::shape) && is_call(right, FunctionId::shape)) {
    equal_shapes_.emplace_back(text(left.args.at(0)), text(right.args.at(0)));
  }
}

/// `shape(x) == [1, n]`  =>  rank(x) == 2, dim(x, 0) == 1, dim(x, 1) == n
void Facts::equal_elements(const Expr& term, const Expr& literal) {
  bool is_shape = is_call(term, FunctionId::shape);
  std::string of = is_shape ? text(term.args.at(0)) : text(term);
  auto named = [&](const std::string& key, bool whole) {
    auto [at, is_new] = index_.emplace(key, 0);
    if (is_new) at->second = numbers_.add_number(whole, {});
    return at->second;
  };
  int length = is_shape ? rank_of(of) : named("len(" + of + ")", true);
  numbers_.bound(length, ExprOp::Equal, static_cast<double>(literal.args.size()));
  bool whole = is_shape || rule_.whole.count(of) != 0;
  for (size_t i = 0; i < literal.args.size(); ++i) {
    auto index = static_cast<double>(i);
    int element = is_shape ? dim_of(of, index) : named("at(" + of + "," + fmt::format("{}", index) + ")", whole);
    auto constant = constant_of(literal.args[i], settings_);
    if (constant) {
      numbers_.bound(element, ExprOp::Equal, *constant);
      continue;
    }
    auto wanted = whole ? linear(literal.args[i]) : std::nullopt;
    if (!wanted) continue;
    Linear difference{{{element, 1}}, 0};
    difference.add(*wanted, -1);
    numbers_.require(difference);
    Linear opposite;
    opposite.add(difference, -1);
    numbers_.require(opposite);
  }
}

KnownRange Facts::known(const Expr* except) const {
  return [this, except](const Expr& expr) -> std::optional<Range> {
    if (&expr == except) return std::nullopt;
    auto found = index_.find(text(expr));
    return found == index_.end() ? std::nullopt : std::optional(numbers_.range(found->second));
  };
}

bool Facts::are_impossible() {
  constexpr int kRounds = 8;
  link_equal_shapes();
  link_quantified();
  for (int round = 0; round < kRounds && !impossible_ && !numbers_.are_impossible(); ++round) {
    link_pinned_ranks();
    link_elements();
    link_extremes();
    for (const auto& [number, expr] : computed_) numbers_.narrow(number, range_of(*expr, settings_, known(expr)));
    if (!numbers_.propagate() && round > 0) break;
  }
  return impossible_ || numbers_.are_impossible() || choices_clash() || comparisons_clash();
}

/// Equates rank, dimensions and number of elements of values with equal shapes.
void Facts::link_equal_shapes() {
  for (size_t round = 0; round < equal_shapes_.size(); ++round) {
    for (const auto& [a, b] : equal_shapes_) {
      std::vector<Dim> dims = dims_;
      for (const Dim& dim : dims) {
        if (dim.capture == a) dim_of(b, dim.index);
        if (dim.capture == b) dim_of(a, dim.index);
      }
    }
  }
  for (const auto& [a, b] : equal_shapes_) {
    numbers_.require_equal(rank_of(a), rank_of(b));
    std::vector<Dim> dims = dims_;
    for (const Dim& dim : dims) {
      if (dim.capture == a) numbers_.require_equal(dim.number, dim_of(b, dim.index));
    }
    if (elements_.count(a) != 0 && elements_.count(b) != 0) numbers_.require_equal(elements_[a], elements_[b]);
  }
}

/// rank(x) == 4  =>  dim(x, -1) is dim(x, 3)
void Facts::link_pinned_ranks() {
  std::vector<Dim> dims = dims_;
  for (const Dim& dim : dims) {
    const Range& rank = numbers_.range(rank_of(dim.capture));
    if (dim.index < 0 && rank.low == rank.high && rank.low + dim.index >= 0) {
      numbers_.require_equal(dim.number, dim_of(dim.capture, rank.low + dim.index));
    }
  }
}

/// elems(x) > 0  =>  0 < dim(x, i) <= elems(x)
void Facts::link_elements() {
  for (const Dim& dim : dims_) {
    auto elements = elements_.find(dim.capture);
    if (elements == elements_.end() || numbers_.range(elements->second).low < 1) continue;
    numbers_.bound(dim.number, ExprOp::GreaterEqual, 1);
    numbers_.narrow(dim.number, {1, numbers_.range(elements->second).high});
  }
}

bool Facts::choices_clash() {
  for (size_t round = 0; round <= equal_choices_.size(); ++round) {
    for (const auto& [left, right] : equal_choices_) {
      Choice& a = choices_[left];
      Choice& b = choices_[right];
      a.excluded.insert(b.excluded.begin(), b.excluded.end());
      b.excluded = a.excluded;
      if (a.allowed && b.allowed) {
        std::erase_if(*a.allowed, [&](const std::string& name) { return b.allowed->count(name) == 0; });
      }
      if (!a.allowed) a.allowed = b.allowed;
      b.allowed = a.allowed;
    }
  }
  for (auto& [term, choice] : choices_) {
    if (!choice.allowed) continue;
    for (const std::string& name : choice.excluded) choice.allowed->erase(name);
    if (choice.allowed->empty()) return true;
  }
  return std::any_of(different_choices_.begin(), different_choices_.end(), [&](const auto& pair) {
    const Choice& a = choices_[pair.first];
    const Choice& b = choices_[pair.second];
    bool both_pinned = a.allowed && b.allowed && a.allowed->size() == 1 && *a.allowed == *b.allowed;
    bool are_equated = std::any_of(equal_choices_.begin(), equal_choices_.end(), [&](const auto& equal) {
      return equal == pair || std::make_pair(equal.second, equal.first) == pair;
    });
    return pair.first == pair.second || both_pinned || are_equated;
  });
}

bool Facts::comparisons_clash() const {
  return std::any_of(comparisons_.begin(), comparisons_.end(), [&](const Comparison& comparison) {
    Range a = range_of(*comparison.left, settings_, known(nullptr));
    Range b = range_of(*comparison.right, settings_, known(nullptr));
    const ExprOp op = comparison.op;
    if (op == ExprOp::Less) return a.low >= b.high;
    if (op == ExprOp::LessEqual) return a.low > b.high;
    if (op == ExprOp::Greater) return a.high <= b.low;
    if (op == ExprOp::GreaterEqual) return a.high < b.low;
    if (op == ExprOp::Equal) return a.low > b.high || a.high < b.low;
    return false;
  });
}

}  // namespace collage::lint
