// SPDX-License-Identifier: Apache-2.0
// At most one compiler measures at a time: two at once would disturb each other's times, and the database would keep
// them.
#pragma once

#include <functional>
#include <string>

namespace collage::measure {

/// Returns the file that those lock who measure on this machine for a database elsewhere, in the user's cache; creates the
/// folder. Several machines may share it: each has its own file. Empty where there is no cache.
std::string machine_lock_file();

/// Holds an advisory lock on a file from construction to destruction. The kernel releases it when the process ends,
/// however it ends, so there are no stale locks. Its holder waits for no other lock, so there are no deadlocks. The
/// measuring process does not inherit it.
class MachineLock {
 public:
  /// Creates the file if necessary and waits until the lock is free; calls `waiting` (may be empty) once before that.
  /// Holds no lock if `path` is empty or the file cannot be created.
  MachineLock(const std::string& path, const std::function<void()>& waiting);
  ~MachineLock();
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;

  bool is_held() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace collage::measure
