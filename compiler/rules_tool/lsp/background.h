// SPDX-License-Identifier: Apache-2.0
// Work that takes longer than an answer may: one thread beside the server's, which gives way to it, and at most one
// waiting job for each file, the newest. A job begins when no other one of its file was requested for a while, so
// that typing does not start what the next key makes useless.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace collage::rules_tool::lsp {

class Background {
 public:
  /// `quiet`: how long a job waits.
  explicit Background(std::chrono::milliseconds quiet) : quiet_(quiet) {}
  /// Waits for the job at hand; others are dropped.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  /// `job` must not throw. It takes the place of one that waits for the same file.
  void start(const std::string& file, std::function<void()> job);
  /// Drops what waits for a file.
  void cancel(const std::string& file);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Clock::time_point due;
    std::function<void()> job;
  };

  void work();

  const std::chrono::milliseconds quiet_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Waiting> waiting_;  ///< by file
  bool ends_ = false;
  std::thread thread_;  ///< from the first job on
};

}  // namespace collage::rules_tool::lsp
