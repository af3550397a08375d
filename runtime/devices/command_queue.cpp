// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/command_queue.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>
#include <utility>
#include <variant>

#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Sleeps of this thread end when they should: Linux adds up to 50 us, to wake several threads at once.
void wake_on_time() {
#ifdef __linux__
  (void)prctl(PR_SET_TIMERSLACK, 1UL);
#endif
}

/// Where a queue stands: the clock of what it has done, when that was done, and its failure.
class Progress {
 public:
  explicit Progress(FaultLog& faults) : faults_(faults) {}

  /// `given`: when the command was.
  void run(const CommandQueue::Command& command, WallTime given) {
    if (!status_) return;
    CommandQueue::Turn turn{std::max(given, done_at_)};
    try {
      Result<Duration> length = command(turn);
      if (length) clock_ += std::clamp(*length, Duration(), Duration::max() - clock_);
      if (!length) fail(length.status());
    } catch (const std::exception& exception) {  // no memory for scratch
      fail(Status::error(exception.what()));
    }
    done_at_ = turn.end == WallTime() ? Clock::now() : turn.end;
  }
  void wait(const Event& event) {
    if (!status_) return;
    // A failure of another queue was counted there.
    if (Status status = event.wait(); !status) status_ = status;
    done_at_ = std::max(done_at_, event.reached_at() == WallTime() ? Clock::now() : event.reached_at());
  }
  void reset() { status_ = Status::ok(); }
  const Status& status() const { return status_; }
  Duration clock() const { return clock_; }
  WallTime done_at() const { return done_at_; }

 private:
  void fail(const Status& failure) {
    status_ = failure;
    faults_.add(failure);
  }

  FaultLog& faults_;
  Status status_ = Status::ok();
  Duration clock_;
  WallTime done_at_;
};

class CommandEvent : public Event {
 public:
  bool is_reached() const override { return is_reached_.load(std::memory_order_acquire); }
  Status wait() const override {
    is_reached_.wait(false, std::memory_order_acquire);
    return status_;
  }
  Duration clock() const override { return clock_; }
  WallTime reached_at() const override { return reached_at_; }

  void reach(const Progress& progress) {
    status_ = progress.status();
    clock_ = progress.clock();
    reached_at_ = progress.done_at();
    is_reached_.store(true, std::memory_order_release);
    is_reached_.notify_all();
  }

 private:
  std::atomic<bool> is_reached_ = false;
  Status status_ = Status::ok();
  Duration clock_;
  WallTime reached_at_;
};

class CallerQueue : public CommandQueue {
 public:
  explicit CallerQueue(FaultLog& faults) : progress_(faults) {}

  Status issue(Command command) override {
    progress_.run(command, Clock::now());
    return progress_.status();
  }
  Status wait(const EventRef& event) override {
    progress_.wait(*event);
    return progress_.status();
  }
  EventRef record() override {
    auto event = std::make_shared<CommandEvent>();
    event->reach(progress_);
    return event;
  }
  void reset() override { progress_.reset(); }

 private:
  Progress progress_;
};

/// An event is waited for only after it was recorded. So the item that was given first of all that are still to be done
/// waits for nothing that comes later, and the queues of a process never wait for each other in a cycle.
class ThreadQueue : public CommandQueue {
 public:
  explicit ThreadQueue(FaultLog& faults) : progress_(faults), thread_([this] { serve(); }) {}
  ~ThreadQueue() override {
    push(Stop{});
    thread_.join();
  }

  Status issue(Command command) override {
    push(Given{std::move(command), Clock::now()});
    return Status::ok();
  }
  Status wait(const EventRef& event) override {
    push(event);
    return Status::ok();
  }
  EventRef record() override {
    auto event = std::make_shared<CommandEvent>();
    push(event);
    return event;
  }
  void reset() override {
    push(Reset{});
    (void)record()->wait();
  }

 private:
  struct Given {
    Command command;
    WallTime at;
  };
  struct Stop {};
  struct Reset {};
  using Item = std::variant<Given, EventRef, std::shared_ptr<CommandEvent>, Reset, Stop>;

  void push(Item item) {
    {
      std::lock_guard lock(mutex_);
      items_.push_back(std::move(item));
    }
    given_.notify_one();
  }

  Item next() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return !items_.empty(); });
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  void serve() {
    ThreadScope scope(1);  // the pool belongs to the host's work
    wake_on_time();
    while (true) {
      Item item = next();
      if (std::holds_alternative<Stop>(item)) return;
      if (std::holds_alternative<Reset>(item)) progress_.reset();
      if (const auto* given = std::get_if<Given>(&item)) progress_.run(given->command, given->at);
      if (const auto* event = std::get_if<EventRef>(&item)) progress_.wait(**event);
      if (const auto* event = std::get_if<std::shared_ptr<CommandEvent>>(&item)) (*event)->reach(progress_);
    }
  }

  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Item> items_;
  Progress progress_;  ///< of the thread alone
  std::thread thread_;
};

}  // namespace

void FaultLog::add(const Status& failure) {
  std::lock_guard lock(mutex_);
  ++info_.count;
  info_.last = failure.message();
}

FaultInfo FaultLog::info() const {
  std::lock_guard lock(mutex_);
  return info_;
}

std::unique_ptr<CommandQueue> CommandQueue::make(Runs runs, FaultLog& faults) {
  if (runs == Runs::InThread) return std::make_unique<ThreadQueue>(faults);
  return std::make_unique<CallerQueue>(faults);
}

}  // namespace collage::runtime
