// SPDX-License-Identifier: Apache-2.0
// A plan for several hosts, run by this process alone: each part in a thread of its own, with what hosts send each
// other passed on in memory. The results are those that the hosts would have.
//
//     run(inputs) of the first part   =>   the other parts run once, too, and the run ends when all have
//
// A failure of any part is the failure of the run, and names its host: `host[1]: …`.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/cluster/transport.h"
#include "runtime/exec/executor.h"

namespace collage::runtime {

/// What one host runs.
struct HostPart {
  Plan plan;
  std::shared_ptr<const Code> code;
};

/// The parts of all hosts but the first, loaded. A failure of any part fails all of them, in this run and later ones.
class LocalHosts : public Companion {
 public:
  /// `transport`: of the first host.
  explicit LocalHosts(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}
  ~LocalHosts() override;
  LocalHosts(const LocalHosts&) = delete;
  LocalHosts& operator=(const LocalHosts&) = delete;

  /// Before `start`.
  void add(std::unique_ptr<Executor> executor, std::shared_ptr<Transport> transport) {
    parts_.push_back({std::move(executor), std::move(transport)});
  }
  /// Starts a thread for each. Fails where the system gives none.
  Status start();

  void begin() override;
  Status end(Status status) override;
  Duration device_time() const override;
  /// Without what is sent to or received from the first host, which counts it itself; a value between two others counts
  /// once.
  size_t link_bytes() const override;

  /// The executor of host 1 or a later one; to observe it, while no run is under way.
  Executor& executor(size_t host) { return *parts_[host - 1].executor; }

 private:
  struct Part {
    std::unique_ptr<Executor> executor;
    std::shared_ptr<Transport> transport;
    std::thread thread{};
  };

  void serve(Part& part);

  std::shared_ptr<Transport> transport_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t run_ = 0;      ///< number of the run that was begun last
  size_t running_ = 0;  ///< parts that have not finished it
  bool is_closed_ = false;
  std::vector<Part> parts_;
};

struct LoadedHosts {
  std::unique_ptr<Executor> first;  ///< accompanied by `others`
  std::shared_ptr<LocalHosts> others;
};

/// Loads the parts of all hosts, in their order, each with `threads` threads. A lost device is final.
Result<LoadedHosts> load_local_hosts(const std::vector<HostPart>& parts, int threads, const LoadOptions& options);

/// The same for any number of executions at once: each has all parts loaded for itself, and after a failure anew.
/// Constants of hosts are shared where they lie ready (Plan::host_constants).
Result<std::shared_ptr<Recovery>> open_local_hosts(std::vector<HostPart> parts, int threads, LoadOptions options);

}  // namespace collage::runtime
