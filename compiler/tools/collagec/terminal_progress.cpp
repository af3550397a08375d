// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/terminal_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "compiler/tools/collagec/interrupt.h"
#include "runtime/core/joined.h"
#include "runtime/support/visible.h"
#include "runtime/tools/command_line/process_limits.h"
#include "runtime/tools/command_line/steps_text.h"
#include "runtime/tools/command_line/terminal_width.h"

namespace collage::tools {
namespace {

using runner::Progress;
using runner::Work;

constexpr std::chrono::milliseconds kPause{50};  ///< between two reported states on a terminal
constexpr double kTick = 1;                      ///< seconds between two states there without a report
constexpr const char* kClear = "\r\x1b[K";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Without throwing where standard error is closed.
void put(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

TerminalProgress::TerminalProgress(double seconds)
    : is_terminal_(::isatty(STDERR_FILENO) == 1), pause_(is_terminal_ ? kTick : seconds) {
  if (pause_.count() <= 0) return;
  // Signals are for the thread that compiles.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { go_on(); });
  } catch (const std::system_error&) {
    // Without it only what is reported is shown.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

runner::WorkListener TerminalProgress::listener() {
  runner::WorkListener listener;
  listener.stage = [this](const char* stage) { begin_stage(stage); };
  listener.begin = [this](Work work) { begin(work); };
  listener.end = [this] { end(); };
  listener.stop = &interrupt_flag(Interrupted::Search);
  listener.stop_measuring = &interrupt_flag(Interrupted::Measuring);
  constexpr double kLongWait = 10;  // seconds: whoever reads a log wants to know then
  listener.waiting = [this, least = is_terminal_ ? 0 : kLongWait](const std::string& process, double seconds) {
    if (seconds < least) return;
    clear();
    put(fmt::format("measuring   waiting until {} has measured\n", process));
  };
  if (is_terminal_ || pause_.count() > 0) listener.progress = [this](const Progress& progress) { update(progress); };
  return listener;
}

void TerminalProgress::begin_stage(const char* stage) {
  enter_stage(stage);
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  if (!progress_) begin_ = Clock::now();
}

void TerminalProgress::begin(Work work) {
  if (work == Work::Searching) catch_interrupts(Interrupted::Search);
  if (work == Work::Measuring) catch_interrupts(Interrupted::Measuring);
  const std::lock_guard lock(mutex_);
  begin_ = Clock::now();
  progress_ = {work, 0, 0, ""};
  if (is_terminal_) show();
  shown_ = {};
}

void TerminalProgress::update(const Progress& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = progress;
  if (is_terminal_ && Clock::now() - shown_ >= kPause) show();
}

void TerminalProgress::end() {
  release_interrupts();
  const std::lock_guard lock(mutex_);
  if (progress_ && progress_->work == Work::Measuring) measured_seconds_ += seconds_since(begin_);
  progress_.reset();
  begin_ = Clock::now();
  clear_line();
}

void TerminalProgress::go_on() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, pause_, [this] { return has_ended_; })) show();
}

void TerminalProgress::show() {
  shown_ = Clock::now();
  if (!progress_ && *stage_ == '\0') return;
  if (!is_terminal_) {
    put(fmt::format("{:<11} {} {}\n", fmt::format("after {:.0f} s", seconds_since(start_)), label(),
                    support::visible(state())));
    return;
  }
  std::string text = support::visible(fmt::format("{:<12}{}", label(), state()));
  text.resize(std::min(text.size(), terminal_width(STDERR_FILENO) - 1));
  put(kClear + text);
  is_shown_ = true;
}

void TerminalProgress::clear_line() {
  if (is_shown_) put(kClear);
  is_shown_ = false;
}

void TerminalProgress::clear() {
  const std::lock_guard lock(mutex_);
  clear_line();
}

void TerminalProgress::finish() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    clear_line();
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string_view TerminalProgress::label() const {
  return progress_ ? runner::name_of(progress_->work) : stage_;
}

std::string TerminalProgress::state() const {
  if (!progress_) return fmt::format("{:.0f} s", seconds_since(begin_));
  std::string text;
  if (progress_->work == Work::Searching) {
    text = fmt::format("{:.0f} s", seconds_since(begin_));
    if (!progress_->detail.empty()) text += ": " + progress_->detail;
    if (!is_terminal_) return text;
    const bool is_stopped = interrupt_flag(Interrupted::Search);
    return text + (is_stopped ? " (stops here; Ctrl-C again ends)" : " (Ctrl-C keeps it)");
  }
  // Steps of measuring count over all rounds.
  const double spent = seconds_since(begin_) + (progress_->work == Work::Measuring ? measured_seconds_ : 0);
  if (progress_->of > 0) text += steps_text(progress_->done, progress_->of, spent);
  if (!progress_->detail.empty()) runtime::add_to_list(text, progress_->detail, ": ");
  return text;
}

}  // namespace collage::tools
