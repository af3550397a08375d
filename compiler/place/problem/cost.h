// SPDX-License-Identifier: Apache-2.0
// What the search adds up and minimizes: a time or an energy, with its unit.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/core/duration.h"

namespace collage::place {

/// Whole picoseconds or picojoules: sums do not depend on their order, so equal placements have equal costs, bit for
/// bit. A cost of nothing and `max()` have no unit and go with either; costs of two units are never added or compared.
class Cost {
 public:
  enum class Unit : uint8_t { None, Seconds, Joules };

  constexpr Cost() = default;
  static constexpr Cost time(runtime::Duration time) {
    return time >= runtime::Duration::max() ? max() : Cost(time.ps(), Unit::Seconds);
  }
  /// Rounded to the nearest picojoule; saturates. NaN gives `max()`.
  static Cost joules(double joules);
  /// The cost of so many picoseconds or picojoules.
  static constexpr Cost of(int64_t count, Unit unit) { return Cost(count, unit); }
  static constexpr Cost max() { return Cost(runtime::Duration::max().ps(), Unit::None); }

  constexpr int64_t count() const { return count_; }
  constexpr Unit unit() const { return unit_; }
  /// In seconds or joules.
  constexpr double value() const { return static_cast<double>(count_) * 1e-12; }
  /// Expects a cost that is a time.
  runtime::Duration time() const;

  constexpr Cost& operator+=(Cost other) {
    count_ += other.count_;
    if (unit_ == Unit::None) unit_ = other.unit_;
    return *this;
  }
  constexpr Cost& operator-=(Cost other) {
    count_ -= other.count_;
    if (unit_ == Unit::None) unit_ = other.unit_;
    return *this;
  }
  friend constexpr Cost operator+(Cost a, Cost b) { return a += b; }
  friend constexpr Cost operator-(Cost a, Cost b) { return a -= b; }
  friend constexpr bool operator==(Cost a, Cost b) { return a.count_ == b.count_; }
  friend constexpr auto operator<=>(Cost a, Cost b) { return a.count_ <=> b.count_; }

 private:
  constexpr Cost(int64_t count, Unit unit) : count_(count), unit_(unit) {}
  int64_t count_ = 0;
  Unit unit_ = Unit::None;
};

// Inline, so that compiler/certificate, which links nothing of place, can print costs.

/// By what part of the bound a cost is above it: 0.016 for 1.6 %. Returns nullopt where the bound is zero: it proves
/// nothing.
inline std::optional<double> gap(Cost cost, Cost bound) {
  if (bound.count() <= 0) return std::nullopt;
  return static_cast<double>((cost - bound).count()) / static_cast<double>(bound.count());
}

/// A part in percent, with so many digits, and all of those before the point: `1.6 %`, `0.037 %`, `160 %`.
inline std::string percent_text(double part, int digits = 2) {
  const double percent = 100 * part;
  // `g` would write 160 as 1.6e+02.
  const bool is_long = std::abs(percent) >= std::pow(10.0, digits - 1);
  return is_long ? fmt::format("{:.0f} %", percent) : fmt::format("{:.{}g} %", percent, digits);
}

/// `s` or `J`; a cost without a unit counts as a time.
inline std::string unit_name(Cost cost) {
  return cost.unit() == Cost::Unit::Joules ? "J" : "s";
}
/// Exact: `41us`, `8.192uJ`.
inline std::string to_string(Cost cost) {
  std::string text = to_string(runtime::Duration::picoseconds(cost.count()));
  text.pop_back();  // the `s` of a time
  return text + unit_name(cost);
}
/// Rounded to four digits, for people: `12.84 ms`, `4.1 uJ`.
inline std::string human(Cost cost) {
  std::string text = human(runtime::Duration::picoseconds(cost.count()));
  text.pop_back();
  return text + unit_name(cost);
}

}  // namespace collage::place
