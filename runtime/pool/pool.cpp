// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/pool.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "runtime/pool/chunks.h"
#include "runtime/pool/workers.h"

namespace collage::runtime {
namespace {

/// A process that is forked has none of OpenMP's threads, and its first parallel region would wait for them: they end
/// before the fork, and both processes start new ones.
void end_openmp_threads_at_forks() {
  static const int registered = ::pthread_atfork(end_idle_openmp_threads, nullptr, nullptr);
  (void)registered;
}

}  // namespace

Status parallel_for_raw(int64_t extent, int64_t grain, int threads, RangeFunction function, void* context,
                        Workers* workers) {
  if (workers != nullptr) return workers->run(extent, grain, function, context);
  int parts = part_count(extent, grain, threads);
  if (parts == 0) return Status::ok();
  if (parts == 1) {
    std::string failure = run_part(function, context, {0, extent}, 0);
    return failure.empty() ? Status::ok() : Status::error(std::move(failure));
  }
  end_openmp_threads_at_forks();
  Chunks chunks(parts);
  chunks.restart(extent, grain, parts);
  std::vector<std::string> failures(static_cast<size_t>(parts));
  // A loop over parts, not over threads: correct even if OpenMP grants fewer threads than requested.
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    while (std::optional<Range> range = chunks.take(part)) {
      std::string failure = run_part(function, context, *range, part);
      if (!failure.empty()) failures[static_cast<size_t>(part)] = std::move(failure);
    }
  }
  for (std::string& failure : failures) {
    if (!failure.empty()) return Status::error(std::move(failure));
  }
  return Status::ok();
}

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  end_openmp_threads_at_forks();
  omp_set_num_threads(std::max(threads, 1));
}

ThreadScope::~ThreadScope() {
  omp_set_num_threads(before_);
}

void end_idle_openmp_threads() {
  (void)omp_pause_resource_all(omp_pause_soft);
}

}  // namespace collage::runtime
