// SPDX-License-Identifier: Apache-2.0
// A thread that beats for a worker while it measures, over a connection of its own: it says that the worker is there,
// and extends the lease of its job, but no longer than the measurement may take. A compiler that measures waits for
// other jobs meanwhile, and is there for these, too.
//
//     measuring thread:   claim ── hold ──────── measures ──────── drop ── finish
//     this thread:                  extend, beat, extend, beat, …
//
// It also notices that the program is to stop while a job is held: it gives the lease back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "compiler/measure/fleet/queue.h"

namespace collage::measure::fleet {

struct LeaseKeeperOptions {
  std::string address;
  double lease_seconds = 15;  ///< three beats
  int stop = -1;              ///< a descriptor that can be read when the program is to stop; -1: none
  /// Called in the thread after the leases were given back, or where the other thread has not ended `patience` seconds
  /// after it was to stop.
  std::function<void()> stopped{};
  double patience = 2;
};

class LeaseKeeper {
 public:
  /// Starts the thread.
  explicit LeaseKeeper(LeaseKeeperOptions options);
  /// Ends it.
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;
  LeaseKeeper& operator=(const LeaseKeeper&) = delete;

  /// Beats for this worker from now on.
  void set_worker(int64_t worker);
  /// Renews this asker, too.
  void set_asker(const Asker& asker);
  /// What the worker says of itself.
  void set_note(const std::string& note);
  /// Extends the lease of a job from now on, for at most so long.
  void hold(const Job& job, double most_seconds);
  void drop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Job job;
    Clock::time_point end;
  };
  struct State {
    int64_t worker = 0;
    Asker asker;
    std::string note;
    std::optional<Held> held;
    bool is_ending = false;
  };

  void run();
  /// One round over the connection, which is opened if need be.
  void beat(const State& now);
  void leave(const State& now);
  bool is_to_stop() const;

  LeaseKeeperOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  std::unique_ptr<postgres::Connection> connection_;  ///< of the thread
  std::thread thread_;                                ///< last, so that it sees all of these
};

}  // namespace collage::measure::fleet
