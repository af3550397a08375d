// SPDX-License-Identifier: Apache-2.0
// The range of a value over many runs of a model, and how much of it integers are to cover.
//
//     minmax       all that was seen
//     percentile   without the rarest elements at both ends
//     entropy      the part, symmetric around 0, of which the fewest bits are lost (least Kullback-Leibler divergence
//                  between what was seen and what its integers stand for)
//
// Zeros are left out of the divergence: integers represent them exactly. Deterministic: the order of runs does not
// matter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace collage::quantize {

struct Range {
  double low = 0;
  double high = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class RangeMethod { MinMax, Percentile, Entropy };

struct RangeMethodRow {
  RangeMethod method;
  std::string_view name;
};
inline constexpr std::array<RangeMethodRow, 3> kRangeMethodRows{
    {{RangeMethod::MinMax, "minmax"}, {RangeMethod::Percentile, "percentile"}, {RangeMethod::Entropy, "entropy"}}};

inline constexpr double kUsualPercentile = 99.99;

struct RangeChoice {
  RangeMethod method = RangeMethod::MinMax;
  double percentile = kUsualPercentile;  ///< of the elements that RangeMethod::Percentile keeps
};

class RangeObserver {
 public:
  void add(std::span<const float> elements);

  /// Elements seen that were NaN or infinite; they are in no range.
  int64_t special_count() const { return special_; }
  bool is_empty() const { return count_ == 0; }
  /// Within what was seen. [0, 0] where nothing was.
  Range range(const RangeChoice& choice) const;

 private:
  static constexpr size_t kBins = 2048;  ///< on each side of 0

  void widen_to(double magnitude);
  Range percentile_range(double percentile) const;
  Range entropy_range() const;

  Range seen_;
  int64_t count_ = 0;
  int64_t zeros_ = 0;
  int64_t special_ = 0;
  double reach_ = 0;  ///< a power of two; the bins of a side cover (0, reach_]
  std::vector<int64_t> below_ = std::vector<int64_t>(kBins);
  std::vector<int64_t> above_ = std::vector<int64_t>(kBins);
};

}  // namespace collage::quantize
