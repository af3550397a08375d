// SPDX-License-Identifier: Apache-2.0
#include "python/src/watched_compiler.h"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace collage::python {

WatchedCompiler::WatchedCompiler() {
  listen([seen = seen_](const collage_progress& now) {
    {
      const std::lock_guard lock(seen->mutex);
      seen->progress = Progress{now.work, now.done, now.of, now.detail};
    }
    if (seen->stop) seen->look_for_signals();
  });
}

std::optional<Progress> WatchedCompiler::progress() const {
  const std::lock_guard lock(seen_->mutex);
  return seen_->progress;
}

void WatchedCompiler::Seen::look_for_signals() {
  constexpr std::chrono::milliseconds kPause{50};
  if (Clock::now() - looked < kPause) return;
  looked = Clock::now();
  const py::gil_scoped_acquire held;
  if (PyErr_Occurred() != nullptr || PyErr_CheckSignals() != 0) stop();
}

WatchedCompiler::SignalScope::SignalScope(const WatchedCompiler& compiler) : compiler_(compiler) {
  compiler_.seen_->stop = [&compiler] { compiler.stop(); };
}

WatchedCompiler::SignalScope::~SignalScope() {
  compiler_.seen_->stop = nullptr;
  compiler_.stop(false);
}

}  // namespace collage::python
