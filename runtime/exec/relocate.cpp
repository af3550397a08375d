// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/relocate.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

/// `npu` of `npu[0]`.
std::string device_name(const std::string& space) {
  return space.substr(0, space.find('['));
}

size_t aligned(size_t bytes) {
  return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

size_t plain_bytes(const StoredTensor& tensor) {
  return static_cast<size_t>(element_count(tensor.shape)) * size_of(tensor.dtype);
}

bool has_link_to(const DeviceSpec& spec, const std::string& space) {
  return std::any_of(spec.links.begin(), spec.links.end(),
                     [&](const DeviceSpec::Link& link) { return link.to == space; });
}

/// Takes devices out of a plan, one after another.
class PlanRelocator {
 public:
  explicit PlanRelocator(const Plan& plan) : plan_(plan) {}

  Status leave(const std::string& space, const std::set<std::string>& lost) {
    const int from = space_of(space);
    if (from < 0) return Status::ok();
    const int to = room_elsewhere(from, lost);
    if (to < 0) {
      if (Status status = move_to_host(from); !status) return status;
    } else {
      move_to_device(from, to);
    }
    forget(from);
    return Status::ok();
  }
  Plan take() { return std::move(plan_); }

 private:
  int space_of(const std::string& name) const {
    for (size_t s = 1; s < plan_.spaces.size(); ++s) {
      if (plan_.spaces[s].name == name) return static_cast<int>(s);
    }
    return -1;
  }
  MemorySpace& space(int index) { return plan_.spaces[static_cast<size_t>(index)]; }
  int device_index(int space_index) const {
    const std::string& name = plan_.spaces[static_cast<size_t>(space_index)].name;
    const auto at = std::find_if(plan_.devices.begin(), plan_.devices.end(),
                                 [&](const DeviceSpec& spec) { return spec.space == name; });
    return static_cast<int>(at - plan_.devices.begin());
  }
  const DeviceSpec& device(int space_index) const {
    return plan_.devices[static_cast<size_t>(device_index(space_index))];
  }

  /// The equal device with the most memory left, of those that have enough; -1: none.
  int room_elsewhere(int from, const std::set<std::string>& lost) {
    int best = -1;
    size_t most = 0;
    const size_t needed = space(from).arena_bytes + space(from).constant_bytes;
    for (int s = 1; s < static_cast<int>(plan_.spaces.size()); ++s) {
      if (s == from || lost.contains(space(s).name) || !are_equal(device(from), device(s))) continue;
      const size_t used = space(s).arena_bytes + space(s).constant_bytes;
      const size_t left = space(s).capacity == 0 ? SIZE_MAX - used : space(s).capacity - used;
      if (left < needed || left <= most || !takes_links_of(from, s)) continue;
      best = s;
      most = left;
    }
    return best;
  }

  static bool are_equal(const DeviceSpec& a, const DeviceSpec& b) {
    return device_name(a.space) == device_name(b.space) && a.kind == b.kind && a.attrs == b.attrs &&
           a.copy_queue == b.copy_queue;
  }

  /// True if every conversion of the one device is possible from the other one.
  bool takes_links_of(int from, int to) {
    for (const Step& step : plan_.steps) {
      const auto* convert = std::get_if<ConvertStep>(&step);
      if (convert == nullptr) continue;
      const int source = buffer(convert->from).space, target = buffer(convert->to).space;
      if ((source == from) == (target == from)) continue;
      const int other = source == from ? target : source;
      if (other == to) continue;
      // The sender needs the link, the device in the middle where the host is one end.
      const int sender = other == 0 || source == from ? to : other;
      const int receiver = sender == to ? other : to;
      if (!has_link_to(device(sender), space(receiver).name)) return false;
    }
    return true;
  }

  Buffer& buffer(BufferId id) { return plan_.buffers[static_cast<size_t>(id)]; }

  void move_to_device(int from, int to) {
    const size_t arena = aligned(space(to).arena_bytes), constants = aligned(space(to).constant_bytes);
    for (Buffer& moved : plan_.buffers) {
      if (moved.space != from) continue;
      moved.space = to;
      moved.offset += moved.is_constant ? constants : arena;
    }
    space(to).arena_bytes = arena + space(from).arena_bytes;
    space(to).constant_bytes = constants + space(from).constant_bytes;
    const int old_device = device_index(from), new_device = device_index(to);
    for (Step& step : plan_.steps) {
      if (auto* launch = std::get_if<DeviceStep>(&step); launch != nullptr && launch->device == old_device) {
        launch->device = new_device;
      }
    }
    rename_partitions(from, space(to).name, "");
  }

  /// Each value lies in the host's arena as in the device's, plainly; offsets grow by the largest ratio of the dtype to
  /// a smaller storage, so that what shared no byte shares none.
  ///
  ///     npu[0]  a f16[64] at 0, b f16[64] at 128      =>   host  a f32[64] at 4096, b f32[64] at 4096 + 256
  Status move_to_host(int from) {
    size_t ratio = 1;
    for (const Buffer& moved : plan_.buffers) {
      const size_t bytes = moved.tensor.bytes();
      if (moved.space != from || moved.is_constant || bytes == 0) continue;
      ratio = std::max(ratio, (plain_bytes(moved.tensor) + bytes - 1) / bytes);
    }
    if (Status status = bring_constants(from); !status) return status;
    const size_t arena = aligned(plan_.spaces[0].arena_bytes);
    size_t end = arena;
    for (Buffer& moved : plan_.buffers) {
      if (moved.space != from || moved.is_constant) continue;
      moved.space = 0;
      moved.offset = arena + moved.offset * ratio;
      moved.tensor.form = {};
      end = std::max(end, moved.offset + moved.tensor.bytes());
    }
    plan_.spaces[0].arena_bytes = aligned(end);
    const int old_device = device_index(from);
    for (Step& step : plan_.steps) {
      auto* launch = std::get_if<DeviceStep>(&step);
      if (launch == nullptr || launch->device != old_device) continue;
      HostStep host{launch->partition, {}};
      for (OpCall& op : launch->ops) host.calls.emplace_back(std::move(op));
      step = std::move(host);
    }
    rename_partitions(from, "host", "host");
    return check_links();
  }

  /// Constants of the device, as the model has them.
  Status bring_constants(int from) {
    size_t end = aligned(plan_.spaces[0].constant_bytes);
    for (ConstantInit& init : plan_.constants) {
      Buffer& moved = buffer(init.buffer);
      if (moved.space != from) continue;
      if (moved.tensor.is_encoded()) {
        Result<Tensor> decoded = decode_constant({init.data.data(), init.data.bytes()}, moved.tensor.dtype,
                                                 moved.tensor.shape, moved.tensor.encoding);
        if (!decoded) return Status::error("constant `" + moved.name + "`: " + decoded.message());
        init.data = std::move(*decoded);
      }
      moved.space = 0;
      moved.tensor = {moved.tensor.dtype, moved.tensor.shape, {}};
      moved.offset = end;
      end += aligned(std::max<size_t>(moved.tensor.bytes(), 1));
    }
    if (plan_.host_constants.first != nullptr && end > plan_.host_constants.bytes) join_ready_constants(end);
    plan_.spaces[0].constant_bytes = end;
    return Status::ok();
  }

  /// Constants that are ready on the host are copied to where all constants are.
  void join_ready_constants(size_t bytes) {
    const auto region = std::make_shared<Tensor>(DType::U8, Shape{static_cast<int64_t>(bytes)});
    std::memcpy(region->data(), plan_.host_constants.first.get(), plan_.host_constants.bytes);
    std::erase_if(plan_.constants, [&](const ConstantInit& init) {
      const Buffer& at = buffer(init.buffer);
      if (at.space != 0) return false;
      if (init.data.bytes() > 0) std::memcpy(region->data() + at.offset, init.data.data(), init.data.bytes());
      return true;
    });
    plan_.host_constants = {std::shared_ptr<const std::byte>(region, region->data()), bytes};
  }

  Status check_links() {
    for (const Step& step : plan_.steps) {
      const auto* convert = std::get_if<ConvertStep>(&step);
      if (convert == nullptr) continue;
      const int source = buffer(convert->from).space, target = buffer(convert->to).space;
      if ((source == 0) == (target == 0)) continue;
      const DeviceSpec& spec = device(source == 0 ? target : source);
      if (!has_link_to(spec, "host")) return Status::error("`" + spec.space + "` has no link to `host`");
    }
    return Status::ok();
  }

  void rename_partitions(int from, const std::string& instance, const std::string& backend) {
    for (PlanPartition& partition : plan_.partitions) {
      if (partition.instance != space(from).name) continue;
      partition.instance = instance;
      if (!backend.empty()) partition.backend = backend;
    }
  }

  /// The device and its space, which nothing uses any more.
  void forget(int from) {
    const int gone = device_index(from);
    plan_.devices.erase(plan_.devices.begin() + gone);
    plan_.spaces.erase(plan_.spaces.begin() + from);
    for (Buffer& any : plan_.buffers) any.space -= any.space > from ? 1 : 0;
    for (Step& step : plan_.steps) {
      if (auto* launch = std::get_if<DeviceStep>(&step)) launch->device -= launch->device > gone ? 1 : 0;
    }
    // Parts that ran side by side share devices now.
    plan_.lanes.clear();
  }

  Plan plan_;
};

/// Gives the spaces of a plan other names.
void rename_spaces(const std::map<std::string, std::string>& names, Plan* plan) {
  const auto rename = [&](std::string& name) {
    if (const auto at = names.find(name); at != names.end()) name = at->second;
  };
  for (MemorySpace& space : plan->spaces) rename(space.name);
  for (PlanPartition& partition : plan->partitions) rename(partition.instance);
  for (DeviceSpec& device : plan->devices) {
    rename(device.space);
    // A link to an instance that the plan does not use could now name one that it uses.
    std::erase_if(device.links,
                  [&](const DeviceSpec::Link& link) { return link.to != "host" && !names.contains(link.to); });
    for (DeviceSpec::Link& link : device.links) rename(link.to);
  }
}

}  // namespace

