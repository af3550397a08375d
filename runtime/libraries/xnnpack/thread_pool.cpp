// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/xnnpack/thread_pool.h"

#include <dlfcn.h>
#include <xnnpack.h>

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "runtime/pool/pool.h"

namespace collage::runtime::xnnpack {
namespace {

constexpr char kMark = 0;
thread_local bool was_asked = false;  // for gets_our_pool alone

bool is_ours(pthreadpool_t pool) {
  return pool != nullptr && pool->mark == &kMark;
}

/// The function of pthreadpool that the one of this name here replaces.
template <typename... Arguments>
auto next(const char* name) {
  return reinterpret_cast<void (*)(Arguments...)>(::dlsym(RTLD_NEXT, name));
}

/// Runs a loop over N dimensions, of which the last T are tiled; `numbers` are the N extents, then the T tiles. The
/// task gets the N indices, then how much of each tile there is.
template <size_t T, typename Task, typename... Numbers>
void run_loop(const char* name, pthreadpool_t pool, Task task, void* context, uint32_t flags, Numbers... numbers) {
  // XNNPACK asks for denormal numbers to be zero, which saves time and costs accuracy: with our pool they stay what
  // they are.
  if (!is_ours(pool))
    return next<pthreadpool_t, Task, void*, Numbers..., uint32_t>(name)(pool, task, context, numbers..., flags);
  constexpr size_t N = sizeof...(Numbers) - T;
  const std::array<size_t, N + T> given{numbers...};
  std::array<size_t, N> step{}, count{};
  size_t total = 1;
  for (size_t d = 0; d < N; ++d) {
    step[d] = d < N - T ? 1 : given[d + T];
    count[d] = (given[d] + step[d] - 1) / step[d];
    total *= count[d];
  }
  const auto body = [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      std::array<size_t, N> at{};
      std::array<size_t, T> extent{};
      auto rest = static_cast<size_t>(index);
      for (size_t d = N; d-- > 0; rest /= count[d]) {
        at[d] = rest % count[d] * step[d];
        if (d >= N - T) extent[d - (N - T)] = std::min(step[d], given[d] - at[d]);
      }
      std::apply(task, std::tuple_cat(std::make_tuple(context), at, extent));
    }
  };
  (void)parallel_for(static_cast<int64_t>(total), 1, pool->threads, body);  // tasks are C: none of them throws
}

}  // namespace

pthreadpool make_pool(int threads) {
  return {&kMark, threads};
}

bool gets_our_pool() {
  static const bool is_bound = [] {
    xnn_operator_t probe = nullptr;
    if (xnn_create_abs_nc_f32(1, 1, 1, 0, &probe) != xnn_status_success) return false;
    const std::unique_ptr<xnn_operator, decltype(&xnn_delete_operator)> owner(probe, &xnn_delete_operator);
    std::array<float, 16> numbers{};
    was_asked = false;
    // Null, since pthreadpool itself takes that for one thread.
    (void)xnn_setup_abs_nc_f32(probe, 1, numbers.data(), numbers.data() + 8, nullptr);
    return was_asked;
  }();
  return is_bound;
}

}  // namespace collage::runtime::xnnpack

// What XNNPACK calls of pthreadpool.
#define COLLAGE_REPLACES extern "C" __attribute__((visibility("default"), used))
using namespace collage::runtime::xnnpack;  // NOLINT: the functions below have no namespace

COLLAGE_REPLACES size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  was_asked = true;
  if (is_ours(pool)) return static_cast<size_t>(pool->threads);
  if (pool == nullptr) return 1;
  return reinterpret_cast<size_t (*)(pthreadpool_t)>(::dlsym(RTLD_NEXT, "pthreadpool_get_threads_count"))(pool);
}

COLLAGE_REPLACES void pthreadpool_parallelize_1d(pthreadpool_t pool, pthreadpool_task_1d_t task, void* context,
                                                 size_t i, uint32_t flags) {
  run_loop<0>("pthreadpool_parallelize_1d", pool, task, context, flags, i);
}

COLLAGE_REPLACES void pthreadpool_parallelize_1d_tile_1d(pthreadpool_t pool, pthreadpool_task_1d_tile_1d_t task,
                                                         void* context, size_t i, size_t tile_i, uint32_t flags) {
  run_loop<1>("pthreadpool_parallelize_1d_tile_1d", pool, task, context, flags, i, tile_i);
}

