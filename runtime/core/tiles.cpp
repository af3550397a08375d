// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/tiles.h"

#include <algorithm>

#include "runtime/core/host_capabilities.h"
#include "runtime/core/text.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace collage::runtime {
namespace {

bool kernel_permits_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

std::string find_obstacle() {
  const HostCapabilities& host = host_capabilities();
  const std::vector<std::string> features = split(host.features, ' ');
  const auto has = [&](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (!has("amx_tile") || !has("amx_bf16") || host.vectors.lanes != 16) return "this processor has no AMX for bf16";
  if (!kernel_permits_tiles()) return "the operating system does not permit AMX tiles";
  return "";
}

}  // namespace

const std::string& tile_obstacle() {
  static const std::string obstacle = find_obstacle();
  return obstacle;
}

}  // namespace collage::runtime
