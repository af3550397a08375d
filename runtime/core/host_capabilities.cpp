// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/host_capabilities.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

/// Processors boost beyond the rate that they report while idle; few exceed this one.
constexpr double kUsualBoost = 4.5e9;
/// Two loads of a vector of 64 bytes in a cycle.
constexpr double kBytesPerCycle = 128;

/// What follows the colon in the first line that begins with one of the names, up to the end of the line.
std::string field(std::string_view cpuinfo, std::string_view name, std::string_view other_name = {}) {
  while (!cpuinfo.empty()) {
    std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(cpuinfo.size(), line.size() + 1));
    bool is_named = line.starts_with(name) || (!other_name.empty() && line.starts_with(other_name));
    size_t colon = line.find(':');
    if (is_named && colon != std::string_view::npos) return std::string(line.substr(colon + 1));
  }
  return "";
}

bool has_flag(std::string_view features, std::string_view flag) {
  for (size_t at = features.find(flag); at != std::string_view::npos; at = features.find(flag, at + 1)) {
    const bool begins = at == 0 || features[at - 1] == ' ';
    const size_t end = at + flag.size();
    if (begins && (end == features.size() || features[end] == ' ')) return true;
  }
  return false;
}

/// With two units that multiply and add.
double flops_per_cycle(std::string_view features) {
  if (has_flag(features, "avx512f")) return 2 * 2 * 16;
  if (has_flag(features, "avx2")) return 2 * 2 * 8;
  if (has_flag(features, "sse2")) return 2 * 2 * 4;
  return 2 * 2 * 16;  // another architecture: as wide as any
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

int64_t cache_bytes(int name) {
  return std::max<int64_t>(0, sysconf(name));
}

/// The flags with those instruction sets that the processor itself reports, and no others: virtual machines hide some
/// from /proc/cpuinfo, and in an emulator of processes that file is of the machine around it.
std::string as_the_processor_reports(const std::string& features) {
#if defined(__x86_64__)
  std::vector<std::string> flags = split(features, ' ');
  std::erase(flags, "");
#define CODE_FLAG(name, compiler_name) \
  std::erase(flags, name);             \
  if (__builtin_cpu_supports(compiler_name)) flags.emplace_back(name);
#include "runtime/core/code_flags.def"
#undef CODE_FLAG
  std::string text;
  for (const std::string& flag : flags) text += " " + flag;
  return text;
#else
  return features;
#endif
}

void derive_rates(HostCapabilities& host) {
  const auto has = [&](std::string_view flag) { return has_flag(host.features, flag); };
  host.vectors = vector_unit(has("avx512f") && has("avx512vl") && has("avx512dq"), has("avx2"), has("fma"));
  host.flops_per_cycle = flops_per_cycle(host.features);
}

HostCapabilities read_host() {
  std::ifstream file("/proc/cpuinfo");
  std::ostringstream text;
  text << file.rdbuf();
  HostCapabilities host = capabilities_from(text.str());
  host.features = as_the_processor_reports(host.features);
  derive_rates(host);
  host.processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  host.level1_data_cache = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
  host.level2_cache = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  host.level3_cache = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  return host;
}

}  // namespace

VectorUnit vector_unit(bool has_avx512, bool has_avx2, bool has_fma) {
  return {has_avx512 ? 16 : has_avx2 ? 8 : 4, has_avx512 ? 32 : 16, has_fma || has_avx512};
}

HostCapabilities capabilities_from(std::string_view cpuinfo) {
  HostCapabilities host;
  host.processor = field(cpuinfo, "model name");
  host.features = field(cpuinfo, "flags", "Features");
  host.hertz = hertz(cpuinfo);
  host.bytes_per_cycle = kBytesPerCycle;
  derive_rates(host);
  return host;
}

const HostCapabilities& host_capabilities() {
  static const HostCapabilities kHost = read_host();
  return kHost;
}

}  // namespace collage::runtime
