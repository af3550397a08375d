// SPDX-License-Identifier: Apache-2.0
// Host detection by model number can name a wrong processor for new or virtual machines, while the feature bits are
// right: the scheduling model is therefore chosen from the features.
#include "compiler/codegen/llvm/detect_isa.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "runtime/core/code_features.h"
#include "runtime/core/joined.h"
#include "runtime/core/tiles.h"

namespace collage::codegen {
namespace {

/// What is reported beyond these belongs to several cores, or is a virtual machine's invention.
constexpr int64_t kLeastCache = int64_t{1} << 18;
constexpr int64_t kMostCache = int64_t{1} << 22;

/// The features of a processor that LLVM knows; null: it does not know this one.
std::unique_ptr<llvm::MCSubtargetInfo> subtarget_of(const std::string& cpu) {
  const std::string triple = llvm::sys::getProcessTriple();
  llvm::InitializeNativeTarget();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) return nullptr;
  // With the name of an unknown processor, LLVM would print a warning.
  std::unique_ptr<llvm::MCSubtargetInfo> any(target->createMCSubtargetInfo(triple, "", ""));
  if (!any || !any->isCPUStringValid(cpu)) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(triple, cpu, ""));
}

}  // namespace

std::vector<std::string> features_of(const std::string& cpu) {
  if (cpu.empty()) return runtime::code_features(runtime::host_capabilities());
  const std::unique_ptr<llvm::MCSubtargetInfo> info = subtarget_of(cpu);
  std::vector<std::string> features;
  for (const runtime::CodeFlag& flag : runtime::known_code_flags()) {
    if (info && info->checkFeatures("+" + std::string(flag.compiler_name))) features.emplace_back(flag.name);
  }
  return features;
}

std::string cpu_obstacle(const std::string& cpu) {
  if (cpu.empty()) return "";
  if (!subtarget_of(cpu))
    return "LLVM knows no processor `" + cpu + "` of this architecture; names are `haswell`, `x86-64-v3` and the like";
  std::string missing;
  for (const std::string& feature : runtime::missing_features(features_of(cpu), runtime::host_capabilities())) {
    runtime::add_to_list(missing, feature);
  }
  return missing.empty() ? "" : "this machine could not run code for `" + cpu + "`: it has no " + missing;
}

std::string tile_obstacle(const std::string& cpu) {
  return cpu.empty() ? runtime::tile_obstacle() : detect_isa(cpu).tile_obstacle;
}

Isa detect_isa(const std::string& cpu, bool runs_here) {
  Isa isa;
  isa.triple = llvm::sys::getProcessTriple();
  if (!cpu.empty()) {
    isa.cpu = cpu;
    if (const std::unique_ptr<llvm::MCSubtargetInfo> info = subtarget_of(cpu)) {
      isa.set_vectors(runtime::vector_unit(info->checkFeatures("+avx512f,+avx512vl,+avx512dq"),
                                           info->checkFeatures("+avx2"), info->checkFeatures("+fma")));
      if (info->checkFeatures("+amx-tile,+amx-bf16")) isa.tile_obstacle = runs_here ? runtime::tile_obstacle() : "";
      isa.has_rounding = info->checkFeatures("+sse4.1");
      isa.has_f16 = info->checkFeatures("+f16c");
      isa.has_vnni = info->checkFeatures("+avx512vnni,+avx512vl") || info->checkFeatures("+avxvnni");
    }
    return isa;
  }
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> named;
  for (const auto& feature : features) named.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(named.begin(), named.end());
  for (const std::string& f : named) runtime::add_to_list(isa.features, f, ",");
  isa.set_vectors(runtime::host_capabilities().vectors);
  const int64_t level2_cache = runtime::host_capabilities().level2_cache;
  if (level2_cache > 0) isa.level2_cache = std::clamp(level2_cache, kLeastCache, kMostCache);
  isa.tile_obstacle = runtime::tile_obstacle();
  isa.has_rounding = features.lookup("sse4.1");
  isa.has_f16 = features.lookup("f16c");
  isa.has_vnni = (features.lookup("avx512vnni") && features.lookup("avx512vl")) || features.lookup("avxvnni");
  bool recent = features.lookup("amx-tile") || features.lookup("avx512fp16");
  isa.cpu = recent ? "sapphirerapids" : llvm::sys::getHostCPUName().str();
  return isa;
}

}  // namespace collage::codegen
