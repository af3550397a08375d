// SPDX-License-Identifier: Apache-2.0
// A program for several hosts, run by this process alone: each part in a thread of its own, with what hosts send each
// other passed on in memory. The results are those that the hosts would have.
//
//     run(inputs) of the first part's executor   =>   the other parts run once, too, and the run ends when all have
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "compiler/driver/run/program.h"
#include "runtime/cluster/transport.h"
#include "runtime/exec/executor.h"

namespace collage::driver {

/// The parts of all hosts but the first, loaded. A failure of any part fails all of them, in this run and later ones.
class LocalHosts : public runtime::Companion {
 public:
  explicit LocalHosts(std::shared_ptr<runtime::Transport> transport) : transport_(std::move(transport)) {}
  ~LocalHosts() override;
  LocalHosts(const LocalHosts&) = delete;
  LocalHosts& operator=(const LocalHosts&) = delete;

  /// Before `start`.
  void add(std::unique_ptr<runtime::Executor> executor) { parts_.push_back({std::move(executor)}); }
  /// Starts a thread for each. Fails where the system gives none.
  runtime::Status start();

  void begin() override;
  runtime::Status end(runtime::Status status) override;

  /// Of host 1 on; to observe it, while no run is under way.
  runtime::Executor& executor(size_t host) { return *parts_[host - 1].executor; }

 private:
  struct Part {
    std::unique_ptr<runtime::Executor> executor;
    std::thread thread{};
  };

  void serve(Part& part);

  std::shared_ptr<runtime::Transport> transport_;  ///< of the first host
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t run_ = 0;      ///< number of the run that was begun last
  size_t running_ = 0;  ///< parts that have not finished it
  bool is_closed_ = false;
  std::vector<Part> parts_;
};

struct LoadedHosts {
  std::unique_ptr<runtime::Executor> first;  ///< accompanied by `others`
  std::shared_ptr<LocalHosts> others;
};

/// Expects a program with parts, whose constants become regions. Returns nullopt after an error.
std::optional<LoadedHosts> load_hosts(Program& program, int threads, support::Diagnostics& diags,
                                      runtime::LoadOptions options = {});

}  // namespace collage::driver
