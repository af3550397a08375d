// SPDX-License-Identifier: Apache-2.0
// The memory of a loaded plan: one arena and one region of resident constants per space, on the host and on devices,
// and the copies between them.
#pragma once

#include <memory>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/devices/device.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

class PlanMemory {
 public:
  /// Expects a valid plan. Makes its devices, allocates all regions, loads the constants in their buffers' layouts.
  Status load(const Plan& plan);

  /// The view of a host buffer; absent for -1.
  TensorView host_view(BufferId id) const;
  /// The tensor of a buffer on a device; absent for -1.
  DeviceTensor device_tensor(BufferId id) const;
  Device& device(int index) { return *devices_[static_cast<size_t>(index)]; }

  Status convert(const ConvertStep& step);
  /// Copies the buffer into a plain host tensor. Takes no simulated time.
  Result<Tensor> read(BufferId id);
  /// Simulated time since `load`, over all devices.
  Duration device_time() const;
  std::vector<std::string> device_log() const;

 private:
  struct Region {
    std::shared_ptr<std::byte> host;  ///< space 0
    DeviceAddress device = 0;         ///< other spaces
  };
  struct Space {
    int device = -1;  ///< index into devices_; -1: host
    Region arena;
    Region constants;
  };
  struct Place {
    int device = -1;
    Region region;
    size_t offset = 0;
    StoredTensor tensor{};
  };

  Status make_spaces(const Plan& plan);
  Status load_constants(const Plan& plan);
  const Place& place(BufferId id) const { return places_[static_cast<size_t>(id)]; }
  Status write(const TensorView& from, const TensorForm& form, const Place& to);
  Status read(const Place& from, const TensorView& to, const TensorForm& form);
  Duration clock_sum() const;

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Space> spaces_;
  std::vector<Place> places_;  ///< by BufferId
  Duration not_counted_;       ///< loading, and reads for checks
};

}  // namespace collage::runtime
