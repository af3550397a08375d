// SPDX-License-Identifier: Apache-2.0
// The loop of a worker: announces itself, claims jobs, measures them one after another, and waits for notifications
// where there are none. While another program measures on the machine it holds no job, and claims those that need no
// lock. A server that goes away is connected to again, with pauses that grow; what was measured meanwhile is kept if
// the lease has not ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "compiler/measure/fleet/job_meter.h"
#include "compiler/measure/fleet/queue.h"

namespace collage::measure::fleet {

struct ServeOptions {
  std::string address;
  Announcement announcement;  ///< needs are those of the meter
  double lease_seconds = 15;
  double tick_seconds = 10;  ///< between looks at the queue without a notification
  bool ends_when_empty = false;
  int stop = -1;     ///< a descriptor that can be read when it is to end; -1: none
  std::string lock;  ///< held while something is measured alone (machine_lock.h); empty: none
  /// Ends the program, in another thread, where it is to stop while it measures: the lease was given back.
  std::function<void()> stopped{};
  /// One line for who watches; may be empty.
  std::function<void(const std::string&)> say{};
};

/// Ends when it is to stop, or when nothing waits and it is to end then. Returns an error where it cannot connect at
/// the start, or where the database is of no use: it may not be written, for instance.
runtime::Status serve(const ServeOptions& options, JobMeter& meter);

}  // namespace collage::measure::fleet
