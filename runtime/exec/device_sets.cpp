// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/device_sets.h"

#include "runtime/exec/relocate.h"

namespace collage::runtime {

Result<std::vector<std::shared_ptr<Recovery>>> open_device_sets(const Plan& plan, std::shared_ptr<const Code> code,
                                                                int threads, const std::string& instances,
                                                                const LoadOptions& options) {
  auto counts = parse_instances(instances);
  if (!counts) return counts.status();
  auto plans = plans_for_instances(plan, *counts);
  if (!plans) return plans.status();
  std::vector<std::shared_ptr<Recovery>> sets;
  for (const Plan& one : *plans) {
    auto mover = std::make_shared<PlanMover>(one, code, threads, options);
    auto set = Recovery::open(one, code, threads, options, std::move(mover));
    if (!set) return set.status();
    sets.push_back(std::move(*set));
  }
  return sets;
}

}  // namespace collage::runtime
