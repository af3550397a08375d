// SPDX-License-Identifier: Apache-2.0
// At most one compiler measures at a time: two at once would measure each other, and the database would keep it.
#pragma once

#include <functional>
#include <string>

namespace collage::measure {

/// Holds an advisory lock on a file from construction to destruction. The kernel releases it when the process ends,
/// however it ends, so there are no stale locks; and it is the only thing that its holder waits for, so there are no
/// deadlocks. The measuring process does not inherit it.
class MachineLock {
 public:
  /// Makes the file if it is not there, and waits as long as another holds the lock; calls `waiting` (may be empty)
  /// once before that. Without a lock where `path` is empty or such a file cannot be had.
  MachineLock(const std::string& path, const std::function<void()>& waiting);
  ~MachineLock();
  MachineLock(const MachineLock&) = delete;
  MachineLock& operator=(const MachineLock&) = delete;

  bool is_held() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace collage::measure
