// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/interrupt.h"

#include <csignal>

namespace collage::tools {
namespace {

/// A signal handler reaches nothing but static storage.
std::atomic<bool> was_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  was_interrupted.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  return was_interrupted;
}

void catch_interrupts() {
  if (!was_interrupted && std::signal(SIGINT, on_interrupt) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

void release_interrupts() {
  if (std::signal(SIGINT, SIG_DFL) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

}  // namespace collage::tools
