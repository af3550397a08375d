// SPDX-License-Identifier: Apache-2.0
// Runs a plan of one operator with the runtime alone.
#include <cstdio>
#include <memory>

#include "runtime/exec/executor.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

bool runs() {
  test::TestPlan plan;
  BufferId x = plan.input({3});
  BufferId y = plan.buffer(0, {3});
  plan.host({test::op("Relu", {x}, {y})});
  plan.output(y);
  test::TableCode code;
  Result<std::unique_ptr<Executor>> executor = Executor::load(plan.plan, code, 1);
  if (!executor) return false;
  Result<std::vector<Tensor>> outputs = (*executor)->run({test::f32({3}, {-1, 0, 2})});
  return outputs && test::values(outputs->at(0)) == std::vector<float>{0, 0, 2};
}

}  // namespace
}  // namespace collage::runtime

int main() {
  if (!collage::runtime::runs()) return 1;
  std::puts("the plan ran");
  return 0;
}
