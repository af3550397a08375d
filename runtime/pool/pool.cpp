// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/pool.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace collage::runtime {
namespace {

/// Empty, or what the part threw.
std::string run_part(RangeFunction function, void* context, int64_t begin, int64_t end, int part) {
  try {
    function(context, begin, end, part);
    return {};
  } catch (const std::exception& exception) {
    return std::string("a parallel loop failed: ") + exception.what();
  } catch (...) {
    return "a parallel loop failed";
  }
}

}  // namespace

int part_count(int64_t extent, int64_t grain, int threads) {
  if (extent <= 0) return 0;
  int64_t most = extent / std::max<int64_t>(grain, 1);
  return static_cast<int>(std::clamp<int64_t>(most, 1, std::max(threads, 1)));
}

Status parallel_for_raw(int64_t extent, int64_t grain, int threads, RangeFunction function, void* context) {
  int parts = part_count(extent, grain, threads);
  if (parts == 0) return Status::ok();
  if (parts == 1) {
    std::string failure = run_part(function, context, 0, extent, 0);
    return failure.empty() ? Status::ok() : Status::error(std::move(failure));
  }
  int64_t length = extent / parts;
  int64_t longer = extent % parts;  // number of parts, the first ones, with one element more
  std::vector<std::string> failures(static_cast<size_t>(parts));
  // A loop over parts, not over threads: correct even if OpenMP grants fewer threads than requested.
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    int64_t begin = part * length + std::min<int64_t>(part, longer);
    int64_t end = begin + length + (part < longer ? 1 : 0);
    failures[static_cast<size_t>(part)] = run_part(function, context, begin, end, part);
  }
  for (std::string& failure : failures) {
    if (!failure.empty()) return Status::error(std::move(failure));
  }
  return Status::ok();
}

ThreadScope::ThreadScope(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(std::max(threads, 1));
}

ThreadScope::~ThreadScope() {
  omp_set_num_threads(before_);
}

}  // namespace collage::runtime
