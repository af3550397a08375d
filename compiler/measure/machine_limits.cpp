// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/machine_limits.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace collage::measure {
namespace {

/// Processors reach higher clocks than they report while idle; few exceed this one.
constexpr double kUsualBoost = 4.5e9;
/// Two loads of a vector a cycle.
constexpr double kBytesPerCycle = 128;

bool has_flag(std::string_view cpuinfo, std::string_view flag) {
  for (size_t at = cpuinfo.find(flag); at != std::string_view::npos; at = cpuinfo.find(flag, at + 1)) {
    const bool begins = at == 0 || cpuinfo[at - 1] == ' ';
    const size_t end = at + flag.size();
    if (begins && (end == cpuinfo.size() || cpuinfo[end] == ' ' || cpuinfo[end] == '\n')) return true;
  }
  return false;
}

/// f32 operations per cycle, with two multiply-add units.
double flops_per_cycle(std::string_view cpuinfo) {
  if (has_flag(cpuinfo, "avx512f")) return 2 * 2 * 16;
  if (has_flag(cpuinfo, "avx2")) return 2 * 2 * 8;
  if (has_flag(cpuinfo, "sse2")) return 2 * 2 * 4;
  return 2 * 2 * 16;  // another architecture: assume the widest vectors
}

double hertz(std::string_view cpuinfo) {
  double most = kUsualBoost;
  constexpr std::string_view kName = "cpu MHz";
  for (size_t at = cpuinfo.find(kName); at != std::string_view::npos; at = cpuinfo.find(kName, at + 1)) {
    const size_t colon = cpuinfo.find(':', at);
    if (colon == std::string_view::npos) break;
    most = std::max(most, 1e6 * std::strtod(std::string(cpuinfo.substr(colon + 1, 24)).c_str(), nullptr));
  }
  return most;
}

}  // namespace

place::MachineLimits machine_limits(std::string_view cpuinfo, int threads) {
  const double cycles = hertz(cpuinfo) * std::max(1, threads);
  return {cycles * flops_per_cycle(cpuinfo), cycles * kBytesPerCycle};
}

place::MachineLimits machine_limits(int threads) {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return machine_limits(text.str(), threads);
}

}  // namespace collage::measure
