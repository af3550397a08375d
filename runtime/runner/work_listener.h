// SPDX-License-Identifier: Apache-2.0
// Who is informed of long work, and who may stop it. A program shows the progress, or not; the compiler prints nothing.
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace collage::runner {

enum class Work { Measuring, Searching, Compiling, Checking, Running };

struct Progress {
  Work work = Work::Searching;
  size_t done = 0;
  size_t of = 0;       ///< 0: not known
  std::string detail;  ///< what is worked on; of a search: cost, bound and gap
};

/// For each piece of work: `begin`, `progress` any number of times, `end`. Pieces do not overlap. Functions may be
/// empty and are called by the thread that compiles.
struct WorkListener {
  std::function<void(const char*)> stage{};  ///< a stage of the command begins; a literal
  std::function<void(Work)> begin{};
  std::function<void(const Progress&)> progress{};
  std::function<void()> end{};
  /// A process measures on this machine, and has kept this one waiting for so long; again and again while it does.
  std::function<void(const std::string& process, double seconds)> waiting{};
  const std::atomic<bool>* stop = nullptr;  ///< once true, searches end with the best placement so far
};

/// Calls `begin` and `end`.
class WorkScope {
 public:
  WorkScope(const WorkListener& listener, Work work) : listener_(listener), work_(work) {
    if (listener_.begin) listener_.begin(work);
  }
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  ~WorkScope() {
    if (listener_.end) listener_.end();
  }

  void report(size_t done, size_t of, std::string detail = {}) const {
    if (listener_.progress) listener_.progress({work_, done, of, std::move(detail)});
  }

 private:
  const WorkListener& listener_;
  Work work_;
};

}  // namespace collage::runner
