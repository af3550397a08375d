// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

TEST(Workers, RunEveryIndexOnceLoopAfterLoop) {
  for (int threads : {1, 2, 3, 8}) {
    Workers workers(threads);
    for (int64_t extent : {0, 1, 2, 7, 64, 1001}) {
      for (int64_t grain : {1, 4, 100}) {
        for (int again = 0; again < 20; ++again) {
          std::vector<std::atomic<int>> hits(static_cast<size_t>(extent));
          std::atomic<bool> is_part_valid = true;
          auto body = [&](int64_t begin, int64_t end, int part) {
            if (part < 0 || part >= threads || (end - begin < grain && extent >= grain)) is_part_valid = false;
            for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
          };
          ASSERT_TRUE(parallel_for(extent, grain, threads, body, &workers));
          for (const auto& hit : hits) ASSERT_EQ(hit.load(), 1);
          ASSERT_TRUE(is_part_valid);
        }
      }
    }
  }
}

/// Calls with one part do not overlap: scratch belongs to a part.
TEST(Workers, NoTwoCallsOfOnePartAtOnce) {
  Workers workers(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> overlap = false;
  for (int loop = 0; loop < 200; ++loop) {
    auto body = [&](int64_t, int64_t, int part) {
      if (inside[static_cast<size_t>(part)].fetch_add(1) != 0) overlap = true;
      std::this_thread::yield();
      inside[static_cast<size_t>(part)].fetch_sub(1);
    };
    ASSERT_TRUE(parallel_for(16, 1, 4, body, &workers));
  }
  EXPECT_FALSE(overlap);
}

/// The thread that is in index 0 waits until all others are done, also those of its own share.
TEST(Workers, OthersTakeWhatAStoppedThreadHasNotBegun) {
  Workers workers(2);
  constexpr int64_t kExtent = 8;
  std::atomic<int64_t> done = 0;
  auto body = [&](int64_t begin, int64_t end, int) {
    if (begin == 0) {
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (done < kExtent - end && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
      EXPECT_EQ(done, kExtent - end);
    }
    done += end - begin;
  };
  ASSERT_TRUE(parallel_for(kExtent, 1, 2, body, &workers));
  EXPECT_EQ(done, kExtent);
}

TEST(Workers, ComeAgainAfterASleep) {
  Workers workers(3);
  for (int loop = 0; loop < 5; ++loop) {
    std::atomic<int64_t> sum = 0;
    auto body = [&](int64_t begin, int64_t end, int) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      sum += end - begin;
    };
    ASSERT_TRUE(parallel_for(30, 1, 3, body, &workers));
    EXPECT_EQ(sum, 30);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than a thread spins
  }
}

TEST(Workers, AnExceptionBecomesTheFailureAndTheLoopGoesOn) {
  Workers workers(4);
  std::atomic<int> calls = 0;
  auto body = [&](int64_t begin, int64_t, int) {
    ++calls;
    if (begin == 5) throw std::runtime_error("boom");
  };
  Status status = parallel_for(16, 1, 4, body, &workers);
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("boom"), std::string::npos);
  EXPECT_EQ(calls, 16);
  EXPECT_TRUE(parallel_for(
      4, 1, 4, [](int64_t, int64_t, int) {}, &workers));
}

TEST(Workers, SeveralOwnersAtOnce) {
  std::vector<std::thread> owners;
  std::atomic<int64_t> sum = 0;
  for (int owner = 0; owner < 4; ++owner) {
    owners.emplace_back([&sum] {
      Workers workers(2);
      for (int loop = 0; loop < 100; ++loop) {
        auto body = [&](int64_t begin, int64_t end, int) { sum += end - begin; };
        EXPECT_TRUE(parallel_for(10, 1, 2, body, &workers));
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
  EXPECT_EQ(sum, 4 * 100 * 10);
}

TEST(Chunks, DependOnTheArgumentsOnly) {
  Chunks chunks(3);
  const auto all = [&] {
    std::set<std::pair<int64_t, int64_t>> ranges;
    chunks.restart(10, 1, 3);
    for (int part = 2; part >= 0; --part) {
      while (std::optional<Range> range = chunks.take(part)) ranges.emplace(range->begin, range->end);
    }
    return ranges;
  };
  const auto first = all();
  EXPECT_EQ(first.size(), 10u);
  EXPECT_EQ(all(), first);
}

/// A part begins with its own share, the same one each time.
TEST(Chunks, EachPartHasItsOwnShareFirst) {
  Chunks chunks(2);
  chunks.restart(800, 100, 2);
  EXPECT_EQ(chunks.take(1)->begin, 400);
  EXPECT_EQ(chunks.take(0)->begin, 0);
  EXPECT_EQ(chunks.take(1)->begin, 500);
  for (int64_t begin : {100, 200, 300, 600, 700}) EXPECT_EQ(chunks.take(0)->begin, begin);
  EXPECT_FALSE(chunks.take(0));
  EXPECT_FALSE(chunks.take(1));
}

/// Which threads of the system take part in a loop of `parts` parts that wait for each other.
std::set<pid_t> threads_of_loop(int parts, Workers* workers) {
  std::mutex mutex;
  std::set<pid_t> ids;
  std::atomic<int> present = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto body = [&](int64_t, int64_t, int) {
    for (++present; present < parts && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
    std::lock_guard lock(mutex);
    ids.insert(::gettid());
  };
  EXPECT_TRUE(parallel_for(parts, 1, parts, body, workers));
  return ids;
}

TEST(Workers, LentThreadsAreThoseOfOpenMp) {
  for (int threads : {2, 3}) {
    Workers workers(threads, Workers::From::OpenMp);
    const std::set<pid_t> of_openmp = threads_of_loop(threads, nullptr);
    EXPECT_EQ(of_openmp.size(), static_cast<size_t>(threads));
    for (int again = 0; again < 50; ++again) {
      ASSERT_TRUE(workers.lend([&] {
        for (int loop = 0; loop < 3; ++loop) EXPECT_EQ(threads_of_loop(threads, &workers), of_openmp);
        return Status::ok();
      }));
      EXPECT_EQ(threads_of_loop(threads, nullptr), of_openmp) << "a library after it";
    }
  }
}

TEST(Workers, WithoutALoanTheCallerRunsItAlone) {
  Workers workers(3, Workers::From::OpenMp);
  std::atomic<int> calls = 0;
  const auto body = [&](int64_t begin, int64_t end, int) {
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
    ++calls;
  };
  ASSERT_TRUE(parallel_for(100, 1, 3, body, &workers));
  EXPECT_EQ(calls, 1);
}

TEST(Workers, FailuresEndALoan) {
  for (Workers::From from : {Workers::From::Own, Workers::From::OpenMp}) {
    Workers workers(2, from);
    EXPECT_EQ(workers.lend([] { return Status::error("no"); }).message(), "no");
    Status status = workers.lend([&] {
      return parallel_for(
          2, 1, 2, [](int64_t, int64_t, int) { throw std::runtime_error("boom"); }, &workers);
    });
    EXPECT_NE(status.message().find("boom"), std::string::npos);
    EXPECT_EQ(threads_of_loop(1, &workers).size(), 1u);
    ASSERT_TRUE(workers.lend([&] {
      EXPECT_EQ(threads_of_loop(2, &workers).size(), 2u);
      return Status::ok();
    }));
  }
  Workers workers(2, Workers::From::OpenMp);
  EXPECT_EQ(workers.lend([]() -> Status { throw std::runtime_error("boom"); }).message(), "boom");
}

}  // namespace
}  // namespace collage::runtime
