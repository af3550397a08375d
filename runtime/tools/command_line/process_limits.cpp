// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/process_limits.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

#include "runtime/tools/command_line/program_text.h"

namespace collage::tools {
namespace {

/// A signal handler reaches nothing but static storage, and neither does the handler of `new`.
std::atomic<const char*> current_stage{""};
std::array<char, 128> memory_option{}, time_option{};

void keep(const std::string& option, std::array<char, 128>& place) {
  const size_t length = std::min(option.size(), place.size() - 1);
  std::copy_n(option.data(), length, place.data());
  place[length] = '\0';
}

/// Without memory, and in a signal handler.
[[noreturn]] void end_process(const char* what, const char* option) {
  const char* stage = current_stage.load();
  for (const char* part : {"error: ", what, *stage == '\0' ? "" : " during ", stage, ": ", option, "\n"})
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  ::_exit(kInputError);
}

[[noreturn]] void on_no_memory() {
  end_process("out of memory", memory_option.data());
}

extern "C" void on_time(int) {
  end_process("out of time", time_option.data());
}

}  // namespace

void enter_stage(const char* stage) {
  current_stage = stage;
}

std::string out_of_memory() {
  const std::string_view stage = current_stage.load(), option = memory_option.data();
  std::string text = "out of memory";
  if (!stage.empty()) text.append(" during ").append(stage);
  return option.empty() ? text : text.append(": ").append(option);
}

void limit_memory(uint64_t bytes, const std::string& option) {
  keep(option, memory_option);
  rlimit limits{};
  if (::getrlimit(RLIMIT_DATA, &limits) != 0) return;
  limits.rlim_cur = std::min<rlim_t>(limits.rlim_max, bytes);
  ::setrlimit(RLIMIT_DATA, &limits);
  std::set_new_handler(on_no_memory);
}

void limit_time(double seconds, const std::string& option) {
  keep(option, time_option);
  std::signal(SIGALRM, on_time);
  constexpr double kMicroseconds = 1e6;
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec =
      static_cast<suseconds_t>(std::min((seconds - std::floor(seconds)) * kMicroseconds, kMicroseconds - 1));
  if (timer.it_value.tv_sec == 0) timer.it_value.tv_usec = std::max<suseconds_t>(timer.it_value.tv_usec, 1);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace collage::tools
