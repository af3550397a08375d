// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/interrupt.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace collage::tools {
namespace {

/// A signal handler reaches nothing but static storage.
std::array<std::atomic<bool>, 2> flags{};
std::atomic<size_t> current{0};  ///< of the flags
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<size_t>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  flags[current.load(std::memory_order_relaxed)].store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupt_flag(Interrupted what) {
  return flags[static_cast<size_t>(what)];
}

void catch_interrupts(Interrupted what) {
  current = static_cast<size_t>(what);
  if (!interrupt_flag(what) && std::signal(SIGINT, on_interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

void release_interrupts() {
  if (std::signal(SIGINT, SIG_DFL) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

void end_interrupted() {
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  ::_exit(128 + SIGINT);  // where the signal is blocked
}

}  // namespace collage::tools
