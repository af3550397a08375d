// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/conditions.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "compiler/measure/reference_kernel.h"
#include "runtime/core/host_capabilities.h"

namespace collage::measure {
namespace {

/// `/proc/stat` counts in ticks, so that short times are uncertain by some of them.
constexpr double kMostWaited = 0.05, kMostOthers = 0.15, kMostStolen = 0.05;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// `/proc/self/task/N/schedstat` has nanoseconds on a processor, nanoseconds of waiting for one, and a count.
double seconds_waited() {
  double sum = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/task", error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream file(at->path() / "schedstat");
    double ran = 0, waited = 0;
    if (file >> ran >> waited) sum += 1e-9 * waited;
  }
  return sum;
}

}  // namespace

std::string disturbance_of(const Conditions& conditions, int threads, int processors) {
  const int left_over = std::max(0, processors - threads);
  // Where threads outnumber processors they wait for each other.
  const bool can_tell = threads <= processors;
  if (can_tell && conditions.waited > kMostWaited && conditions.others > left_over + kMostOthers)
    return fmt::format("other programs used {:.1f} of {} processors", conditions.others, processors);
  if (conditions.stolen > kMostStolen)
    return fmt::format("the hypervisor took {:.0f} % of a processor", 100 * conditions.stolen);
  if (conditions.slowdown > kMostSlowdown)
    return fmt::format("the reference kernel took {:.1f} times as long as otherwise", conditions.slowdown);
  return "";
}

ConditionsWatch::Counters ConditionsWatch::now() {
  Counters counters;
  counters.time = std::chrono::steady_clock::now();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  counters.own = seconds(used.ru_utime) + seconds(used.ru_stime);
  counters.waited = seconds_waited();
  // The first line is `cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...`, in ticks of all processors.
  std::ifstream file("/proc/stat");
  std::string name;
  std::array<double, 8> ticks{};
  file >> name;
  for (double& column : ticks) file >> column;
  const auto per_second = static_cast<double>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  counters.busy = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / per_second;
  counters.stolen = ticks[7] / per_second;
  return counters;
}

Conditions ConditionsWatch::so_far(int threads) const {
  const Counters end = now();
  const double wall = std::chrono::duration<double>(end.time - start_.time).count();
  Conditions conditions;
  if (wall <= 0) return conditions;
  conditions.waited = (end.waited - start_.waited) / (wall * std::max(1, threads));
  conditions.others = std::max(0.0, (end.busy - start_.busy - (end.own - start_.own)) / wall);
  conditions.stolen = (end.stolen - start_.stolen) / wall;
  return conditions;
}

std::string ConditionsWatch::disturbance(int threads) const {
  return disturbance_of(so_far(threads), threads, runtime::host_capabilities().processors);
}

}  // namespace collage::measure
