// SPDX-License-Identifier: Apache-2.0
#include "compiler/quantize/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collage::quantize {
namespace {

/// Two neighbours become one bin, in the lower half.
void halve(std::vector<int64_t>& bins) {
  const size_t half = bins.size() / 2;
  for (size_t i = 0; i < half; ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  std::fill(bins.begin() + static_cast<std::ptrdiff_t>(half), bins.end(), 0);
}

/// Sum of p log(p / q) for the bins up to `kept`: p is what was seen, with everything beyond `kept` in the last bin; q
/// spreads each of `levels` equal groups of bins evenly over the bins of it that are not empty.
double divergence(const std::vector<int64_t>& seen, size_t kept, size_t levels) {
  std::vector<double> p(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(kept));
  for (size_t i = kept; i < seen.size(); ++i) p.back() += static_cast<double>(seen[i]);
  std::vector<double> q(kept, 0.0);
  double p_sum = 0, q_sum = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double total = 0;
    size_t filled = 0;
    for (size_t i = begin; i < end; ++i) {
      total += static_cast<double>(seen[i]);
      filled += p[i] > 0 ? 1 : 0;
    }
    for (size_t i = begin; i < end; ++i) q[i] = p[i] > 0 ? total / static_cast<double>(filled) : 0;
    q_sum += total;
  }
  for (double one : p) p_sum += one;
  if (p_sum == 0 || q_sum == 0) return std::numeric_limits<double>::infinity();
  constexpr double kLeast = 1e-9;  // of a bin that only holds what lay beyond the end
  double sum = 0;
  for (size_t i = 0; i < kept; ++i) {
    if (p[i] > 0) sum += p[i] / p_sum * std::log(p[i] / p_sum / std::max(q[i] / q_sum, kLeast));
  }
  return sum;
}

}  // namespace

void RangeObserver::widen_to(double magnitude) {
  if (reach_ == 0) reach_ = std::exp2(std::ceil(std::log2(magnitude)));
  while (reach_ < magnitude) {
    halve(below_);
    halve(above_);
    reach_ *= 2;
  }
}

void RangeObserver::add(std::span<const float> elements) {
  double most = 0;
  bool is_first = count_ == 0;
  for (float element : elements) {
    if (!std::isfinite(element)) continue;
    const double x = element;
    if (is_first) seen_ = {x, x};
    is_first = false;
    seen_.low = std::min(seen_.low, x);
    seen_.high = std::max(seen_.high, x);
    most = std::max(most, std::abs(x));
  }
  if (most > 0) widen_to(most);
  for (float element : elements) {
    if (!std::isfinite(element)) {
      ++special_;
      continue;
    }
    ++count_;
    if (element == 0) {
      ++zeros_;
      continue;
    }
    const double at = std::ceil(std::abs(static_cast<double>(element)) / reach_ * static_cast<double>(kBins)) - 1;
    (element < 0 ? below_ : above_)[std::min(kBins - 1, static_cast<size_t>(std::max(at, 0.0)))]++;
  }
}

Range RangeObserver::percentile_range(double percentile) const {
  const double dropped = static_cast<double>(count_) * (1 - percentile / 100) / 2;
  const double width = reach_ / static_cast<double>(kBins);
  // The outer edge of the bin in which more than `dropped` elements have passed, counted from that end.
  auto edge = [&](const std::vector<int64_t>& own, const std::vector<int64_t>& other) {
    double passed = 0;
    for (size_t i = kBins; i-- > 0;) {
      passed += static_cast<double>(own[i]);
      if (passed > dropped) return static_cast<double>(i + 1) * width;
    }
    passed += static_cast<double>(zeros_);
    if (passed > dropped) return 0.0;
    for (size_t i = 0; i < kBins; ++i) {
      passed += static_cast<double>(other[i]);
      if (passed > dropped) return -static_cast<double>(i) * width;
    }
    return 0.0;
  };
  return {std::max(seen_.low, -edge(below_, above_)), std::min(seen_.high, edge(above_, below_))};
}

Range RangeObserver::entropy_range() const {
  std::vector<int64_t> both(kBins);
  bool has_both = false, has_below = false;
  for (size_t i = 0; i < kBins; ++i) {
    both[i] = below_[i] + above_[i];
    has_below = has_below || below_[i] > 0;
    has_both = has_both || above_[i] > 0;
  }
  has_both = has_both && has_below;
  const size_t levels = has_both ? 128 : 256;
  size_t best = kBins;
  double least = std::numeric_limits<double>::infinity();
  for (size_t kept = levels; kept <= kBins; kept += 16) {
    const double lost = divergence(both, kept, levels);
    if (lost < least) least = lost, best = kept;
  }
  const double reach = reach_ * static_cast<double>(best) / static_cast<double>(kBins);
  return {std::max(seen_.low, -reach), std::min(seen_.high, reach)};
}

Range RangeObserver::range(const RangeChoice& choice) const {
  if (count_ == zeros_) return {};
  switch (choice.method) {
    case RangeMethod::MinMax: return seen_;
    case RangeMethod::Percentile: return percentile_range(choice.percentile);
    case RangeMethod::Entropy: return entropy_range();
  }
  return seen_;
}

}  // namespace collage::quantize
