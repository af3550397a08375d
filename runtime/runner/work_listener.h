// SPDX-License-Identifier: Apache-2.0
// Who is informed of long work, and who may stop it. A program shows the progress, or not; the compiler prints nothing.
#pragma once

#include <atomic>
#include <functional>
#include <string>

namespace collage::runner {

enum class Work { Measuring, Searching, Compiling, Checking, Running };
inline constexpr size_t kWorkKinds = static_cast<size_t>(Work::Running) + 1;

/// `measuring`
constexpr const char* name_of(Work work) {
  switch (work) {
    case Work::Measuring: return "measuring";
    case Work::Searching: return "searching";
    case Work::Compiling: return "compiling";
    case Work::Checking: return "checking";
    case Work::Running: return "running";
  }
  return "";
}

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
  /// Once true, what is measured or compiled ends, and the compilation by an error: costs that were measured are kept.
  const std::atomic<bool>* stop_measuring = nullptr;
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
