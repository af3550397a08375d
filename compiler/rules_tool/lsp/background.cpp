// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/background.h"

#include <sys/resource.h>

#include <algorithm>

namespace collage::rules_tool::lsp {

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::start(const std::string& file, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.insert_or_assign(file, Waiting{Clock::now() + quiet_, std::move(job)});
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void Background::cancel(const std::string& file) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(file);
}

void Background::work() {
  // On Linux this is about the calling thread alone.
  constexpr int kGivesWay = 10;
  setpriority(PRIO_PROCESS, 0, kGivesWay);
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const auto next = std::min_element(waiting_.begin(), waiting_.end(),
                                       [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
    if (next == waiting_.end()) {
      changed_.wait(lock);
      continue;
    }
    if (const Clock::time_point due = next->second.due; due > Clock::now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    const std::function<void()> job = std::move(next->second.job);
    waiting_.erase(next);
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace collage::rules_tool::lsp
