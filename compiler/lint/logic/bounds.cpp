// SPDX-License-Identifier: Apache-2.0
#include "compiler/lint/logic/bounds.h"

#include <algorithm>
#include <cmath>

namespace collage::lint {
namespace {

/// Whole numbers below this add and multiply by small factors without rounding.
constexpr double kExact = 0x1p50;
constexpr double kLargestFactor = 4096;
constexpr size_t kMostInequalities = 300;
constexpr double kSmallRange = 4096;

bool is_exact(double number) {
  return std::abs(number) < kExact;
}

}  // namespace

void NumberFacts::Linear::add(const Linear& other, double times) {
  constant += times * other.constant;
  for (const auto& [number, factor] : other.factors) {
    double& sum = factors[number];
    sum += times * factor;
    if (sum == 0) factors.erase(number);
  }
}

int NumberFacts::add_number(bool is_whole, Range range) {
  numbers_.push_back({range, is_whole, {}, std::nullopt});
  return static_cast<int>(numbers_.size()) - 1;
}

void NumberFacts::require(Linear inequality) {
  if (inequality.factors.empty()) {
    impossible_ = impossible_ || inequality.constant > 0;
    return;
  }
  bool is_small = is_exact(inequality.constant) &&
                  std::all_of(inequality.factors.begin(), inequality.factors.end(),
                              [](const auto& entry) { return std::abs(entry.second) <= kLargestFactor; });
  if (is_small) inequalities_.push_back(std::move(inequality));
}

void NumberFacts::require_different(Linear difference) {
  if (difference.factors.empty()) {
    impossible_ = impossible_ || difference.constant == 0;
  } else if (difference.factors.size() == 1) {
    const auto& [number, factor] = *difference.factors.begin();
    at(number).excluded.insert(-difference.constant / factor);
  } else {
    differences_.push_back(std::move(difference));
  }
}

void NumberFacts::require_equal(int a, int b) {
  if (a == b) return;
  require({{{a, 1}, {b, -1}}, 0});
  require({{{a, -1}, {b, 1}}, 0});
}

void NumberFacts::bound(int number, ir::ExprOp op, double constant) {
  using ir::ExprOp;
  Number& n = at(number);
  if (op == ExprOp::NotEqual) {
    n.excluded.insert(constant);
    return;
  }
  // Every comparison with NaN is false.
  if (std::isnan(constant)) impossible_ = true;
  const bool is_equal = op == ExprOp::Equal;
  if (op == ExprOp::Less) n.range.high = std::min(n.range.high, std::nextafter(constant, -kInfinity));
  if (op == ExprOp::Greater) n.range.low = std::max(n.range.low, std::nextafter(constant, kInfinity));
  if (op == ExprOp::LessEqual || is_equal) n.range.high = std::min(n.range.high, constant);
  if (op == ExprOp::GreaterEqual || is_equal) n.range.low = std::max(n.range.low, constant);
}

void NumberFacts::allow_only(int number, const std::set<double>& values) {
  Number& n = at(number);
  if (!n.allowed) {
    n.allowed = values;
    return;
  }
  std::erase_if(*n.allowed, [&](double value) { return values.count(value) == 0; });
}

void NumberFacts::relate_remainder(int term, int number, double modulus) {
  remainders_.push_back({term, number, modulus});
}

void NumberFacts::narrow(int number, Range range) {
  Number& n = at(number);
  n.range.low = std::max(n.range.low, range.low);
  n.range.high = std::min(n.range.high, range.high);
}

bool NumberFacts::propagate() {
  constexpr int kRounds = 32;
  combine();
  bool changed_at_all = false;
  for (int round = 0; round < kRounds && !impossible_; ++round) {
    bool changed = false;
    for (Number& number : numbers_) changed = tighten(number) || changed;
    for (const Linear& inequality : inequalities_) changed = tighten(inequality) || changed;
    for (const Remainder& remainder : remainders_) changed = tighten(remainder) || changed;
    changed_at_all = changed_at_all || changed;
    if (!changed) break;
  }
  if (!impossible_) search_small_ranges();
  for (const Linear& difference : differences_) impossible_ = impossible_ || is_forced_to_zero(difference);
  return changed_at_all;
}

bool NumberFacts::tighten(Number& number) {
  Range before = number.range;
  Range& range = number.range;
  if (number.is_whole) {
    range.low = std::ceil(range.low);
    range.high = std::floor(range.high);
    while (number.excluded.count(range.low) != 0 && range.low <= range.high && is_exact(range.low)) ++range.low;
    while (number.excluded.count(range.high) != 0 && range.low <= range.high && is_exact(range.high)) --range.high;
  } else if (range.low == range.high && number.excluded.count(range.low) != 0) {
    impossible_ = true;
  }
  if (number.allowed) {
    std::erase_if(*number.allowed, [&](double value) {
      bool is_fraction = number.is_whole && value != std::floor(value);
      return is_fraction || !(value >= range.low && value <= range.high) || number.excluded.count(value) != 0;
    });
    if (number.allowed->empty()) {
      impossible_ = true;
      return true;
    }
    range.low = std::max(range.low, *number.allowed->begin());
    range.high = std::min(range.high, *number.allowed->rbegin());
  }
  if (range.is_empty()) impossible_ = true;
  return range.low != before.low || range.high != before.high;
}

/// x + y + 3 <= 0, y >= 1  =>  x <= -4
bool NumberFacts::tighten(const Linear& inequality) {
  bool changed = false;
  for (const auto& [number, factor] : inequality.factors) {
    double least_others = inequality.constant;
    for (const auto& [other, other_factor] : inequality.factors) {
      if (other == number) continue;
      const Range& range = at(other).range;
      least_others += other_factor * (other_factor > 0 ? range.low : range.high);
    }
    double limit = -least_others / factor;
    if (!is_exact(limit) || !is_exact(least_others)) continue;
    Range& range = at(number).range;
    if (factor > 0 && std::floor(limit) < range.high) {
      range.high = std::floor(limit);
      changed = true;
    }
    if (factor < 0 && std::ceil(limit) > range.low) {
      range.low = std::ceil(limit);
      changed = true;
    }
    if (range.is_empty()) impossible_ = true;
  }
  return changed;
}

/// n >= 9 and n % 8 == 0  =>  n >= 16
bool NumberFacts::tighten(const Remainder& remainder) {
  Range& term = at(remainder.term).range;
  Range& number = at(remainder.number).range;
  Range term_before = term;
  Range number_before = number;
  double m = remainder.modulus;
  // The remainder has the sign of the dividend.
  term.low = std::max(term.low, number.low >= 0 ? 0 : 1 - m);
  term.high = std::min(term.high, number.high <= 0 ? 0 : m - 1);
  if (number.low == number.high && is_exact(number.low)) {
    double value = std::fmod(number.low, m);
    term.low = std::max(term.low, value);
    term.high = std::min(term.high, value);
  }
  if (number.low >= 0 && number.high < m) {
    term.low = number.low = std::max(term.low, number.low);
    term.high = number.high = std::min(term.high, number.high);
  }
  bool is_pinned = term.low == term.high && (term.low == 0 || (term.low > 0 && number.low >= 0));
  if (is_pinned) {
    double r = term.low;
    if (is_exact(number.low)) number.low = std::ceil((number.low - r) / m) * m + r;
    if (is_exact(number.high)) number.high = std::floor((number.high - r) / m) * m + r;
  }
  if (term.is_empty() || number.is_empty()) impossible_ = true;
  return term.low != term_before.low || term.high != term_before.high || number.low != number_before.low ||
         number.high != number_before.high;
}

/// x - y + 1 <= 0 and y - x <= 0  =>  1 <= 0
void NumberFacts::combine() {
  for (size_t i = 0; i < inequalities_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (inequalities_.size() > kMostInequalities) return;
      const Linear& a = inequalities_[i];
      const Linear& b = inequalities_[j];
      bool cancels = std::any_of(a.factors.begin(), a.factors.end(), [&](const auto& entry) {
        auto found = b.factors.find(entry.first);
        return found != b.factors.end() && found->second == -entry.second;
      });
      if (!cancels) continue;
      Linear sum = a;
      sum.add(b, 1);
      bool is_known = std::any_of(inequalities_.begin(), inequalities_.end(), [&](const Linear& other) {
        return other.factors == sum.factors && other.constant >= sum.constant;
      });
      if (sum.factors.size() > 2 || is_known) continue;
      require(std::move(sum));
      if (impossible_) return;
    }
  }
}

