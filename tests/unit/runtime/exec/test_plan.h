// SPDX-License-Identifier: Apache-2.0
// Plans put together by hand, for tests of the executor. Buffers never share memory.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/core/tensor.h"
#include "runtime/devices/faults/fault_injector.h"
#include "runtime/exec/code.h"
#include "runtime/plan/plan.h"

namespace collage::runtime::test {

struct TableCode : Code {
  std::map<std::string, KernelFunction, std::less<>> kernels;
  KernelFunction find(std::string_view symbol) const override {
    auto at = kernels.find(symbol);
    return at == kernels.end() ? nullptr : at->second;
  }
};

/// What a right spec asks for (devices/faults/fault_spec.h).
inline std::shared_ptr<FaultInjector> faults_of(std::string_view text) {
  return std::make_shared<FaultInjector>(std::get<FaultSpec>(parse_fault_spec(text)));
}

inline Tensor f32(Shape shape, std::vector<float> values) {
  Tensor tensor(DType::F32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

inline Tensor counting(Shape shape, float from = 0) {
  Tensor tensor(DType::F32, std::move(shape));
  for (float& value : tensor.as<float>()) value = from++;
  return tensor;
}

inline std::vector<float> values(const Tensor& tensor) {
  auto span = tensor.as<float>();
  return {span.begin(), span.end()};
}

/// A plan over the host and, with `devices` > 0, simulated devices `npu[0]`, … with links of 1 GB/s and 1 us.
struct TestPlan {
  Plan plan;

  explicit TestPlan(int devices = 0) {
    plan.model = "test";
    plan.spaces.push_back({"host", 0, 0, 0});
    for (int i = 0; i < devices; ++i) {
      DeviceSpec spec{"npu[" + std::to_string(i) + "]", "sim", {}, {}};
      for (int j = -1; j < devices; ++j) {
        std::string to = j < 0 ? "host" : "npu[" + std::to_string(j) + "]";
        if (to != spec.space) spec.links.push_back({to, 1e9, Duration::picoseconds(1'000'000)});
      }
      plan.spaces.push_back({spec.space, 0, 0, 0});
      plan.devices.push_back(spec);
      plan.partitions.push_back({"p" + std::to_string(i), "npu", spec.space, {}, {}});
    }
  }

  BufferId buffer(int space, Shape shape, std::string layout = "plain", DType dtype = DType::F32) {
    size_t& size = plan.spaces[static_cast<size_t>(space)].arena_bytes;
    plan.buffers.push_back({"v" + std::to_string(plan.buffers.size()), space, false, size, {dtype, shape, {layout}}});
    size += reserve(dtype, shape);
    return static_cast<BufferId>(plan.buffers.size() - 1);
  }
  BufferId constant(int space, Tensor data, std::string layout = "plain") {
    size_t& size = plan.spaces[static_cast<size_t>(space)].constant_bytes;
    plan.buffers.push_back({"c", space, true, size, {data.dtype(), data.shape(), {layout}}});
    size += reserve(data.dtype(), data.shape());
    auto id = static_cast<BufferId>(plan.buffers.size() - 1);
    plan.constants.push_back({id, std::move(data)});
    return id;
  }
  BufferId input(Shape shape) {
    BufferId id = buffer(0, std::move(shape));
    plan.inputs.push_back({"in" + std::to_string(plan.inputs.size()), id});
    return id;
  }
  void output(BufferId id) { plan.outputs.push_back({"out", id}); }
  void host(std::vector<HostCall> calls) { plan.steps.emplace_back(HostStep{-1, std::move(calls)}); }
  void device(int index, std::vector<OpCall> ops, int64_t ps) {
    plan.steps.emplace_back(DeviceStep{index, index, std::move(ops), Duration::picoseconds(ps)});
  }
  void convert(BufferId from, BufferId to, int64_t ps = 0) {
    plan.steps.emplace_back(ConvertStep{from, to, Duration::picoseconds(ps)});
  }

 private:
  static size_t reserve(DType dtype, const Shape& shape) {
    size_t bytes = static_cast<size_t>(element_count(shape)) * size_of(dtype);
    return (bytes / kTensorAlignment + 1) * kTensorAlignment;
  }
};

inline OpCall op(std::string name, std::vector<BufferId> inputs, std::vector<BufferId> outputs, AttrMap attrs = {}) {
  return {std::move(name), std::move(attrs), std::move(inputs), std::move(outputs)};
}

}  // namespace collage::runtime::test
