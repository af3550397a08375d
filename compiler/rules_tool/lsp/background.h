// SPDX-License-Identifier: Apache-2.0
// Work that takes longer than an answer may: one thread beside the server's, and at most one waiting job for each file,
// the newest.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace collage::rules_tool::lsp {

class Background {
 public:
  Background() = default;
  /// Waits for the job at hand; others are dropped.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// `job` must not throw. It takes the place of one that waits for the same file.
  void start(const std::string& file, std::function<void()> job);
  /// Drops what waits for a file.
  void cancel(const std::string& file);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;  ///< from the first job on
};

}  // namespace collage::rules_tool::lsp