Result<Plan> without_devices(const Plan& plan, const std::vector<std::string>& lost) {
  PlanRelocator relocator(plan);
  const std::set<std::string> all(lost.begin(), lost.end());
  for (const std::string& space : all) {
    if (Status status = relocator.leave(space, all); !status) return status;
  }
  return relocator.take();
}

Result<std::map<std::string, int>> parse_instances(const std::string& text) {
  constexpr int kMostInstances = 1 << 16;
  std::map<std::string, int> counts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    int count = 0;
    const char* last = part.data() + part.size();
    const bool has_name = equals != std::string::npos && equals > 0;
    const auto [stop, error] = std::from_chars(part.data() + (has_name ? equals + 1 : 0), last, count);
    if (!has_name || error != std::errc() || stop != last || count < 0 || count > kMostInstances) {
      return Status::error("`" + part + "` is no number of instances: want `npu=2`");
    }
    counts[part.substr(0, equals)] = count;
    begin = end + 1;
  }
  return counts;
}

Result<std::vector<Plan>> plans_for_instances(const Plan& plan, const std::map<std::string, int>& counts) {
  std::map<std::string, std::vector<std::string>> used;  // by device
  for (const DeviceSpec& device : plan.devices) used[device_name(device.space)].push_back(device.space);
  std::vector<std::string> missing;
  for (auto& [name, spaces] : used) {
    std::sort(spaces.begin(), spaces.end());
    const auto count = counts.find(name);
    if (count == counts.end()) continue;
    while (spaces.size() > static_cast<size_t>(std::max(count->second, 0))) {
      missing.push_back(spaces.back());
      spaces.pop_back();
    }
  }
  Result<Plan> base = without_devices(plan, missing);
  if (!base) return base.status();
  size_t sets = SIZE_MAX;
  for (const auto& [name, spaces] : used) {
    const auto count = counts.find(name);
    if (spaces.empty()) continue;
    sets = std::min(sets, count == counts.end() ? 1 : static_cast<size_t>(count->second) / spaces.size());
  }
  if (sets == SIZE_MAX) sets = 1;
  std::vector<Plan> plans;
  for (size_t set = 0; set < sets; ++set) {
    std::map<std::string, std::string> names;
    for (const auto& [name, spaces] : used) {
      const bool is_counted = counts.contains(name);
      for (size_t i = 0; i < spaces.size(); ++i) {
        names[spaces[i]] = is_counted ? name + "[" + std::to_string(set * spaces.size() + i) + "]" : spaces[i];
      }
    }
    rename_spaces(names, &plans.emplace_back(*base));
  }
  return plans;
}

}  // namespace collage::runtime
