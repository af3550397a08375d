// SPDX-License-Identifier: Apache-2.0
// The fleet as a compiler sees it: candidates go into the queue (queue.h) at once, their costs come back as workers
// measure them, in any order. Who has no worker for a candidate measures it here, as a worker would: it claims the job,
// so that other compilers wait for the cost and do not measure it, too. It also measures what all workers have failed
// to measure.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/measure/environments.h"
#include "compiler/measure/fleet/lease_keeper.h"
#include "compiler/measure/fleet/queue.h"
#include "compiler/measure/machine_lock.h"
#include "compiler/measure/postgres/verdict.h"

namespace collage::measure::fleet {

struct FleetOptions {
  std::string address;
  TargetMachine target;
  /// Seconds to wait for a server that went away, unless its address has `connect_timeout`.
  double server_patience = 10;
  double worker_patience = 30;  ///< and for workers that did
  double tick_seconds = 5;      ///< between looks without a notification
  double lease_seconds = 15;    ///< of what is measured here
  double asker_seconds = 60;    ///< after which nothing is measured for this compiler, without a sign of life
  double connect_seconds = 10;
  StopFlag stop = nullptr;  ///< ends the wait for answers
  /// On the server, shared with the database of costs there; null: with none.
  std::shared_ptr<postgres::Verdict> verdict{};
};

/// How candidates are measured in this process.
struct MeasureHere {
  std::function<Measurement(size_t index)> measure;  ///< empty: they cannot be
  /// Whether the machine measures nothing else then; empty: none needs that.
  std::function<bool(size_t index)> is_alone;
  /// Returns the lock that is held then; null: another program has it still at the deadline.
  std::function<std::unique_ptr<MachineLock>(MachineLock::Clock::time_point deadline)> lock;
};

struct FleetAnswer {
  Measurement measurement;
  bool is_from_here = false;
  bool is_kept = true;  ///< false: the server went away before it could be stored
};

class Fleet {
 public:
  static runtime::Result<std::unique_ptr<Fleet>> open(FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Workers that the database knows.
  runtime::Result<std::vector<KnownWorker>> workers() { return queue_.workers(); }
  void set_target(TargetMachine target) { options_.target = std::move(target); }

  /// Waits for all of them. No answer where the server went away and did not come back. Calls `progress` with the
  /// number of answers and one that is waited for, after each answer and before waiting.
  std::vector<std::optional<FleetAnswer>> measure(const std::vector<Wanted>& wanted, const MeasureHere& here,
                                                  const std::function<void(size_t done, size_t next)>& progress);
  /// What the user should know, since the last call.
  std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  explicit Fleet(FleetOptions options, std::unique_ptr<postgres::Connection> connection);

  class Round;
  void warn(std::string text);
  /// Says why the workers that are there do not measure what has this need, once.
  runtime::Status explain(int64_t id, const std::string& need, bool measures_here);
  /// Makes tables that were dropped.
  runtime::Status make_tables();
  /// Warns that the queue cannot be used, unless the database of costs has a warning of its own for that.
  void warn_of_queue(const std::string& why, bool measures_here);
  /// Whether the server can be asked.
  bool is_there() const { return !connection_->is_lost() && !options_.verdict->why_lost(); }
  /// The id of this compiler among the workers.
  runtime::Result<int64_t> own_worker();

  FleetOptions options_;
  std::unique_ptr<postgres::Connection> connection_;
  Queue queue_;
  std::unique_ptr<LeaseKeeper> keeper_;
  int64_t worker_ = 0;
  Asker asker_;
  bool has_given_up_ = false;
  std::map<int64_t, Clock::time_point> seen_;     ///< needs that workers had, and when last
  std::map<int64_t, Clock::time_point> missing_;  ///< needs without a worker, and since when
  std::set<int64_t> explained_;                   ///< needs
  std::vector<std::string> warnings_, warned_;
};

}  // namespace collage::measure::fleet
