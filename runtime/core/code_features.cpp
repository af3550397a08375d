// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/code_features.h"

#include <sys/utsname.h>

#include <algorithm>
#include <iterator>

#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

/// Of x86-64: what code generators use without being asked. Each is a flag in /proc/cpuinfo.
constexpr std::string_view kCodeFlags[] = {
    "abm",           "adx",         "avx",          "avx2",        "avx512_bf16",
    "avx512_bitalg", "avx512_fp16", "avx512_vbmi2", "avx512_vnni", "avx512_vpopcntdq",
    "avx512bw",      "avx512cd",    "avx512dq",     "avx512f",     "avx512ifma",
    "avx512vbmi",    "avx512vl",    "avx_vnni",     "bmi1",        "bmi2",
    "f16c",          "fma",         "fma4",         "gfni",        "movbe",
    "pni",           "popcnt",      "sse4_1",       "sse4_2",      "sse4a",
    "ssse3",         "tbm",         "vaes",         "vpclmulqdq",  "xop",
};
constexpr std::string_view kTileFlags[] = {"amx_bf16", "amx_tile"};

std::vector<std::string> flags_of(const HostCapabilities& host) {
  std::vector<std::string> flags = split(host.features, ' ');
  std::erase(flags, "");
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

template <typename List>
bool has(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

std::string host_architecture() {
  utsname name{};
  return ::uname(&name) == 0 ? name.machine : "unknown";
}

std::vector<std::string> known_code_features() {
  if (host_architecture() != "x86_64") return {};
  return {std::begin(kCodeFlags), std::end(kCodeFlags)};
}

std::vector<std::string> code_features(const HostCapabilities& host) {
  std::vector<std::string> flags = flags_of(host);
  // The flags of other architectures are few, and all of them are instruction sets.
  if (host_architecture() == "x86_64")
    std::erase_if(flags, [](const std::string& flag) { return !has(kCodeFlags, flag); });
  return flags;
}

std::vector<std::string> tile_features() {
  return {std::begin(kTileFlags), std::end(kTileFlags)};
}

std::vector<std::string> missing_features(const std::vector<std::string>& needed, const HostCapabilities& host) {
  const std::vector<std::string> flags = flags_of(host);
  std::vector<std::string> missing;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(missing),
               [&](const std::string& flag) { return !has(flags, flag); });
  return missing;
}

}  // namespace collage::runtime
