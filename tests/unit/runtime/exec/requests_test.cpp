// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/exec/relocate.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

/// How many threads run parts of kernels now, and the most that ever did; and a gate that holds them.
struct Traffic {
  std::atomic<int> running = 0, most = 0;
  std::atomic<bool> is_held = false;
};
Traffic& traffic() {
  static Traffic all;
  return all;
}

/// out[i] = in[i] + 1, slowly.
void count_and_add(void* const* buffers, const void* const*, int64_t begin, int64_t end) {
  const int running = ++traffic().running;
  int most = traffic().most;
  while (running > most && !traffic().most.compare_exchange_weak(most, running)) {
  }
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (traffic().is_held);
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
  }
  --traffic().running;
}

std::shared_ptr<const Program> slow_program(int threads) {
  TestPlan plan(1);
  const BufferId x = plan.input({8}), sum = plan.buffer(0, {8}), in = plan.buffer(1, {8}), out = plan.buffer(1, {8});
  const BufferId y = plan.buffer(0, {8});
  plan.host({KernelCall{"add", {x, sum}, 8, 1, 0}});
  plan.convert(sum, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1000);
  plan.convert(out, y);
  plan.output(y);
  auto code = std::make_shared<TableCode>();
  code->kernels["add"] = &count_and_add;
  auto program = Program::load(plan.plan, code, threads);
  EXPECT_TRUE(program) << (program ? "" : program.message());
  return program ? *program : nullptr;
}

std::vector<float> expected_of(float from) {
  std::vector<float> expected;
  for (int i = 0; i < 8; ++i) expected.push_back(-(from + static_cast<float>(i) + 1));
  return expected;
}

