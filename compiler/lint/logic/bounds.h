// SPDX-License-Identifier: Apache-2.0
// Facts about a few numbers: bounds, excluded and allowed values, linear inequalities among integers, remainders.
// Propagates bounds for a limited number of rounds: "impossible" is sound, its absence proves nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/lint/logic/ranges.h"

namespace collage::lint {

class NumberFacts {
 public:
  /// constant + sum of factor * number <= 0, over integers.
  struct Linear {
    std::map<int, double> factors;
    double constant = 0;

    void add(const Linear& other, double times);
  };

  int add_number(bool is_whole, Range range);
  const Range& range(int number) const { return numbers_[static_cast<size_t>(number)].range; }
  bool is_whole(int number) const { return numbers_[static_cast<size_t>(number)].is_whole; }

  void require(Linear inequality);
  /// Requires constant + sum != 0.
  void require_different(Linear difference);
  void require_equal(int a, int b);
  /// Requires `number OP constant`, for `<`, `<=`, `>`, `>=`, `==`, `!=`.
  void bound(int number, ir::ExprOp op, double constant);
  void allow_only(int number, const std::set<double>& values);
  /// Requires that `term` is `number % modulus`; the modulus is a positive integer.
  void relate_remainder(int term, int number, double modulus);
  void narrow(int number, Range range);

  /// Derives consequences. Returns true if something changed.
  bool propagate();
  bool are_impossible() const { return impossible_; }

 private:
  struct Number {
    Range range;
    bool is_whole = false;
    std::set<double> excluded;
    std::optional<std::set<double>> allowed;
  };
  struct Remainder {
    int term;
    int number;
    double modulus;
  };
  Number& at(int number) { return numbers_[static_cast<size_t>(number)]; }
  bool tighten(Number& number);
  bool tighten(const Linear& inequality);
  bool tighten(const Remainder& remainder);
  void combine();
  bool is_forced_to_zero(const Linear& difference) const;
  void search_small_ranges();

  std::vector<Number> numbers_;
  std::vector<Linear> inequalities_;
  std::vector<Linear> differences_;
  std::vector<Remainder> remainders_;
  bool impossible_ = false;
};

}  // namespace collage::lint