COLLAGE_REPLACES void pthreadpool_parallelize_2d(pthreadpool_t pool, pthreadpool_task_2d_t task, void* context,
                                                 size_t i, size_t j, uint32_t flags) {
  run_loop<0>("pthreadpool_parallelize_2d", pool, task, context, flags, i, j);
}

COLLAGE_REPLACES void pthreadpool_parallelize_2d_tile_1d(pthreadpool_t pool, pthreadpool_task_2d_tile_1d_t task,
                                                         void* context, size_t i, size_t j, size_t tile_j,
                                                         uint32_t flags) {
  run_loop<1>("pthreadpool_parallelize_2d_tile_1d", pool, task, context, flags, i, j, tile_j);
}

COLLAGE_REPLACES void pthreadpool_parallelize_2d_tile_2d(pthreadpool_t pool, pthreadpool_task_2d_tile_2d_t task,
                                                         void* context, size_t i, size_t j, size_t tile_i,
                                                         size_t tile_j, uint32_t flags) {
  run_loop<2>("pthreadpool_parallelize_2d_tile_2d", pool, task, context, flags, i, j, tile_i, tile_j);
}

COLLAGE_REPLACES void pthreadpool_parallelize_3d(pthreadpool_t pool, pthreadpool_task_3d_t task, void* context,
                                                 size_t i, size_t j, size_t k, uint32_t flags) {
  run_loop<0>("pthreadpool_parallelize_3d", pool, task, context, flags, i, j, k);
}

COLLAGE_REPLACES void pthreadpool_parallelize_3d_tile_2d(pthreadpool_t pool, pthreadpool_task_3d_tile_2d_t task,
                                                         void* context, size_t i, size_t j, size_t k, size_t tile_j,
                                                         size_t tile_k, uint32_t flags) {
  run_loop<2>("pthreadpool_parallelize_3d_tile_2d", pool, task, context, flags, i, j, k, tile_j, tile_k);
}

COLLAGE_REPLACES void pthreadpool_parallelize_4d(pthreadpool_t pool, pthreadpool_task_4d_t task, void* context,
                                                 size_t i, size_t j, size_t k, size_t l, uint32_t flags) {
  run_loop<0>("pthreadpool_parallelize_4d", pool, task, context, flags, i, j, k, l);
}

COLLAGE_REPLACES void pthreadpool_parallelize_4d_tile_2d(pthreadpool_t pool, pthreadpool_task_4d_tile_2d_t task,
                                                         void* context, size_t i, size_t j, size_t k, size_t l,
                                                         size_t tile_k, size_t tile_l, uint32_t flags) {
  run_loop<2>("pthreadpool_parallelize_4d_tile_2d", pool, task, context, flags, i, j, k, l, tile_k, tile_l);
}

COLLAGE_REPLACES void pthreadpool_parallelize_5d(pthreadpool_t pool, pthreadpool_task_5d_t task, void* context,
                                                 size_t i, size_t j, size_t k, size_t l, size_t m, uint32_t flags) {
  run_loop<0>("pthreadpool_parallelize_5d", pool, task, context, flags, i, j, k, l, m);
}

COLLAGE_REPLACES void pthreadpool_parallelize_5d_tile_2d(pthreadpool_t pool, pthreadpool_task_5d_tile_2d_t task,
                                                         void* context, size_t i, size_t j, size_t k, size_t l,
                                                         size_t m, size_t tile_l, size_t tile_m, uint32_t flags) {
  run_loop<2>("pthreadpool_parallelize_5d_tile_2d", pool, task, context, flags, i, j, k, l, m, tile_l, tile_m);
}

COLLAGE_REPLACES void pthreadpool_parallelize_6d_tile_2d(pthreadpool_t pool, pthreadpool_task_6d_tile_2d_t task,
                                                         void* context, size_t i, size_t j, size_t k, size_t l,
                                                         size_t m, size_t n, size_t tile_m, size_t tile_n,
                                                         uint32_t flags) {
  run_loop<2>("pthreadpool_parallelize_6d_tile_2d", pool, task, context, flags, i, j, k, l, m, n, tile_m, tile_n);
}
