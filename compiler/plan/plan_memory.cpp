// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/plan_memory.h"

#include <map>
#include <string>

#include "runtime/core/room.h"
#include "runtime/encodings/encodings.h"
#include "runtime/plan/plan_calls.h"

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

}  // namespace

std::vector<size_t> library_bytes(const runtime::Plan& plan) {
  std::map<std::string, size_t> by_instance;
  runtime::for_each_library_call(plan, [&](int partition, const runtime::LibraryCall& call) {
    if (partition < 0) return;
    by_instance[plan.partitions[static_cast<size_t>(partition)].instance] += constant_bytes(call.program);
  });
  std::vector<size_t> bytes;
  for (const runtime::MemorySpace& space : plan.spaces) {
    const auto at = by_instance.find(space.name);
    bytes.push_back(at == by_instance.end() ? 0 : at->second);
  }
  return bytes;
}

}  // namespace collage::plan
