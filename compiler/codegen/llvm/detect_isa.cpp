// SPDX-License-Identifier: Apache-2.0
// Host detection by model number can name a wrong processor for new or virtual machines, while the feature bits are right:
// the scheduling model is therefore chosen from the features.
#include "compiler/codegen/llvm/detect_isa.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/core/tiles.h"

namespace collage::codegen {
namespace {

/// What is reported beyond these belongs to several cores, or is a virtual machine's invention.
constexpr int64_t kLeastCache = int64_t{1} << 18;
constexpr int64_t kMostCache = int64_t{1} << 22;

}  // namespace

Isa detect_isa(const std::string& cpu) {
  Isa isa;
  isa.triple = llvm::sys::getProcessTriple();
  if (!cpu.empty()) {
    isa.cpu = cpu;
    std::string error;
    if (const llvm::Target* target = llvm::TargetRegistry::lookupTarget(isa.triple, error)) {
      std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(isa.triple, cpu, ""));
      if (info) {
        isa.set_vectors(runtime::vector_unit(info->checkFeatures("+avx512f,+avx512vl,+avx512dq"),
                                             info->checkFeatures("+avx2"), info->checkFeatures("+fma")));
        if (info->checkFeatures("+amx-tile,+amx-bf16")) isa.tile_obstacle = runtime::tile_obstacle();
        isa.has_vnni = info->checkFeatures("+avx512vnni,+avx512vl") || info->checkFeatures("+avxvnni");
      }
    }
    return isa;
  }
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> named;
  for (const auto& feature : features) named.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(named.begin(), named.end());
  for (const std::string& f : named) isa.features += (isa.features.empty() ? "" : ",") + f;
  isa.set_vectors(runtime::host_capabilities().vectors);
  const int64_t level2_cache = runtime::host_capabilities().level2_cache;
  if (level2_cache > 0) isa.level2_cache = std::clamp(level2_cache, kLeastCache, kMostCache);
  isa.tile_obstacle = runtime::tile_obstacle();
  isa.has_vnni = (features.lookup("avx512vnni") && features.lookup("avx512vl")) || features.lookup("avxvnni");
  bool recent = features.lookup("amx-tile") || features.lookup("avx512fp16");
  isa.cpu = recent ? "sapphirerapids" : llvm::sys::getHostCPUName().str();
  return isa;
}

}  // namespace collage::codegen
