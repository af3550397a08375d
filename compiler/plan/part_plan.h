// SPDX-License-Identifier: Apache-2.0
// Cuts a plan over the hosts of a cluster into what runs on each host: a step goes to the part of the host in whose
// memory, or on whose devices, it works; a copy between two hosts goes to both of their parts.
//
//     0: p0 on host               part of host                        part of host[1]
//     1: convert %a -> host[1]    0: p0                               0: convert host[0] -> %a    receives
//     2: p1 on host[1]        =>  1: convert %a -> host[1]    sends   1: p1
//     3: convert %b -> host       2: convert host[1] -> %b            2: convert %b -> host[0]    sends
//     4: p2 on host               3: p2
//
// The memory of a part's own host is its space `host`; that of another one is the space of a device `remote`, `host[0]`
// for the first host. A value there has an offset of its own and no memory.
//
// What holds after: the steps of each part stand in the order of the whole. So any two parts have the copies between
// their hosts in the same order, and a step waits only for steps, here or at another host, that come before it in the
// whole. Each part has the devices, constants and partitions that its own steps use, and those alone; the first has the
// inputs and outputs of the model.
#pragma once

#include <vector>

#include "compiler/plan/build_plan.h"
#include "compiler/plan/targets.h"

namespace collage::plan {

/// By number of the host. `predicted` of each is that of the whole; results, fallbacks and lowerings are those of its
/// own partitions. Expects a plan that `build_plan` made for `targets`, which have a cluster.
std::vector<BuiltPlan> cut_by_host(const BuiltPlan& whole, const PlanTargets& targets);

}  // namespace collage::plan
