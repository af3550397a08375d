// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/memory_need.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/core/host_space.h"
#include "runtime/plan/plan_calls.h"

namespace collage::runtime {
namespace {

struct Need {
  size_t bytes = 0;
  const Buffer* most = nullptr;  ///< of the largest need; null: a kernel's scratch
};

Need need_of(const Plan& plan) {
  Need need;
  for (size_t s = 0; s < plan.spaces.size(); ++s) {
    const MemorySpace& space = plan.spaces[s];
    const bool has_constants = s > 0 || plan.host_constants.first == nullptr;  // others are mapped
    const size_t bytes = space.arena_bytes + (has_constants ? space.constant_bytes : 0);
    if (is_other_host(space.name) || bytes <= need.bytes) continue;
    need = {bytes, nullptr};
    for (const Buffer& buffer : plan.buffers) {
      if (static_cast<size_t>(buffer.space) != s || (buffer.is_constant && !has_constants)) continue;
      if (need.most == nullptr || buffer.tensor.bytes() > need.most->tensor.bytes()) need.most = &buffer;
    }
  }
  for_each_kernel_call(plan, [&need](const KernelCall& call) {
    if (call.scratch_bytes > need.bytes) need = {call.scratch_bytes, nullptr};
  });
  return need;
}

/// The operator that makes the buffer; empty where generated code or a library does.
std::string maker_of(const Plan& plan, const Buffer& buffer) {
  const auto id = static_cast<BufferId>(&buffer - plan.buffers.data());
  const auto makes = [id](const OpCall& call) {
    return std::find(call.outputs.begin(), call.outputs.end(), id) != call.outputs.end();
  };
  for (const Step& step : plan.steps) {
    if (const auto* host = std::get_if<HostStep>(&step)) {
      for (const HostCall& call : host->calls) {
        const auto* op = std::get_if<OpCall>(&call);
        if (op != nullptr && makes(*op)) return op->op;
      }
    } else if (const auto* device = std::get_if<DeviceStep>(&step)) {
      const auto op = std::find_if(device->ops.begin(), device->ops.end(), makes);
      if (op != device->ops.end()) return op->op;
    }
  }
  return "";
}

struct Room {
  size_t bytes = SIZE_MAX;
  std::string whose;
};

Room room_here() {
  Room room;
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) room = {static_cast<size_t>(pages) * static_cast<size_t>(page), "this machine has"};
  for (const int resource : {RLIMIT_DATA, RLIMIT_AS}) {
    rlimit limits{};
    if (::getrlimit(resource, &limits) != 0 || limits.rlim_cur == RLIM_INFINITY) continue;
    if (limits.rlim_cur < room.bytes) room = {limits.rlim_cur, "this process may take"};
  }
  return room;
}

}  // namespace

std::string memory_need(const Plan& plan) {
  const Need need = need_of(plan);
  std::string text = std::to_string(need.bytes) + " bytes of memory";
  if (need.most == nullptr) return text;
  text += ", " + std::to_string(need.most->tensor.bytes()) + " of them for `" + need.most->name + "`";
  const std::string maker = maker_of(plan, *need.most);
  return maker.empty() ? text : text + " (" + maker + ")";
}

Status check_memory(const Plan& plan) {
  const Room room = room_here();
  if (need_of(plan).bytes <= room.bytes) return Status::ok();
  return Status::error("needs " + memory_need(plan) + "; " + room.whose + " " + std::to_string(room.bytes));
}

}  // namespace collage::runtime
