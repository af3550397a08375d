// SPDX-License-Identifier: Apache-2.0
// Predicted times as whole picoseconds: sums do not depend on their order, so equal plans have equal costs, bit for
// bit.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace collage::runtime {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(int64_t ps) { return Duration(ps); }
  /// Rounded to the nearest picosecond; saturates. NaN gives `max()`.
  static Duration seconds(double s);
  static constexpr Duration max() { return Duration(INT64_MAX / 4); }

  constexpr int64_t ps() const { return ps_; }
  constexpr double seconds() const { return static_cast<double>(ps_) * 1e-12; }

  constexpr Duration& operator+=(Duration d) {
    ps_ += d.ps_;
    return *this;
  }
  constexpr Duration& operator-=(Duration d) {
    ps_ -= d.ps_;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return a += b; }
  friend constexpr Duration operator-(Duration a, Duration b) { return a -= b; }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  explicit constexpr Duration(int64_t ps) : ps_(ps) {}
  int64_t ps_ = 0;
};

/// Exact, in the largest unit that leaves a whole part: `41us`, `8.192us`, `250ps`, `1.2ms`. Reads back as itself.
std::string to_string(Duration d);

/// Rounded to four digits, for people: `12.84 ms`.
std::string human(Duration d);

/// `41us`, `1.5 ms`: a number and one of s, ms, us, ns, ps. Returns nullopt for any other text.
std::optional<Duration> parse_duration(std::string_view text);

}  // namespace collage::runtime
