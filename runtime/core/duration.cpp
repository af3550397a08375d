// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace collage::runtime {
namespace {

struct Unit {
  std::string_view name;
  int64_t ps;
};

constexpr std::array<Unit, 5> kUnits = {
    {{"s", 1'000'000'000'000}, {"ms", 1'000'000'000}, {"us", 1'000'000}, {"ns", 1'000}, {"ps", 1}}};

const Unit& unit_of(int64_t ps) {
  for (const Unit& unit : kUnits) {
    if (std::abs(ps) >= unit.ps) return unit;
  }
  return kUnits.back();
}

}  // namespace

Duration Duration::seconds(double s) {
  double ps = s * 1e12;
  if (std::isnan(ps) || ps >= static_cast<double>(max().ps())) return max();
  return Duration(std::llround(ps));
}

std::string to_string(Duration d) {
  if (d.ps() == 0) return "0s";
  const Unit& unit = unit_of(d.ps());
  std::string text = d.ps() < 0 ? "-" : "";
  int64_t ps = std::abs(d.ps());
  text += std::to_string(ps / unit.ps);
  if (int64_t rest = ps % unit.ps; rest != 0) {
    std::string digits = std::to_string(rest + unit.ps).substr(1);  // leading zeros kept
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text + std::string(unit.name);
}

std::string human(Duration d) {
  if (d.ps() == 0) return "0 s";
  const Unit& unit = unit_of(d.ps());
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", static_cast<double>(d.ps()) / static_cast<double>(unit.ps),
                std::string(unit.name).c_str());
  return buffer;
}

std::optional<Duration> parse_duration(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view rest(end, text.data() + text.size());
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (rest == unit.name) return Duration::picoseconds(std::llround(number * static_cast<double>(unit.ps)));
  }
  return std::nullopt;
}

}  // namespace collage::runtime
