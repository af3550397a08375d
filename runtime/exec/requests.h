// SPDX-License-Identifier: Apache-2.0
// Several requests of one model in flight: a bounded queue, and workers that serve it.
//
//     submit ─→ [ waiting, at most `capacity` ] ─→ worker ─┬→ Recovery of npu[0]: an execution that is free ─→ future
//                                               └→ worker ─┴→ Recovery of npu[1]: an execution that is free ─→ future
//
// Threads of the host are divided: `threads` / Program::threads() workers run at once, so that together they have no
// more threads than that. More workers answer more requests a second; more threads in each answer one request sooner.
//
// Where a device has no room for the arenas of all workers, their requests use them in turn (arenas.h); one worker
// alone has its own.
//
// Where the model is loaded on several equal sets of devices (relocate.h), each request goes to the set that has the
// fewest requests at the moment when a worker takes it, and of these to the one that has served the fewest. A set that
// loses a device serves no more while another one is left: its request starts again there.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/exec/recovery.h"

namespace collage::runtime {

struct RequestOptions {
  int threads = 1;       ///< of the host, for all workers together
  size_t capacity = 16;  ///< requests that may wait, at least 1; those that are being served do not count
};

class Requests {
 public:
  using Answer = Result<std::vector<Tensor>>;

  /// Makes the executions. At least one worker, also where the program wants more threads than there are.
  static Result<std::unique_ptr<Requests>> open(std::shared_ptr<const Program> program, const RequestOptions& options);
  /// The same model on several sets of devices, at least one.
  static Result<std::unique_ptr<Requests>> open(std::vector<std::shared_ptr<Recovery>> sets,
                                                const RequestOptions& options);
  /// Requests that were accepted are served first.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // The inputs of one run. Several threads may submit at once.

  /// Waits until there is room.
  std::future<Answer> submit(std::vector<Tensor> inputs);
  /// Returns nullopt where there is no room.
  std::optional<std::future<Answer>> try_submit(std::vector<Tensor> inputs);
  /// With memory of the caller, as Execution::run has it; it stays as it is until the future is ready.
  std::optional<std::future<Status>> try_submit(std::vector<const std::byte*> inputs, std::vector<std::byte*> outputs);

  size_t worker_count() const { return workers_.size(); }
  /// Requests that each set of devices has served.
  std::vector<size_t> served() const;
  /// What was done about lost devices, in all sets.
  std::vector<DeviceLoss> losses() const;

 private:
  struct Request {
    /// Runs it. What it returns gives the answer; with `may_move` it is empty where a device was lost.
    std::function<std::function<void()>(RecoveringExecution&, bool may_move)> run;
    std::function<void(const Status&)> fail;
  };

  struct DeviceSet {
    std::shared_ptr<Recovery> recovery;
    std::vector<std::unique_ptr<RecoveringExecution>> free;
    size_t running = 0;
    size_t served = 0;
    bool is_retired = false;
  };

  explicit Requests(size_t capacity) : capacity_(capacity) {}
  template <typename Answered, typename Run>
  std::future<Answered> accept(Run run);
  void serve();
  void run(const Request& request);
  DeviceSet& least_loaded();
  size_t sets_left() const;
  void retire(DeviceSet& set, const RecoveringExecution& failed);

  size_t capacity_;
  ArenaUse arena_use_ = ArenaUse::Own;
  mutable std::mutex mutex_;
  std::condition_variable has_request_, has_room_;
  std::deque<Request> waiting_;
  bool is_closed_ = false;
  std::vector<DeviceSet> sets_;
  std::vector<DeviceLoss> moved_;  ///< losses that another set took over from
  std::vector<std::thread> workers_;
};

}  // namespace collage::runtime
