// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stage_clock.h"

#include <fmt/format.h>

#include <algorithm>

namespace collage::driver {
namespace {

/// What a stage counts for, besides its pieces of work.
struct PartOfStage {
  std::string_view stage, part;
};
constexpr PartOfStage kParts[] = {
    {"read model", "model"}, {"read rules", "model"}, {"shapes", "model"},          {"passes", "model"},
    {"quantise", "model"},   {"inputs", "model"},     {"candidates", "candidates"}, {"search", "search"},
    {"plan", "plan"},        {"write", "write"}};
/// In the order in which they are said.
constexpr std::string_view kOrder[] = {"model", "candidates", "measuring", "search", "plan", "code", "write"};

size_t index_of(runner::Work work) {
  return static_cast<size_t>(work);
}

}  // namespace

double StageClock::WorkTimes::all() const {
  double sum = 0;
  for (const double one : seconds) sum += one;
  return sum;
}

StageClock::WorkTimes StageClock::WorkTimes::since(const WorkTimes& before) const {
  WorkTimes left = *this;
  for (size_t kind = 0; kind < left.seconds.size(); ++kind) {
    left.seconds[kind] -= before.seconds[kind];
    left.pieces[kind] -= before.pieces[kind];
  }
  return left;
}

runner::WorkListener StageClock::counting(runner::WorkListener listener) {
  runner::WorkListener counts = listener;
  counts.begin = [this, begin = std::move(listener.begin)](runner::Work work) {
    work_kind_ = work;
    work_start_ = Clock::now();
    if (begin) begin(work);
  };
  counts.end = [this, end = std::move(listener.end)] {
    const size_t kind = index_of(work_kind_);
    work_.seconds[kind] += std::chrono::duration<double>(Clock::now() - work_start_).count();
    ++work_.pieces[kind];
    if (end) end();
  };
  return counts;
}

void StageClock::begin_compilation() {
  compilation_start_ = Clock::now();
  first_row_ = rows_.size();
  earlier_ = work_;
}

report::TimeSpent StageClock::spent() const {
  const WorkTimes work = work_.since(earlier_);
  report::TimeSpent spent{std::chrono::duration<double>(Clock::now() - compilation_start_).count(), {}, 1};
  const auto seconds_of = [&](std::string_view part) {
    double sum = part == "measuring" ? work.seconds[index_of(runner::Work::Measuring)]
                 : part == "search"  ? work.seconds[index_of(runner::Work::Searching)]
                 : part == "code"    ? work.seconds[index_of(runner::Work::Compiling)]
                                     : 0;
    for (const PartOfStage& one : kParts) {
      if (one.part != part) continue;
      for (size_t row = first_row_; row < rows_.size(); ++row) {
        if (rows_[row].name == one.stage) sum += std::max(0.0, rows_[row].seconds - rows_[row].work.all());
      }
    }
    return sum;
  };
  for (const std::string_view part : kOrder) spent.parts.emplace_back(part, seconds_of(part));
  for (size_t row = first_row_; row < rows_.size(); ++row) {
    if (rows_[row].name == "candidates") spent.rounds += rows_[row].work.pieces[index_of(runner::Work::Searching)];
  }
  return spent;
}

std::string StageClock::text() const {
  std::string text;
  for (const Row& row : rows_) {
    text += fmt::format("time        {:<14}{:>10.3f} ms\n{}", row.name, row.seconds * 1e3, row.details);
  }
  return text;
}

}  // namespace collage::driver
