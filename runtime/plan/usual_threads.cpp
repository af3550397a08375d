// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/usual_threads.h"

#include <algorithm>

#include "runtime/pool/range_function.h"

namespace collage::runtime {
namespace {

constexpr double kLoop = 1e-6;         ///< seconds that a parallel loop takes beside its work
constexpr double kLittleWork = 50e-6;  ///< seconds, of one thread: two are hardly faster, and many callers share them

/// How many parallel loops the calls run.
size_t loops_of(const std::vector<HostCall>& calls, int threads) {
  size_t loops = 0;
  for (const HostCall& call : calls) {
    if (const auto* kernel = std::get_if<KernelCall>(&call)) {
      loops += part_count(kernel->extent, kernel->grain, threads) > 1 ? 1 : 0;
    } else if (const auto* library = std::get_if<LibraryCall>(&call)) {
      loops += library->program.ops.size();
    } else {
      ++loops;
    }
  }
  return loops;
}

/// Seconds that one thread takes at most for what `threads` do in `cost` by so many loops.
double most_of_one_thread(Duration cost, size_t loops, int threads) {
  const double work = cost.seconds() - kLoop * static_cast<double>(loops);
  return loops == 0 ? cost.seconds() : std::max(cost.seconds(), work * threads);
}

class Counter {
 public:
  Counter(const Plan& plan, int threads) : plan_(plan), threads_(threads) {}

  double operator()(const HostStep& step) const { return of(step.partition, loops_of(step.calls, threads_)); }
  double operator()(const LibraryStep& step) const { return of(step.partition, step.call.program.ops.size()); }
  double operator()(const DeviceStep&) const { return 0; }
  double operator()(const ConvertStep& step) const {
    const bool is_of_host = space_of(step.from) == 0 && space_of(step.to) == 0;
    return is_of_host ? most_of_one_thread(step.cost, 1, threads_) : 0;
  }

 private:
  /// A partition that states no time may take any.
  double of(int partition, size_t loops) const {
    if (partition < 0) return kLittleWork;
    const Duration cost = plan_.partitions[static_cast<size_t>(partition)].cost;
    return cost > Duration() ? most_of_one_thread(cost, loops, threads_) : kLittleWork;
  }
  int space_of(BufferId buffer) const { return plan_.buffers[static_cast<size_t>(buffer)].space; }

  const Plan& plan_;
  int threads_;
};

}  // namespace

int usual_threads(const Plan& plan, int threads) {
  const Counter count(plan, threads);
  double seconds = 0;
  for (const Step& step : plan.steps) seconds += std::visit(count, step);
  return seconds < kLittleWork ? std::min(threads, 1) : threads;
}

}  // namespace collage::runtime
