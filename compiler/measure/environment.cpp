// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/environment.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "compiler/measure/fingerprint.h"
#include "include/collage/version.h"
#include "runtime/core/host_capabilities.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"

namespace collage::measure {

uint64_t fingerprint(const std::string& path) {
  uint64_t hash = 0xcbf29ce484222325u;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 << 16> block;
  while (file.read(block.data(), block.size()), file.gcount() > 0) {
    for (std::streamsize i = 0; i < file.gcount(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(block[static_cast<size_t>(i)])) * 0x100000001b3u;
    }
  }
  return hash;
}

std::string describe_machine() {
  const runtime::HostCapabilities& host = runtime::host_capabilities();
  return "cpu" + host.processor + " features" + host.features;
}

std::string describe_build(const std::string& worker_program) {
  std::string text = fmt::format("collage {} program {:016x} llvm {}", COLLAGE_VERSION, fingerprint(worker_program),
                                 COLLAGE_LLVM_VERSION);
  for (std::string_view library : runtime::library_names()) {
    text += fmt::format(" {} {}", library, runtime::library_version(library));
  }
  return text;
}

std::string describe_backend(const place::ActiveBackend& active) {
  const ir::Backend& backend = *active.backend;
  std::string attrs;
  for (const ir::AttrDecl& decl : backend.attrs) {
    auto set = active.attrs.find(decl.name);
    const runtime::AttrValue& value = set == active.attrs.end() ? decl.fallback : set->second;
    attrs += fmt::format("{}{} = {}", attrs.empty() ? "" : ", ", decl.name, runtime::to_string(value));
  }
  std::string library = backend.library;
  if (backend.runtime == ir::RuntimeKind::Plugin)
    library += " " + runtime::library_version(runtime::plugin_library(backend.library, backend.file));
  std::string text = fmt::format("{} version {} runtime {} {} {{{}}}", backend.name, backend.version,
                                 name_of(backend.runtime), library, attrs);
  for (const ir::Rule& rule : backend.rules) {
    for (const ir::Kernel& kernel : rule.kernels) {
      if (kernel.lowering.kind != ir::LoweringKind::Inline) continue;
      text += fmt::format(" {}:{} by {}", rule.name, kernel.name, kernel.lowering.symbol);
    }
  }
  const ir::Phase* post = backend.find_phase(true);
  if (post == nullptr) return text;
  for (const ir::PhaseItem& item : post->items) text += " post " + item.pass;
  return text;
}

}  // namespace collage::measure