TEST(Requests, ManyAtOnceGetTheirOwnAnswersOnDividedThreads) {
  for (const auto& [threads, of_each, workers] : {std::tuple(4, 1, 4), {4, 2, 2}, {4, 4, 1}, {1, 2, 1}, {5, 2, 2}}) {
    auto requests = Requests::open(slow_program(of_each), {threads, 3});
    ASSERT_TRUE(requests) << requests.message();
    EXPECT_EQ((*requests)->worker_count(), static_cast<size_t>(workers));
    traffic().most = 0;
    std::vector<std::thread> clients;
    std::atomic<int> wrong = 0;
    for (int client = 0; client < 8; ++client) {
      clients.emplace_back([&, client] {
        for (int round = 0; round < 5; ++round) {
          const auto from = static_cast<float>(client * 100 + round);
          Requests::Answer answer = (*requests)->submit({counting({8}, from)}).get();
          if (!answer || values((*answer)[0]) != expected_of(from)) ++wrong;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(traffic().most, std::max(threads, of_each)) << "no more threads than there are";
  }
}

TEST(Requests, AFullQueueRefusesAndTakesAgainWhenThereIsRoom) {
  auto requests = Requests::open(slow_program(1), {1, 2});
  ASSERT_TRUE(requests) << requests.message();
  traffic().is_held = true;
  std::vector<std::future<Requests::Answer>> answers;
  answers.push_back((*requests)->submit({counting({8}, 0)}));
  while (traffic().running == 0) std::this_thread::yield();  // the worker has taken it
  for (float from : {10.0f, 20.0f}) {
    auto answer = (*requests)->try_submit({counting({8}, from)});
    ASSERT_TRUE(answer);
    answers.push_back(std::move(*answer));
  }
  EXPECT_FALSE((*requests)->try_submit({counting({8}, 30)}));
  std::atomic<bool> is_accepted = false;
  std::future<Requests::Answer> last;
  std::thread client([&] {
    last = (*requests)->submit({counting({8}, 30)});
    is_accepted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_accepted) << "it waits for room";
  traffic().is_held = false;
  client.join();
  answers.push_back(std::move(last));
  for (size_t i = 0; i < answers.size(); ++i) {
    Requests::Answer answer = answers[i].get();
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(values((*answer)[0]), expected_of(static_cast<float>(10 * i)));
  }
}

TEST(Requests, WhatWasAcceptedIsServedBeforeTheEnd) {
  std::vector<std::future<Requests::Answer>> answers;
  {
    auto requests = Requests::open(slow_program(1), {2, 16});
    ASSERT_TRUE(requests) << requests.message();
    for (int i = 0; i < 8; ++i) answers.push_back((*requests)->submit({counting({8}, static_cast<float>(i))}));
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    Requests::Answer answer = answers[i].get();
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(values((*answer)[0]), expected_of(static_cast<float>(i)));
  }
}

TEST(Requests, AFailureIsTheAnswerOfItsRequestOnly) {
  auto requests = Requests::open(slow_program(1), {1, 4});
  ASSERT_TRUE(requests) << requests.message();
  auto wrong = (*requests)->submit({});
  auto right = (*requests)->submit({counting({8}, 1)});
  EXPECT_FALSE(wrong.get());
  Requests::Answer answer = right.get();
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_EQ(values((*answer)[0]), expected_of(1));
}

// --- several sets of devices ---

/// One set for each instance of `npu`, behind one injector.
std::vector<std::shared_ptr<Recovery>> sets_of(int instances, const std::shared_ptr<FaultInjector>& faults) {
  TestPlan plan(1);
  const BufferId x = plan.input({8}), sum = plan.buffer(0, {8}), in = plan.buffer(1, {8}), out = plan.buffer(1, {8});
  const BufferId y = plan.buffer(0, {8});
  plan.host({KernelCall{"add", {x, sum}, 8, 1, 0}});
  plan.convert(sum, in);
  plan.device(0, {op("Neg", {in}, {out})}, 1000);
  plan.convert(out, y);
  plan.output(y);
  auto code = std::make_shared<TableCode>();
  code->kernels["add"] = &count_and_add;
  const auto plans = plans_for_instances(plan.plan, {{"npu", instances}});
  EXPECT_TRUE(plans) << (plans ? "" : plans.message());
  const LoadOptions options{faults, 2};
  std::vector<std::shared_ptr<Recovery>> sets;
  for (const Plan& one : *plans) {
    auto set = Recovery::open(one, code, 1, options, std::make_shared<PlanMover>(one, code, 1, options));
    EXPECT_TRUE(set) << (set ? "" : set.message());
    sets.push_back(*set);
  }
  return sets;
}

TEST(Requests, GoToTheSetOfDevicesWithTheFewest) {
  for (const auto& [instances, workers, count] :
       {std::tuple(2, 8, 8), {2, 4, 16}, {3, 3, 9}, {1, 2, 4}, {3, 8, 8}, {2, 1, 6}}) {
    const auto faults = faults_of("");
    auto requests = Requests::open(sets_of(instances, faults), {workers, 32});
    ASSERT_TRUE(requests) << requests.message();
    traffic().is_held = workers >= count;  // so that all of them are in flight at once
    std::vector<std::future<Requests::Answer>> answers;
    for (int i = 0; i < count; ++i) answers.push_back((*requests)->submit({counting({8}, static_cast<float>(i))}));
    while (traffic().is_held && traffic().running < count) std::this_thread::yield();
    traffic().is_held = false;
    for (size_t i = 0; i < answers.size(); ++i) {
      Requests::Answer answer = answers[i].get();
      ASSERT_TRUE(answer) << answer.message();
      EXPECT_EQ(values((*answer)[0]), expected_of(static_cast<float>(i)));
    }
    size_t least = SIZE_MAX, most = 0, all = 0;
    for (int i = 0; i < instances; ++i) {
      const size_t launches = faults->counts("npu[" + std::to_string(i) + "]").launches;
      least = std::min(least, launches);
      most = std::max(most, launches);
      all += launches;
    }
    EXPECT_EQ(all, static_cast<size_t>(count));
    // Workers that end at different times may leave a set a little behind where not all requests are in flight at once.
    if (workers >= count || workers == 1) {
      EXPECT_LE(most - least, 1u) << instances << " instances";
    } else {
      EXPECT_GT(least, 0u);
    }
  }
}

constexpr int kMany = 24;

/// Submits so many requests at once and checks each answer.
void expect_answers(Requests& requests, int count) {
  std::vector<std::future<Requests::Answer>> answers;
  for (int i = 0; i < count; ++i) answers.push_back(requests.submit({counting({8}, static_cast<float>(i))}));
  for (size_t i = 0; i < answers.size(); ++i) {
    Requests::Answer answer = answers[i].get();
    ASSERT_TRUE(answer) << answer.message();
    EXPECT_EQ(values((*answer)[0]), expected_of(static_cast<float>(i)));
  }
}

TEST(Requests, ASetThatLosesItsDeviceHandsItsRequestsOver) {
  const auto faults = faults_of("npu[0]: lose after 2 launches");
  auto requests = Requests::open(sets_of(2, faults), {4, 32});
  ASSERT_TRUE(requests) << requests.message();
  ASSERT_NO_FATAL_FAILURE(expect_answers(**requests, kMany));
  ASSERT_EQ((*requests)->losses().size(), 1u);
  const DeviceLoss loss = (*requests)->losses()[0];
  EXPECT_EQ(loss.device, "npu[0]");
  EXPECT_EQ(loss.partitions, 1u);
  EXPECT_EQ(loss.now_on, "npu[1]");
  // Another worker may find it in its own step.
  ASSERT_TRUE(loss.step);
  EXPECT_EQ(loss.text(), "device npu[0] was lost in step " + std::to_string(*loss.step) +
                             ": 1 partition runs on npu[1] from now on");
  // Requests that another worker has on the device at that moment are answered by the other set, too.
  const std::vector<size_t> served = (*requests)->served();
  ASSERT_EQ(served.size(), 2u);
  EXPECT_LE(served[0], 2u);
  EXPECT_EQ(served[0] + served[1], static_cast<size_t>(kMany));
}

TEST(Requests, TheLastSetGoesOnOnTheHost) {
  const auto faults = faults_of("*: lose after 3 launches");
  auto requests = Requests::open(sets_of(2, faults), {4, 32});
  ASSERT_TRUE(requests) << requests.message();
  ASSERT_NO_FATAL_FAILURE(expect_answers(**requests, kMany));
  ASSERT_EQ((*requests)->losses().size(), 2u);
  EXPECT_EQ((*requests)->losses()[1].now_on, "host");
  requests->reset();
  for (const char* space : {"npu[0]", "npu[1]"}) EXPECT_EQ(faults->counts(space).used, 0u);
}

TEST(Requests, MemoryOfTheCallerIsUsed) {
  const auto faults = faults_of("");
  auto requests = Requests::open(sets_of(1, faults), {1, 2});
  ASSERT_TRUE(requests) << requests.message();
  const Tensor input = counting({8}, 4), output(DType::F32, {8});
  auto answer = (*requests)->try_submit({input.data()}, {output.data()});
  ASSERT_TRUE(answer);
  const Status status = answer->get();
  ASSERT_TRUE(status) << status.message();
  EXPECT_EQ(values(output), expected_of(4));
}

}  // namespace
}  // namespace collage::runtime
