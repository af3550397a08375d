// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

namespace collage::runtime {
namespace {

TEST(Pool, RunsEveryIndexOnce) {
  for (int64_t extent : {0, 1, 2, 7, 64, 1001}) {
    for (int threads : {1, 2, 3, 8}) {
      for (int64_t grain : {1, 4, 100}) {
        std::vector<std::atomic<int>> hits(static_cast<size_t>(extent));
        Status status = parallel_for(extent, grain, threads, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
        });
        ASSERT_TRUE(status);
        for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
      }
    }
  }
}

TEST(Pool, NoPartIsShorterThanTheGrain) {
  EXPECT_EQ(part_count(100, 30, 8), 3);
  EXPECT_EQ(part_count(29, 30, 8), 1);
  EXPECT_EQ(part_count(100, 1, 8), 8);
  EXPECT_EQ(part_count(0, 1, 8), 0);
  EXPECT_EQ(part_count(INT64_MAX, 1, 8), 8);
}

TEST(Pool, OnePartRunsOnTheCallersThread) {
  std::thread::id ran_on;
  ASSERT_TRUE(parallel_for(5, 10, 4, [&](int64_t, int64_t, int) { ran_on = std::this_thread::get_id(); }));
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(Pool, ExceptionsBecomeFailures) {
  for (int threads : {1, 4}) {
    Status status = parallel_for(8, 1, threads, [](int64_t begin, int64_t, int) {
      if (begin == 0) throw std::runtime_error("boom");
    });
    ASSERT_FALSE(status);
    EXPECT_NE(status.message().find("boom"), std::string::npos);
  }
}

ptrdiff_t thread_count() {
  using Tasks = std::filesystem::directory_iterator;
  return std::distance(Tasks("/proc/self/task"), Tasks());
}

TEST(Pool, IdleThreadsOfOpenMpEndOnRequest) {
  const ptrdiff_t before = thread_count();
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> sum = 0;
    ASSERT_TRUE(parallel_for(4, 1, 4, [&](int64_t begin, int64_t, int) { sum += static_cast<int>(begin); }));
    EXPECT_EQ(sum, 6);
    EXPECT_GE(thread_count(), 4);
    end_idle_openmp_threads();
    EXPECT_LE(thread_count(), before);
  }
}

/// Threads of OpenMP are not forked: without new ones the child's loop would wait for them for ever.
TEST(Pool, AForkedProcessHasThreadsOfItsOwn) {
  const auto sum_of_loop = [] {
    std::atomic<int> sum = 0;
    return parallel_for(4, 1, 4, [&](int64_t begin, int64_t, int) { sum += static_cast<int>(begin); }) ? sum.load()
                                                                                                       : -1;
  };
  ASSERT_EQ(sum_of_loop(), 6);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(sum_of_loop());
  int status = 0;
  pid_t ended = 0;
  for (int tries = 0; ended == 0 && tries < 600; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = ::waitpid(child, &status, WNOHANG);
  }
  if (ended == 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  EXPECT_EQ(ended, child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 6);
  EXPECT_EQ(sum_of_loop(), 6);
}

}  // namespace
}  // namespace collage::runtime
