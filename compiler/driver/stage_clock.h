// SPDX-License-Identifier: Apache-2.0
// What each stage of a command takes (`--time-passes`), and what a compilation takes in all (the line `total`). Stages
// do some of their work in pieces of which a listener is told, a search or a measurement: these count for what they
// are, in whichever stage.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/report/time_spent.h"
#include "runtime/runner/work_listener.h"

namespace collage::driver {

class StageClock {
 public:
  /// `on_stage` is told of each stage when it begins.
  explicit StageClock(std::function<void(const char*)> on_stage = {}) : on_stage_(std::move(on_stage)) {}
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  /// Calls `stage`, notes its time and returns its result. `name`: a literal.
  template <typename Stage>
  auto time(const char* name, Stage&& stage) {
    if (on_stage_) on_stage_(name);
    const Timer timer(*this, name);
    return stage();
  }
  /// Lines that belong to the stage before.
  void add_details(std::string text) { rows_.back().details = std::move(text); }

  /// A listener that passes all on to `listener` and counts the time of pieces of work. The clock outlives it.
  runner::WorkListener counting(runner::WorkListener listener);
  /// From here on stages and work count as those of one compilation.
  void begin_compilation();
  /// Where the time of the compilation went so far.
  report::TimeSpent spent() const;

  std::string text() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// Seconds and number of the pieces of each kind of work.
  struct WorkTimes {
    std::array<double, runner::kWorkKinds> seconds{};
    std::array<size_t, runner::kWorkKinds> pieces{};

    double all() const;
    WorkTimes since(const WorkTimes& before) const;
  };
  struct Row {
    std::string name;
    double seconds = 0;
    WorkTimes work{};  ///< within the stage
    std::string details{};
  };
  struct Timer {
    Timer(StageClock& clock, std::string_view name) : owner(clock), start(Clock::now()), before(clock.work_) {
      row = owner.rows_.size();
      owner.rows_.push_back({std::string(name)});
    }
    ~Timer() {
      owner.rows_[row].seconds = std::chrono::duration<double>(Clock::now() - start).count();
      owner.rows_[row].work = owner.work_.since(before);
    }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    StageClock& owner;
    Clock::time_point start;
    WorkTimes before;
    size_t row = 0;
  };
  std::function<void(const char*)> on_stage_;
  std::vector<Row> rows_;
  WorkTimes work_;
  runner::Work work_kind_ = runner::Work::Searching;  ///< of the piece that began last
  Clock::time_point work_start_;
  Clock::time_point compilation_start_ = Clock::now();
  size_t first_row_ = 0;  ///< of the compilation
  WorkTimes earlier_;     ///< work of compilations before
};

}  // namespace collage::driver
