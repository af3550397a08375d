// SPDX-License-Identifier: Apache-2.0
#include "compiler/rules_tool/lsp/background.h"

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
    waiting_.insert_or_assign(file, std::move(job));
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  changed_.notify_all();
}

void Background::cancel(const std::string& file) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(file);
}

void Background::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    std::function<void()> job = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace collage::rules_tool::lsp
