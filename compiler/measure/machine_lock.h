// SPDX-License-Identifier: Apache-2.0
// At most one program measures on a machine at a time, whoever runs it and whatever database it has: two at once would
// disturb each other's times, and the database would keep them.
//
//     first program     binds a socket to the name        ── holds the lock ──  ends, or closes the socket
//     second program    the name is taken; connects       ── waits ───────────  its connection ends; binds
//
// The name is one of abstract Unix sockets: it has no file, hence no owner and no permissions, and the kernel frees it
// when the process ends, however it ends, so there are no stale locks. Over the connection a waiting program learns
// which process holds the lock. Each network namespace has names of its own: a container with its own network does not
// see the locks of its machine.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "compiler/measure/stop.h"
#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::measure {

/// Returns the name of the lock of this machine, the same for all: `COLLAGE_MACHINE_LOCK`, if it is set, for those who
/// measure on processors of their own. Empty, as that variable may be: none.
std::string machine_lock_name();

/// Returns why no program can hold a lock here; programs then measure without.
runtime::Status check_machine_locks();

/// The process that holds a lock.
struct LockHolder {
  int process = 0;      ///< 0: it is not known
  std::string program;  ///< its name, printable; empty: it is not known
  bool is_stopped = false;

  /// `process 4711 (collagec), which is stopped`
  std::string text() const;
  bool operator==(const LockHolder&) const = default;
};

/// Reports a wait for a lock: at once, after ten seconds, then every minute; also when the holder changes or is
/// stopped.
class WaitReport {
 public:
  using Clock = std::chrono::steady_clock;
  /// Called with the holder of the lock and the seconds that this program has waited.
  using Report = std::function<void(const LockHolder&, double seconds)>;

  /// `report` may be empty.
  explicit WaitReport(Report report) : report_(std::move(report)) {}

  void waits(const LockHolder& holder);
  /// The next wait is another one.
  void end() { reported_.reset(); }

 private:
  Report report_;
  std::optional<LockHolder> reported_;  ///< last, in this wait
  Clock::time_point start_, next_;
};

/// Holds a lock from construction to destruction. Its holder waits for no other lock, so there are no deadlocks. The
/// measuring process does not inherit it.
class MachineLock {
 public:
  using Clock = std::chrono::steady_clock;
  using Waiting = WaitReport::Report;

  /// Waits until the lock is free, and reports to `waiting`. Holds no lock if `name` is empty, this system has none, or
  /// `stop` is set meanwhile.
  MachineLock(const std::string& name, const Waiting& waiting, StopFlag stop = nullptr);
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;

  /// The same, but waits until `deadline` at most. Null: another process holds it still, which `*holder` (may be null)
  /// gets.
  static std::unique_ptr<MachineLock> try_lock(const std::string& name, Clock::time_point deadline,
                                               LockHolder* holder = nullptr);

  bool is_held() const { return socket_.is_open(); }

 private:
  MachineLock() = default;

  runtime::Descriptor socket_;
};

}  // namespace collage::measure
