// SPDX-License-Identifier: Apache-2.0
// What the executor runs: plain data, so that it can be stored (package/). Made by compiler/plan, read by the executor.
//
// Buffers are fixed places in one arena per memory space; their offsets come from liveness at compile time. Steps run
// in order. Host steps call compiled kernels or reference kernels on host buffers; a library step gives a partition to
// a library, on host buffers too; a device step is one launch of a partition on a device's queue; a conversion moves
// one value between formats.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/core/attributes.h"
#include "runtime/core/duration.h"
#include "runtime/core/lowering_call.h"
#include "runtime/core/machine.h"
#include "runtime/core/stored_tensor.h"
#include "runtime/core/tensor.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime {

/// Index into Plan::buffers; -1: an optional operand that is absent.
using BufferId = int32_t;

struct MemorySpace {
  std::string name;           ///< `host`, `npu[0]`
  size_t arena_bytes = 0;     ///< activations and scratch
  size_t constant_bytes = 0;  ///< resident, loaded once
  size_t capacity = 0;        ///< bytes that the space has; 0: no limit
};

/// The kind of devices that are other hosts.
inline constexpr std::string_view kRemoteKind = "remote";

/// The kind of devices that are models of chips: reference kernels compute what they run, and rule files say how long
/// it takes.
inline constexpr std::string_view kModelKind = "sim";

/// A device that the plan needs, with the settings of its simulation. The host always exists and is not listed. Another
/// host of a cluster is a device of kind `remote`: copies to it are sent, copies from it are received.
struct DeviceSpec {
  std::string space;  ///< `npu[0]`, `host[1]`: a row of Plan::spaces
  std::string kind;   ///< row of devices/device_list.def: `sim`
  AttrMap attrs;      ///< the rule file's attributes
  struct Link {
    std::string to;  ///< `host` or another space
    double bytes_per_second = 0;
    Duration latency;
    bool duplex = false;  ///< both directions at once
    /// The links that a copy passes from here to `to` where switches lie between; empty: this one alone.
    std::vector<LinkHop> hops{};
  };
  std::vector<Link> links;
  bool copy_queue = false;  ///< copies overlap its launches (core/machine.h)
};

struct Buffer {
  std::string name;          ///< of the value, for traces
  int space = 0;             ///< index into Plan::spaces
  bool is_constant = false;  ///< `offset` is in the constant region; otherwise in the arena
  size_t offset = 0;         ///< multiple of kTensorAlignment
  StoredTensor tensor{};
};

/// Loaded before the first run, in the buffer's own layout. Where the buffer has an encoding, `data` is the encoded
/// bytes, as u8.
struct ConstantInit {
  BufferId buffer = -1;
  Tensor data;
};

/// A region as it is to lie in memory: its bytes, never written, at an address aligned to kTensorAlignment, and what
/// keeps them there.
struct ReadyRegion {
  std::shared_ptr<const std::byte> first;  ///< null: there is none
  size_t bytes = 0;
};

/// One operator on the reference kernels. Operands are plain row-major buffers of one space.
struct OpCall {
  std::string op;
  AttrMap attrs;
  std::vector<BufferId> inputs;
  std::vector<BufferId> outputs;
  std::string checked =
      {};  ///< the compiled operator whose index this only checks; empty: it is an operator of the model
};

/// One compiled kernel. `extent` is the length of its parallel loop; the pool gives each call a range [begin, end).
struct KernelCall {
  std::string symbol;             ///< in the plan's code
  std::vector<BufferId> buffers;  ///< its first argument, in order
  int64_t extent = 1;
  int64_t grain = 1;         ///< smallest range worth a separate thread
  size_t scratch_bytes = 0;  ///< private to each thread, handed over as the last buffer; 0: none
  std::string name = {};     ///< what it computes, for traces
};

/// Operators that a library runs as a whole. In a host step (`lower inline`) its buffers are plain.
struct LibraryCall {
  std::string library;  ///< row of libraries/library_list.def: `onednn`, or `plugin:PATH`
  LibraryProgram program;
  std::vector<BufferId> inputs;   ///< in the order of the program's
  std::vector<BufferId> outputs;  ///< in the order of the program's
  std::vector<std::string> text;  ///< how the library runs it, for display
};

