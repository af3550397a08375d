// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/code_features.h"

#include <sys/utsname.h>

#include <algorithm>
#include <iterator>

#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

constexpr CodeFlag kCodeFlags[] = {
#define CODE_FLAG(name, compiler_name) {name, compiler_name},
#include "runtime/core/code_flags.def"
#undef CODE_FLAG
};
constexpr std::string_view kTileFlags[] = {"amx_bf16", "amx_tile"};

std::vector<std::string> flags_of(const HostCapabilities& host) {
  std::vector<std::string> flags = split(host.features, ' ');
  std::erase(flags, "");
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

bool is_code_flag(const std::string& flag) {
  return std::any_of(std::begin(kCodeFlags), std::end(kCodeFlags), [&](const CodeFlag& f) { return f.name == flag; });
}

}  // namespace

std::string host_architecture() {
  utsname name{};
  return ::uname(&name) == 0 ? name.machine : "unknown";
}

std::span<const CodeFlag> known_code_flags() {
  if (host_architecture() != "x86_64") return {};
  return kCodeFlags;
}

std::vector<std::string> code_features(const HostCapabilities& host) {
  std::vector<std::string> flags = flags_of(host);
  // The flags of other architectures are few, and all of them are instruction sets.
  if (host_architecture() == "x86_64")
    std::erase_if(flags, [](const std::string& flag) { return !is_code_flag(flag); });
  return flags;
}

std::vector<std::string> tile_features() {
  return {std::begin(kTileFlags), std::end(kTileFlags)};
}

std::vector<std::string> missing_features(const std::vector<std::string>& needed, const HostCapabilities& host) {
  const std::vector<std::string> flags = flags_of(host);
  std::vector<std::string> missing;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(missing),
               [&](const std::string& flag) { return !std::binary_search(flags.begin(), flags.end(), flag); });
  return missing;
}

}  // namespace collage::runtime
