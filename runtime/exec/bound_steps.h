// SPDX-License-Identifier: Apache-2.0
// The steps of a plan with the addresses of one execution, so that a run only walks them.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "runtime/exec/execution_memory.h"
#include "runtime/exec/program.h"

namespace collage::runtime {

/// A KernelCall with its code and addresses. `buffers[t]` is the table of part t of the loop: its scratch differs.
struct BoundKernel {
  KernelFunction function = nullptr;
  std::vector<std::vector<void*>> buffers{};
  int64_t extent = 0;
  int64_t grain = 1;
};

struct BoundOp {
  const OpCall* call = nullptr;
  std::vector<TensorView> inputs{};
  std::vector<TensorView> outputs{};
};

/// A LibraryStep, or a LibraryCall of a host step.
struct BoundLibrary {
  std::shared_ptr<LibraryKernel> kernel;
  std::vector<std::byte*> inputs{};
  std::vector<std::byte*> outputs{};
};

/// A change of layout in host memory that was not compiled.
struct BoundRewrite {
  const Buffer* from = nullptr;
  const Buffer* to = nullptr;
  std::byte* source = nullptr;
  std::byte* target = nullptr;
};

/// What the host does in one step.
struct BoundHostStep {
  std::vector<std::variant<BoundKernel, BoundOp, BoundLibrary, BoundRewrite>> calls{};
};

struct BoundLaunch {
  std::vector<DeviceOp> ops{};
  Duration duration;
};

/// Host to device. Where the form changes, the host rewrites into `staging` first, which is then what is copied.
struct BoundCopyIn {
  const Buffer* from = nullptr;
  const Buffer* to = nullptr;
  std::byte* source = nullptr;
  DeviceAddress target = 0;
  Tensor staging{};
};

/// Device to host. Where the form changes, the copy ends in `staging`, and the host rewrites from there.
struct BoundCopyOut {
  const Buffer* from = nullptr;
  const Buffer* to = nullptr;
  DeviceAddress source = 0;
  std::byte* target = nullptr;
  Tensor staging{};
};

struct BoundCopyPeer {
  DeviceAddress source = 0;
  Device* to_device = nullptr;
  DeviceAddress target = 0;
  size_t bytes = 0;
};

struct BoundReorder {
  DeviceTensor source{};
  DeviceTensor target{};
  Duration duration;
};

using BoundStep = std::variant<BoundHostStep, BoundLaunch, BoundCopyIn, BoundCopyOut, BoundCopyPeer, BoundReorder>;

/// By step. Refers to the program and to the memory. `scratch`: one for each thread.
Result<std::vector<BoundStep>> bind_steps(const Program& program, const ExecutionMemory& memory,
                                          const std::vector<Tensor>& scratch);

}  // namespace collage::runtime
