// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/einsum_order.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace collage::passes {
namespace {

/// 3^8 splits of subsets.
constexpr size_t kMostExactOperands = 8;

using LabelSet = std::vector<bool>;

LabelSet either(LabelSet a, const LabelSet& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] || b[i];
  return a;
}

LabelSet both_of(LabelSet a, const LabelSet& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = a[i] && b[i];
  return a;
}

class OrderSearch {
 public:
  OrderSearch(const std::vector<std::vector<int>>& operands, const std::vector<int>& result,
              const std::vector<int64_t>& extents)
      : extents_(extents), result_(set_of(result)) {
    for (const std::vector<int>& labels : operands) operands_.push_back(set_of(labels));
    harmless_ = size(result_);
    for (const LabelSet& labels : operands_) harmless_ = std::max(harmless_, size(labels));
  }

  EinsumOrder run() { return operands_.size() <= kMostExactOperands ? exact() : pair_by_pair(); }

 private:
  using Subset = uint32_t;  ///< of operands

  LabelSet set_of(const std::vector<int>& labels) const {
    LabelSet set(extents_.size(), false);
    for (int label : labels) set[static_cast<size_t>(label)] = true;
    return set;
  }

  double size(const LabelSet& labels) const {
    double elements = 1;
    for (size_t i = 0; i < labels.size(); ++i) elements *= labels[i] ? static_cast<double>(extents_[i]) : 1;
    return elements;
  }

  /// Labels of the product of the subset, where all others are still to be multiplied.
  LabelSet labels_of(Subset subset) const {
    LabelSet inside(extents_.size(), false);
    LabelSet needed = result_;
    for (size_t k = 0; k < operands_.size(); ++k) {
      LabelSet& set = (subset >> k & 1U) != 0 ? inside : needed;
      set = either(std::move(set), operands_[k]);
    }
    return both_of(std::move(inside), needed);
  }

  /// First the least bound of the intermediate results, then the fewest products within it.
  EinsumOrder exact() {
    const auto whole = static_cast<Subset>((uint64_t{1} << operands_.size()) - 1);
    kept_.resize(static_cast<size_t>(whole) + 1);
    for (Subset s = 1; s <= whole; ++s) kept_[s] = labels_of(s);
    std::vector<double> peak(kept_.size(), 0);
    for_each_split(whole, [&](Subset s, Subset a, Subset b, bool is_first) {
      const double own = s == whole ? 0 : size(kept_[s]);
      const double here = std::max({peak[a], peak[b], own, harmless_});
      if (is_first || here < peak[s]) peak[s] = here;
    });
    const double bound = std::max(peak[whole], harmless_);
    const double none = std::numeric_limits<double>::infinity();
    std::vector<double> products(kept_.size(), 0);
    std::vector<Subset> right(kept_.size(), 0);
    for_each_split(whole, [&](Subset s, Subset a, Subset b, bool is_first) {
      const bool fits = s == whole || size(kept_[s]) <= bound;
      const double here = fits ? products[a] + products[b] + size(either(kept_[a], kept_[b])) : none;
      if (!is_first && here >= products[s]) return;
      products[s] = here;
      right[s] = b;
    });
    EinsumOrder order;
    append(whole, right, &order);
    return order;
  }

  /// Visits all subsets of two or more, smaller numbers first, with all splits in two; first the one that keeps the
  /// order from left to right.
  template <typename Visit>
  static void for_each_split(Subset whole, Visit visit) {
    for (Subset s = 1; s <= whole; ++s) {
      Subset highest = 1;
      while ((highest << 1U) <= s) highest <<= 1U;
      const Subset rest = s & ~highest;
      // All subsets of the rest but the rest itself join the last operand.
      for (Subset joined = 0; joined != rest; joined = (joined - rest) & rest) {
        visit(s, rest & ~joined, highest | joined, joined == 0);
      }
    }
  }

  /// Returns the term that is the subset's product.
  size_t append(Subset subset, const std::vector<Subset>& right, EinsumOrder* order) const {
    if ((subset & (subset - 1)) == 0) {
      size_t operand = 0;
      while ((subset >> operand & 1U) == 0) ++operand;
      return operand;
    }
    const size_t a = append(subset & ~right[subset], right, order);
    const size_t b = append(right[subset], right, order);
    order->emplace_back(a, b);
    return operands_.size() + order->size() - 1;
  }

  /// The pair whose product adds the fewest elements to those that are waiting, again and again.
  EinsumOrder pair_by_pair() const {
    struct Term {
      size_t number;
      LabelSet labels;
    };
    std::vector<Term> terms;
    for (size_t k = 0; k < operands_.size(); ++k) terms.push_back({k, operands_[k]});
    EinsumOrder order;
    while (terms.size() > 1) {
      std::pair<double, double> least;
      size_t first = 0, second = 0;
      LabelSet labels;
      for (size_t i = 0; i < terms.size(); ++i) {
        for (size_t j = i + 1; j < terms.size(); ++j) {
          LabelSet needed = result_;
          for (size_t k = 0; k < terms.size(); ++k) {
            if (k != i && k != j) needed = either(std::move(needed), terms[k].labels);
          }
          const LabelSet all = either(terms[i].labels, terms[j].labels);
          LabelSet product = both_of(all, needed);
          const double growth = size(product) - size(terms[i].labels) - size(terms[j].labels);
          const std::pair<double, double> cost{growth, size(all)};
          if (second != 0 && cost >= least) continue;
          least = cost;
          first = i;
          second = j;
          labels = std::move(product);
        }
      }
      order.emplace_back(terms[first].number, terms[second].number);
      terms[first] = {operands_.size() + order.size() - 1, std::move(labels)};
      terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(second));
    }
    return order;
  }

  const std::vector<int64_t>& extents_;
  LabelSet result_;
  std::vector<LabelSet> operands_;
  double harmless_ = 1;         ///< as many elements cost nothing more
  std::vector<LabelSet> kept_;  ///< exact: labels of the products, by subset
};

}  // namespace

EinsumOrder einsum_order(const std::vector<std::vector<int>>& operands, const std::vector<int>& result,
                         const std::vector<int64_t>& extents) {
  return OrderSearch(operands, result, extents).run();
}

}  // namespace collage::passes
