// SPDX-License-Identifier: Apache-2.0
// More runs in flight than a memory has room for arenas: they use them in turn, and disturb each other in nothing.
#include "runtime/exec/arenas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "runtime/exec/requests.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

constexpr std::chrono::seconds kLong{60};

/// y = -(2 x + w), through two devices; the memories of both hold so many arenas.
struct TwoDevices : TestPlan {
  TwoDevices(bool is_concurrent, bool is_realtime, size_t arenas_of_first, size_t arenas_of_second) : TestPlan(2) {
    plan.is_concurrent = is_concurrent;
    for (DeviceSpec& device : plan.devices) {
      device.copy_queue = true;
      if (is_realtime) device.attrs.set("realtime", int64_t{1});
    }
    const Shape shape{1, 3, 4, 5};
    const BufferId x = input(shape), w = constant(1, counting(shape));
    const BufferId a = buffer(1, shape, "NHWC"), twice = buffer(1, shape), sum = buffer(1, shape);
    const BufferId b = buffer(2, shape), negative = buffer(2, shape), y = buffer(0, shape);
    convert(x, a);
    device(0, {op("Add", {a, a}, {twice})}, 300'000'000);  // 0.3 ms
    device(0, {op("Add", {twice, w}, {sum})}, 1000);
    convert(sum, b);
    device(1, {op("Neg", {b}, {negative})}, 200'000'000);
    convert(negative, y);
    output(y);
    plan.spaces[1].capacity = plan.spaces[1].constant_bytes + arenas_of_first * plan.spaces[1].arena_bytes + 100;
    plan.spaces[2].capacity = arenas_of_second * plan.spaces[2].arena_bytes;
  }

  static Tensor input_of(int run) { return counting({1, 3, 4, 5}, static_cast<float>(run)); }
  static std::vector<float> output_of(int run) {
    std::vector<float> values;
    for (int i = 0; i < 60; ++i) values.push_back(-static_cast<float>(2 * (run + i) + i));
    return values;
  }
};

std::shared_ptr<const Program> load(const Plan& plan, const LoadOptions& options = {}) {
  auto program = Program::load(plan, std::make_shared<TableCode>(), 1, options);
  EXPECT_TRUE(program) << (program ? "" : program.message());
  return program ? *program : nullptr;
}

std::vector<std::unique_ptr<Execution>> executions_of(const std::shared_ptr<const Program>& program, int count) {
  std::vector<std::unique_ptr<Execution>> executions;
  for (int e = 0; e < count; ++e) {
    auto execution = Execution::create(program, ArenaUse::InTurn);
    EXPECT_TRUE(execution) << (execution ? "" : execution.message());
    if (execution) executions.push_back(std::move(*execution));
  }
  return executions;
}

struct Outcome {
  int right = 0, wrong = 0, failed = 0;
};

