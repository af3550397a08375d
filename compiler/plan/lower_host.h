// SPDX-License-Identifier: Apache-2.0
// The calls of one host partition: compiled by the JIT, or, where it fails, the reference kernels one by one; matches
// of `lower inline` are calls of a library in between. `home` is the memory of the host that runs them.
//
//     {relu, matmul inline "onednn", add, tanh}   =>   kernel relu, onednn matmul, kernel add+tanh
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/placement/placement.h"
#include "compiler/plan/buffer_table.h"
#include "compiler/plan/build_plan.h"
#include "compiler/plan/lowering_requests.h"

namespace collage::plan {

struct HostLowering {
  std::vector<runtime::HostCall> calls;
  std::vector<Uncompiled> uncompiled{};  ///< of the calls, the reference kernels
  std::optional<std::string> failure{};  ///< why all calls, or all of generated code, are reference kernels
  std::vector<std::string> faults{};     ///< why generated code of some nodes is not used
  struct Refusal {
    const LoweringRequest* request = nullptr;
    std::string reason;
  };
  std::vector<Refusal> refused{};  ///< `lower inline`, or a named generator, that other code takes the place of
};

/// What lowers host partitions.
struct HostLowerer {
  const ir::Graph& graph;
  int threads;  ///< of library calls
  codegen::Jit& jit;
  BufferTable& buffers;
  std::string home = "host";
};

/// The partition's code on the layouts of the placement: it reads and writes its boundary values there. Nothing if some
/// value is stored in another dtype, a library is called in between, or the JIT has no such code.
std::optional<HostLowering> lower_host_as_placed(const HostLowerer& lowerer, const ir::Partition& partition,
                                                 const std::vector<LoweringRequest>& requests);

/// All values are in plain buffers of the host. Never fails: what the JIT cannot do runs by reference, with the reason.
HostLowering lower_host(const HostLowerer& lowerer, const ir::Partition& partition,
                        const std::vector<LoweringRequest>& requests);

/// The nodes on their reference kernels, which is a failure for that reason.
HostLowering reference_calls(const HostLowerer& lowerer, const std::vector<ir::NodeId>& nodes, std::string reason);

}  // namespace collage::plan
