// SPDX-License-Identifier: Apache-2.0
// From the rows of device_list.def to devices. Expects nothing of a spec: it may come from a damaged package.
#include "runtime/devices/device.h"

namespace collage::runtime {

#define COLLAGE_DEVICE(row, factory, computes, attribute) \
  Result<std::unique_ptr<Device>> factory(const DeviceSpec& spec, size_t capacity);
#include "runtime/devices/device_list.def"
#undef COLLAGE_DEVICE

namespace {

Status check_links(const DeviceSpec& spec) {
  for (const DeviceSpec::Link& link : spec.links) {
    if (!(link.bytes_per_second > 0)) {
      return Status::error("the link from `" + spec.space + "` to `" + link.to + "` has no bandwidth");
    }
    if (link.latency < Duration() || link.latency > Duration::max()) {
      return Status::error("the link from `" + spec.space + "` to `" + link.to + "` has an impossible latency");
    }
  }
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<Device>> make_device(const DeviceSpec& spec, size_t capacity) {
  if (Status status = check_links(spec); !status) return status;
#define COLLAGE_DEVICE(row, factory, computes, attribute) \
  if (spec.kind == #row) return factory(spec, capacity);
#include "runtime/devices/device_list.def"
#undef COLLAGE_DEVICE
  return Status::error("there is no device kind `" + spec.kind + "`");
}

std::vector<DeviceKind> device_kinds() {
  return {
#define COLLAGE_DEVICE(row, factory, computes, attribute) {#row, computes},
#include "runtime/devices/device_list.def"
#undef COLLAGE_DEVICE
  };
}

Duration transfer_time(const DeviceSpec::Link& link, size_t bytes) {
  Duration moving = Duration::seconds(static_cast<double>(bytes) / link.bytes_per_second);
  return moving > Duration::max() - link.latency ? Duration::max() : link.latency + moving;
}

}  // namespace collage::runtime
