// SPDX-License-Identifier: Apache-2.0
// What each stage of a command takes (`--time-passes`).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace collage::driver {

class StageClock {
 public:
  /// `on_stage` is told of each stage when it begins.
  explicit StageClock(std::function<void(const char*)> on_stage = {}) : on_stage_(std::move(on_stage)) {}

  /// Calls `stage`, notes its time and returns its result. `name`: a literal.
  template <typename Stage>
  auto time(const char* name, Stage&& stage) {
    if (on_stage_) on_stage_(name);
    const Timer timer(*this, name);
    return stage();
  }
  /// Lines that belong to the stage before.
  void add_details(std::string text) { rows_.back().details = std::move(text); }

  std::string text() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    std::string name;
    double seconds = 0;
    std::string details{};
  };
  struct Timer {
    Timer(StageClock& clock, std::string_view name) : owner(clock), start(Clock::now()) {
      row = owner.rows_.size();
      owner.rows_.push_back({std::string(name)});
    }
    ~Timer() { owner.rows_[row].seconds = std::chrono::duration<double>(Clock::now() - start).count(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    StageClock& owner;
    Clock::time_point start;
    size_t row = 0;
  };
  std::function<void(const char*)> on_stage_;
  std::vector<Row> rows_;
};

}  // namespace collage::driver