using HostCall = std::variant<KernelCall, OpCall, LibraryCall>;

struct HostStep {
  int partition = -1;  ///< index into Plan::partitions
  std::vector<HostCall> calls;
};

/// A partition that a library runs as a whole. The library allocates constants, inner values and scratch itself, at
/// load; the buffers are those of the boundary, in the layouts of the program's values.
struct LibraryStep {
  int partition = -1;
  LibraryCall call;
};

/// A partition on a device: its operators run there, in the device's memory, and take `duration` of its clock.
struct DeviceStep {
  int partition = -1;
  int device = 0;           ///< index into Plan::devices
  std::vector<OpCall> ops;  ///< operands may have other layouts: the device reads them logically
  Duration duration;
  std::vector<LoweringCall> calls{};  ///< what the rules ask for; an operator is in one of them, or in none
};

/// `from` and `to` hold the same logical tensor in other spaces, layouts or storages. A copy between devices changes
/// nothing but the space.
struct ConvertStep {
  BufferId from = -1;
  BufferId to = -1;
  Duration cost;                                    ///< predicted
  std::optional<KernelCall> kernel = std::nullopt;  ///< a change of layout in host memory may have been compiled
};

using Step = std::variant<HostStep, LibraryStep, DeviceStep, ConvertStep>;

/// The step's partition, or -1 for a conversion.
inline int partition_of(const Step& step) {
  return std::visit(
      [](const auto& any) {
        if constexpr (requires { any.partition; }) {
          return any.partition;
        } else {
          return -1;
        }
      },
      step);
}

struct PlanPartition {
  std::string name;
  std::string backend;
  std::string instance;
  std::vector<std::string> nodes;  ///< first result names
  Duration cost;
  std::vector<std::string> rules{};  ///< that matched, by first node: `conv`, `conv:direct{tile=16}`; for traces
};

/// A model input or output: always a plain host buffer.
struct PlanPort {
  std::string name;
  BufferId buffer = -1;
  /// No other buffer is made of its bytes, as parts of a whole are: those that share its place only follow it in time.
  /// The value may then lie anywhere else for a run.
  bool is_apart = false;
};

/// A run whose results are known to be right. In the order of the plan's ports.
struct KnownRun {
  std::vector<Tensor> inputs{};
  std::vector<Tensor> outputs{};
};

/// What one host of a cluster has of a plan: the steps that run there, in the order of the whole, and the conversions
/// from and to its memory. Its own memory is the space `host`, those of others are devices of kind `remote`. Inputs and
/// outputs are those of the first host. All parts have the conversions between two hosts in the same order.
struct PlanPart {
  int host = 0;   ///< its number
  int hosts = 1;  ///< of all parts

  friend bool operator==(const PlanPart&, const PlanPart&) = default;
};

struct Plan {
  std::string model;
  PlanPart part{};
  std::vector<MemorySpace> spaces;  ///< spaces[0] is `host`
  std::vector<DeviceSpec> devices;
  std::vector<Buffer> buffers;
  std::vector<ConstantInit> constants;
  /// The host's constants where they are mapped from a package; then `constants` has none of the host's.
  ReadyRegion host_constants{};
  std::vector<PlanPartition> partitions;
  std::vector<Step> steps;
  /// By step; empty: all 0. Steps of lane 0 run alone. Between two of them, steps of different lanes run at once: the
  /// parts of a partition that is split over devices. No step touches memory that another lane writes meanwhile.
  std::vector<int> lanes{};
  std::vector<PlanPort> inputs;
  std::vector<PlanPort> outputs;
  Duration predicted;
  /// Steps start as soon as their operands and resources are available, instead of in sequence; `predicted` and
  /// simulated time are then the makespan (plan/plan_schedule.h).
  bool is_concurrent = false;
  std::vector<KnownRun> known_runs{};  ///< to check it with, where it runs
};

/// Compiled code: `buffers` as KernelCall says, `outside` the table of functions outside (see exec/code.h), [begin,
/// end) the part of the parallel loop to run.
using KernelFunction = void (*)(void* const* buffers, const void* const* outside, int64_t begin, int64_t end);

}  // namespace collage::runtime
