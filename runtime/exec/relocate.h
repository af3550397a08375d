// SPDX-License-Identifier: Apache-2.0
// Plans for other devices than they were made for, without the compiler. Results are the same; times are not what the
// compiler would find.
//
//     without_devices(plan, {npu[0]})      what ran on npu[0] runs on an equal device of the plan that has room, or on
//                                          the host, by the reference kernels and in the dtypes of the model
//     plans_for_instances(plan, {npu: 3})  npu[0]   =>   npu[0] | npu[1] | npu[2], a plan for each
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// Expects a valid plan with the values of its constants. `lost`: spaces; those that the plan does not use are ignored.
/// Fails where a device that remains cannot exchange values with the host.
Result<Plan> without_devices(const Plan& plan, const std::vector<std::string>& lost);

/// `npu=3,dsp=1` as counts by name. Empty text: none.
Result<std::map<std::string, int>> parse_instances(const std::string& text);

/// As many plans as there are disjoint sets of instances for it, at least one; all the same but for the names of
/// instances. `counts`: how many instances of each device there are, by name; others are as many as the plan uses.
/// Where there are fewer than the plan uses, the plan goes without the others.
Result<std::vector<Plan>> plans_for_instances(const Plan& plan, const std::map<std::string, int>& counts);

}  // namespace collage::runtime
