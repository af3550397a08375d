// SPDX-License-Identifier: Apache-2.0
// Where each step of a plan runs and what it waits for: on the host, or on a queue of a device.
//
// Steps of the host run in plan order, and so do steps of one queue. What remains to wait for are steps on other
// queues. Only the last of those on one queue counts:
//
//     0 convert x -> npu[0]     npu[0] in
//     1 launch                  npu[0]         after 0 (npu[0] in)
//     2 host step               host           nothing
//     3 convert npu[0] -> y     npu[0] out     after 1 (npu[0])
//     4 host step of y          host           after 3 (npu[0] out)
#pragma once

#include <vector>

#include "runtime/devices/device.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

struct StepNode {
  int queue = -1;               ///< index into StepGraph::queues; -1: the host
  bool starts_on_host = false;  ///< a copy from the host whose bytes the host rewrites first
  bool ends_on_host = false;    ///< a copy to the host whose bytes the host then rewrites
  bool uses_host = true;        ///< touches memory of the host
  std::vector<int> after{};     ///< earlier steps on queues; on its own one only where the host is between them
  int after_host = -1;          ///< of a step on a queue: the last step of the host that it waits for
};

struct StepQueue {
  int device = 0;
  QueueKind kind = QueueKind::Compute;
  std::vector<int> steps{};  ///< in plan order
};

struct StepGraph {
  std::vector<StepNode> nodes;  ///< by step
  std::vector<StepQueue> queues;
};

/// True if both hold the same bytes for the same tensor.
bool is_plain_copy(const Buffer& from, const Buffer& to);

/// Expects a valid plan.
StepGraph make_step_graph(const Plan& plan);

}  // namespace collage::runtime
