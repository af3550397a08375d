// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/terminal_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "compiler/tools/collagec/interrupt.h"
#include "runtime/tools/command_line/process_limits.h"
#include "runtime/tools/command_line/steps_text.h"

namespace collage::tools {
namespace {

using driver::Progress;
using driver::Work;

constexpr std::chrono::milliseconds kPause{50};  ///< between two lines
constexpr const char* kClear = "\r\x1b[K";

std::string_view label_of(Work work) {
  switch (work) {
    case Work::Measuring: return "measuring";
    case Work::Searching: return "searching";
    case Work::Compiling: return "compiling";
    case Work::Checking: return "checking";
    case Work::Running: return "running";
  }
  return "";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

TerminalProgress::TerminalProgress() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

driver::WorkListener TerminalProgress::listener() {
  driver::WorkListener listener;
  listener.stage = enter_stage;
  listener.begin = [this](Work work) { begin(work); };
  listener.end = [this] { end(); };
  listener.stop = &interrupt_flag();
  constexpr double kLongWait = 10;  // seconds: whoever reads a log wants to know then
  listener.waiting = [least = is_terminal_ ? 0 : kLongWait](const std::string& process, double seconds) {
    if (seconds >= least) fmt::print(stderr, "measuring   waiting until {} has measured\n", process);
  };
  if (!is_terminal_) return listener;
  listener.progress = [this](const Progress& progress) { show(progress); };
  return listener;
}

void TerminalProgress::begin(Work work) {
  begin_ = Clock::now();
  work_ = work;
  shown_ = {};
  if (work == Work::Searching) catch_interrupts();
  if (is_terminal_) show({work, 0, 0, ""});
  shown_ = {};
}

void TerminalProgress::show(const Progress& progress) {
  if (Clock::now() - shown_ < kPause) return;
  shown_ = Clock::now();
  std::string text = line(progress);
  text.resize(std::min(text.size(), terminal_width() - 1));
  fmt::print(stderr, "{}{}", kClear, text);
  std::fflush(stderr);
}

void TerminalProgress::end() {
  release_interrupts();
  if (work_ == Work::Measuring) measured_seconds_ += seconds_since(begin_);
  if (is_terminal_) fmt::print(stderr, "{}", kClear);
}

std::string TerminalProgress::line(const Progress& progress) const {
  std::string text = fmt::format("{:<12}", label_of(progress.work));
  if (progress.work == Work::Searching) {
    text += fmt::format("{:.0f} s", seconds_since(begin_));
    if (!progress.detail.empty()) text += ": " + progress.detail;
    return text + (interrupt_flag() ? " (stops here; Ctrl-C again ends)" : " (Ctrl-C keeps this placement)");
  }
  // Steps of measuring count over all rounds.
  const double spent = seconds_since(begin_) + (progress.work == Work::Measuring ? measured_seconds_ : 0);
  if (progress.of > 0) text += steps_text(progress.done, progress.of, spent);
  return progress.detail.empty() ? text : text + ": " + progress.detail;
}

}  // namespace collage::tools