/// Each execution runs so often, all of them at once.
Outcome run_all(std::vector<std::unique_ptr<Execution>>& executions, int runs) {
  std::atomic<int> right = 0, wrong = 0, failed = 0;
  std::vector<std::future<void>> threads;
  for (size_t e = 0; e < executions.size(); ++e) {
    threads.push_back(std::async(std::launch::async, [&, e] {
      for (int r = 0; r < runs; ++r) {
        const int number = static_cast<int>(e) * 1000 + r;
        const auto outputs = executions[e]->run({TwoDevices::input_of(number)});
        if (!outputs) {
          ++failed;
        } else {
          ++(values((*outputs)[0]) == TwoDevices::output_of(number) ? right : wrong);
        }
      }
    }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.wait_for(kLong), std::future_status::ready) << "a run hangs";
  return {right, wrong, failed};
}

TEST(Arenas, MoreRunsThanArenasGetTheirOwnResults) {
  for (const auto& [is_concurrent, is_realtime] :
       {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    for (const auto& [of_first, of_second] : {std::pair<size_t, size_t>(2, 1), {1, 1}, {3, 2}, {5, 2}}) {
      const TwoDevices plan(is_concurrent, is_realtime, of_first, of_second);
      const auto program = load(plan.plan);
      auto executions = executions_of(program, 5);
      ASSERT_EQ(executions.size(), 5U);
      EXPECT_TRUE(program->arenas().are_shared());
      const std::vector<MemorySpace>& spaces = plan.plan.spaces;
      EXPECT_EQ(program->device(0).memory().used, spaces[1].constant_bytes + of_first * spaces[1].arena_bytes);
      EXPECT_EQ(program->device(1).memory().used, of_second * spaces[2].arena_bytes);
      const Outcome outcome = run_all(executions, 12);
      EXPECT_EQ(outcome.right, 60) << outcome.wrong << " wrong, " << outcome.failed << " failed";
      executions.clear();
      EXPECT_EQ(program->device(0).memory().used, spaces[1].constant_bytes) << "arenas are given back";
    }
  }
}

TEST(Arenas, WhereAllFitNoneIsShared) {
  const TwoDevices plan(true, false, 3, 3);
  const auto program = load(plan.plan);
  auto executions = executions_of(program, 3);
  ASSERT_EQ(executions.size(), 3U);
  EXPECT_FALSE(program->arenas().are_shared());
  EXPECT_EQ(run_all(executions, 4).right, 12);
}

TEST(Arenas, ThoseOfOthersAreNotTaken) {
  const TwoDevices plan(false, false, 1, 1);
  const auto program = load(plan.plan);
  auto own = Execution::create(program);
  ASSERT_TRUE(own) << own.message();
  const auto refused = Execution::create(program, ArenaUse::InTurn);
  ASSERT_FALSE(refused) << "the other one keeps what it has";
  EXPECT_NE(refused.message().find("npu[0]"), std::string::npos) << refused.message();
  own->reset();
  auto executions = executions_of(program, 2);
  EXPECT_FALSE(Execution::create(program));
  EXPECT_EQ(run_all(executions, 3).right, 6);
}

TEST(Arenas, OneWorkerHasItsOwn) {
  const TwoDevices plan(false, false, 1, 1);
  const auto program = load(plan.plan);
  const auto one = Requests::open(program, {1});
  ASSERT_TRUE(one) << one.message();
  EXPECT_FALSE(Execution::create(program, ArenaUse::InTurn));
  EXPECT_FALSE(program->arenas().are_shared());
}

TEST(Arenas, ARunThatDoesNotComeHoldsUpNobody) {
  const TwoDevices plan(false, false, 1, 1);
  const auto program = load(plan.plan);
  auto executions = executions_of(program, 3);
  ASSERT_EQ(executions.size(), 3U);
  executions[0]->announce_run();
  executions.erase(executions.begin());
  EXPECT_EQ(run_all(executions, 3).right, 6);
}

TEST(Arenas, ACommandThatFailsIsGivenAgainBeforeOthersEnter) {
  for (const bool is_realtime : {false, true}) {
    for (const char* where : {"fail_launch_at", "fail_copy_at"}) {
      for (const int at : {2, 5, 9}) {
        TwoDevices plan(true, is_realtime, 2, 1);
        for (DeviceSpec& device : plan.plan.devices) device.attrs.set(where, int64_t{at});
        const auto program = load(plan.plan);
        auto executions = executions_of(program, 4);
        const Outcome outcome = run_all(executions, 6);
        EXPECT_EQ(outcome.right, 24) << outcome.wrong << " wrong, " << outcome.failed << " failed: " << where << " "
                                     << at;
      }
    }
  }
}

TEST(Arenas, ARunThatFailsLetsTheNextOneIn) {
  for (const bool is_realtime : {false, true}) {
    for (const int at : {1, 4, 7}) {
      TwoDevices plan(true, is_realtime, 1, 1);
      plan.plan.devices[0].attrs.set("fail_launch_at", int64_t{at});
      plan.plan.devices[1].attrs.set("fail_copy_at", int64_t{at});
      const auto program = load(plan.plan, {nullptr, 0});
      auto executions = executions_of(program, 4);
      // A run of which the caller is wrong has no turn.
      EXPECT_FALSE(executions[1]->run({counting({2})}));
      executions[2]->announce_run();
      EXPECT_FALSE(executions[2]->run({counting({2})}));
      const Outcome outcome = run_all(executions, 6);
      EXPECT_EQ(outcome.wrong, 0);
      EXPECT_GE(outcome.failed, 1);
      EXPECT_LE(outcome.failed, 2);
      EXPECT_EQ(outcome.right + outcome.failed, 24);
    }
  }
}

TEST(Arenas, ALostDeviceEndsNoRequestsTurn) {
  const auto faults = faults_of("npu[0]: lose after 7 launches");
  const TwoDevices plan(true, true, 2, 1);
  const auto code = std::make_shared<TableCode>();
  const LoadOptions options{faults, 2};
  auto recovery = Recovery::open(plan.plan, code, 1, options, std::make_shared<PlanMover>(plan.plan, code, 1, options));
  ASSERT_TRUE(recovery) << recovery.message();
  auto requests = Requests::open({*recovery}, {4, 32});
  ASSERT_TRUE(requests) << requests.message();
  std::vector<std::future<Requests::Answer>> answers;
  for (int r = 0; r < 24; ++r) answers.push_back((*requests)->submit({TwoDevices::input_of(r)}));
  for (int r = 0; r < 24; ++r) {
    auto& answer = answers[static_cast<size_t>(r)];
    ASSERT_EQ(answer.wait_for(kLong), std::future_status::ready);
    const Requests::Answer outputs = answer.get();
    ASSERT_TRUE(outputs) << outputs.message();
    EXPECT_EQ(values((*outputs)[0]), TwoDevices::output_of(r));
  }
  EXPECT_EQ((*requests)->losses().size(), 1U);
}

/// Values that stay from run to run are of one execution each, also where its arena is not.
TEST(Arenas, KeptValuesAreNotShared) {
  TestPlan plan(1);
  const Shape shape{64};
  const BufferId x = plan.input(shape), cache = plan.input(shape);
  const BufferId x_in = plan.buffer(1, shape), cache_in = plan.buffer(1, shape), sum = plan.buffer(1, shape);
  const BufferId next = plan.buffer(0, shape), scrap = plan.buffer(1, shape), far = plan.buffer(1, shape);
  plan.convert(x, x_in);
  plan.convert(cache, cache_in);
  plan.device(0, {op("Add", {cache_in, x_in}, {sum}), op("Neg", {sum}, {scrap}), op("Neg", {scrap}, {far})}, 1000);
  plan.convert(sum, next);
  plan.output(next);
  MemorySpace& space = plan.plan.spaces[1];
  space.capacity = space.arena_bytes + 4 * 256;  // two values for each of two executions, and no arena
  ASSERT_LT(4U * 256, space.arena_bytes);
  const auto program = load(plan.plan);
  auto executions = executions_of(program, 2);
  ASSERT_EQ(executions.size(), 2U);
  for (auto& execution : executions) {
    const Status kept = execution->keep(0, 1);
    ASSERT_TRUE(kept) << kept.message();
    ASSERT_NE(execution->kept()[0]->device(), nullptr);
  }
  std::vector<std::thread> threads;
  for (size_t e = 0; e < 2; ++e) {
    threads.emplace_back([&, e] {
      for (int run = 0; run < 50; ++run) {
        const Tensor step = f32(shape, std::vector<float>(64, static_cast<float>(e + 1)));
        EXPECT_TRUE(executions[e]->run({step, f32(shape, std::vector<float>(64, 0))}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t e = 0; e < 2; ++e) {
    const Tensor value(DType::F32, shape);
    ASSERT_TRUE(executions[e]->read_kept(0, value.data()));
    EXPECT_EQ(values(value), std::vector<float>(64, 50 * static_cast<float>(e + 1)));
  }
}

// --- lines of one arena ---

/// A point of a queue that the test reaches.
class TestEvent : public Event {
 public:
  bool is_reached() const override { return is_reached_.load(); }
  Status wait() const override {
    is_reached_.wait(false);
    return failure_;
  }
  Duration clock() const override { return {}; }

  void reach(const Status& failure) {
    failure_ = failure;
    is_reached_ = true;
    is_reached_.notify_all();
  }

 private:
  std::atomic<bool> is_reached_ = false;
  Status failure_ = Status::ok();
};

/// Runs that use the one arena of a device.
class Line : public ::testing::Test {
 protected:
  static constexpr int kSpace = 1;

  Line() : plan_(false, false, 1, 1), program_(load(plan_.plan)) {
    for (int e = 0; e < 3; ++e) {
      arenas_.push_back(*program_->arenas().take(kSpace, ArenaUse::InTurn));
      turns_.push_back(std::make_unique<ArenaTurns>(program_->arenas()));
      turns_.back()->add(kSpace, *arenas_.back());
    }
  }
  ~Line() override {
    for (Arena* arena : arenas_) program_->arenas().give_back(kSpace, arena);
  }
  bool enters(size_t run) { return turns_[run]->try_enter(std::vector<int>{kSpace}); }
  std::future<void> entering(size_t run) {
    return std::async(std::launch::async, [this, run] { turns_[run]->enter(kSpace); });
  }
  static bool is_waiting(const std::future<void>& entered) {
    return entered.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout;
  }

  TwoDevices plan_;
  std::shared_ptr<const Program> program_;
  std::vector<Arena*> arenas_;
  std::vector<std::unique_ptr<ArenaTurns>> turns_;
};

TEST_F(Line, RunsEnterInTheOrderInWhichTheyBegan) {
  for (size_t run : {2, 0, 1}) turns_[run]->begin();
  turns_[0]->begin();  // it has its place
  EXPECT_FALSE(enters(0));
  EXPECT_FALSE(enters(1));
  EXPECT_TRUE(enters(2));
  auto last = entering(1), second = entering(0);
  EXPECT_TRUE(is_waiting(second));
  turns_[2]->end();
  second.get();
  EXPECT_TRUE(is_waiting(last)) << "one at a time";
  turns_[0]->leave(kSpace, {});
  last.get();
  turns_[0]->end();
  turns_[1]->end();
}

TEST_F(Line, AnArenaIsFreeWhenItsLastCommandsAreDone) {
  for (size_t run : {0, 1, 2}) turns_[run]->begin();
  ASSERT_TRUE(enters(0));
  const auto copy = std::make_shared<TestEvent>(), launch = std::make_shared<TestEvent>();
  turns_[0]->leave(kSpace, {copy, launch});
  auto second = entering(1);
  copy->reach(Status::ok());
  EXPECT_TRUE(is_waiting(second));
  launch->reach(Status::ok());
  second.get();
  // The first one ends after the next one has begun; a run that ends before its turn does not open the arena.
  turns_[0]->end();
  auto again = entering(2);
  turns_[0]->begin();
  turns_[0]->end();
  EXPECT_TRUE(is_waiting(again));
  turns_[1]->end();
  again.get();
  turns_[2]->end();
}

TEST_F(Line, AfterAFailureTheRunIsStillInside) {
  for (size_t run : {0, 1, 2}) turns_[run]->begin();
  ASSERT_TRUE(enters(0));
  const auto launch = std::make_shared<TestEvent>(), again = std::make_shared<TestEvent>();
  turns_[0]->leave(kSpace, {launch});
  auto second = entering(1);
  launch->reach(Status::error("it failed"));
  EXPECT_TRUE(is_waiting(second));
  EXPECT_FALSE(enters(2));
  turns_[0]->return_to(kSpace);
  EXPECT_TRUE(is_waiting(second));
  turns_[0]->leave(kSpace, {again});
  EXPECT_TRUE(is_waiting(second));
  again->reach(Status::ok());
  second.get();
  turns_[1]->leave(kSpace, {launch});
  EXPECT_FALSE(enters(2));
  turns_[1]->end();
  EXPECT_TRUE(enters(2));
  turns_[0]->end();
  turns_[2]->end();
}

}  // namespace
}  // namespace collage::runtime
