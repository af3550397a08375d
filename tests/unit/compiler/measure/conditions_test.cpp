// SPDX-License-Identifier: Apache-2.0
// What disturbs measurements is noticed. No time is asserted: other programs may run beside this test, too.
#include "compiler/measure/conditions.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/measure/reference_kernel.h"
#include "compiler/measure/time_candidate.h"
#include "runtime/core/host_capabilities.h"

namespace collage::measure {
namespace {

TEST(Conditions, SayWhatDisturbs) {
  const auto of = [](double waited, double others, double stolen, double slowdown) {
    return disturbance_of({waited, others, stolen, slowdown}, 2, 4);
  };
  EXPECT_EQ(of(0, 0, 0, 1), "");
  EXPECT_EQ(of(0.3, 3.5, 0, 1), "other programs used 3.5 of 4 processors");
  EXPECT_EQ(of(0, 3.5, 0, 1), "") << "no thread had to wait for them";
  EXPECT_EQ(of(0.3, 1.9, 0, 1), "") << "two processors are left over";
  EXPECT_EQ(of(0, 0, 0.5, 1), "the hypervisor took 50 % of a processor");
  EXPECT_EQ(of(0, 0, 0, 1.5), "the reference kernel took 1.5 times as long as otherwise");
  EXPECT_EQ(disturbance_of({0.5, 1, 0, 1}, 8, 4), "") << "its own threads wait for each other";
}

TEST(Conditions, TheReferenceKernelIsCalibrated) {
  const Duration least = calibrate_reference_kernel();
  EXPECT_GT(least, Duration());
  EXPECT_LT(least, Duration::seconds(0.1));
  EXPECT_GT(time_reference_kernel(), Duration());
}

/// Processes that take all processors, three times over.
class BusyLoops {
 public:
  BusyLoops() {
    for (int i = 0; i < 3 * runtime::host_capabilities().processors; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        for (const volatile int on = 1; on != 0;) {
        }
      }
      children_.push_back(child);
    }
  }
  ~BusyLoops() {
    for (pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

 private:
  std::vector<pid_t> children_;
};

TEST(Conditions, BusyLoopsBesideAMeasurementMarkIt) {
  constexpr const char* kCandidate = R"(model @candidate(%v0: f32[1, 64, 28, 28]) -> (%v2: f32[1, 64, 28, 28]) {
  %v1 = const random seed 1 : f32[64, 64, 3, 3]
  %v2 = partition @p0 on host(host) (%v0) -> (host) {
    %v2 = Conv(%v0, %v1) {pads = [1, 1, 1, 1]} : f32[1, 64, 28, 28]
  }
})";
  plan::PlanTargets targets;
  targets.backends.push_back({"host", ir::RuntimeKind::HostJit});
  TimingOptions options;
  options.threads = runtime::host_capabilities().processors;
  options.budget_seconds = 0.3;
  options.least_runs = 1000;
  const BusyLoops loops;
  const Measurement measured = time_candidate(kCandidate, targets, options);
  EXPECT_FALSE(measured.failed()) << measured.failure;
  EXPECT_NE(measured.disturbance, "");
}

}  // namespace
}  // namespace collage::measure