/// x - y <= 0 and y - x <= 0, so x - y is 0.
bool NumberFacts::is_forced_to_zero(const Linear& difference) const {
  auto is_required = [&](double sign) {
    Linear wanted;
    wanted.add(difference, sign);
    return std::any_of(inequalities_.begin(), inequalities_.end(), [&](const Linear& inequality) {
      return inequality.factors == wanted.factors && inequality.constant >= wanted.constant;
    });
  };
  return is_required(1) && is_required(-1);
}

/// Tries each value of a number with few values and several remainders.
void NumberFacts::search_small_ranges() {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const Number& number = numbers_[i];
    if (!number.is_whole || number.range.high - number.range.low > kSmallRange || !is_exact(number.range.low)) continue;
    bool fits_any = false;
    for (double value = number.range.low; value <= number.range.high && !fits_any; ++value) {
      bool fits = number.excluded.count(value) == 0 && (!number.allowed || number.allowed->count(value) != 0);
      for (const Remainder& remainder : remainders_) {
        if (remainder.number != static_cast<int>(i)) continue;
        const Range& term = at(remainder.term).range;
        double rest = std::fmod(value, remainder.modulus);
        fits = fits && rest >= term.low && rest <= term.high && at(remainder.term).excluded.count(rest) == 0;
      }
      fits_any = fits;
    }
    if (!fits_any) impossible_ = true;
  }
  // Two remainders that no number has together: n % 4 == 1 and n % 6 == 0.
  for (const Remainder& a : remainders_) {
    for (const Remainder& b : remainders_) {
      const Range& ra = at(a.term).range;
      const Range& rb = at(b.term).range;
      if (a.number != b.number || ra.low != ra.high || rb.low != rb.high || ra.low < 0 || rb.low < 0) continue;
      if (at(a.number).range.low < 0 && (ra.low != 0 || rb.low != 0)) continue;
      double gcd = a.modulus;
      for (double rest = b.modulus; rest != 0;) {
        double next = std::fmod(gcd, rest);
        gcd = rest;
        rest = next;
      }
      if (std::fmod(ra.low - rb.low, gcd) != 0) impossible_ = true;
    }
  }
}

}  // namespace collage::lint
