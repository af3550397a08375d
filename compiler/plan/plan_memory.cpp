// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/plan_memory.h"

#include <map>
#include <string>

#include "runtime/core/room.h"
#include "runtime/encodings/encodings.h"

namespace collage::plan {
namespace {

size_t constant_bytes(const runtime::LibraryProgram& program) {
  size_t bytes = 0;
  for (const runtime::LibraryValue& value : program.values) {
    if (value.constant.is_empty_handle()) continue;
    const size_t own = value.encoding.empty() ? value.constant.bytes()
                                              : runtime::least_encoded_bytes(value.dtype, value.shape, value.encoding);
    bytes += runtime::room_for(own);
  }
  return bytes;
}

struct LibraryUse {
  int partition = -1;
  size_t bytes = 0;
};

LibraryUse use_of(const runtime::Step& step) {
  if (const auto* whole = std::get_if<runtime::LibraryStep>(&step)) {
    return {whole->partition, constant_bytes(whole->call.program)};
  }
  const auto* host = std::get_if<runtime::HostStep>(&step);
  if (host == nullptr) return {};
  LibraryUse use{host->partition, 0};
  for (const runtime::HostCall& call : host->calls) {
    if (const auto* library = std::get_if<runtime::LibraryCall>(&call)) use.bytes += constant_bytes(library->program);
  }
  return use;
}

}  // namespace

std::vector<size_t> library_bytes(const runtime::Plan& plan) {
  std::map<std::string, size_t> by_instance;
  for (const runtime::Step& step : plan.steps) {
    const LibraryUse use = use_of(step);
    if (use.bytes == 0 || use.partition < 0) continue;
    by_instance[plan.partitions[static_cast<size_t>(use.partition)].instance] += use.bytes;
  }
  std::vector<size_t> bytes;
  for (const runtime::MemorySpace& space : plan.spaces) {
    const auto at = by_instance.find(space.name);
    bytes.push_back(at == by_instance.end() ? 0 : at->second);
  }
  return bytes;
}

}  // namespace collage::plan
