// SPDX-License-Identifier: Apache-2.0
// Several requests of one program in flight: a bounded queue, and workers that serve it, each with an execution of its own.
//
//     submit ─→ [ waiting, at most `capacity` ] ─→ worker 0: Execution ─→ future
//                                               └→ worker 1: Execution ─→ future
//
// Threads of the host are divided: `threads` / Program::threads() workers run at once, so that together they have no more
// threads than that. More workers answer more requests a second; more threads in each answer one request sooner.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/exec/execution.h"

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
  /// Requests that were accepted are served first.
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // The inputs of one run. Several threads may submit at once.

  /// Waits until there is room.
  std::future<Answer> submit(std::vector<Tensor> inputs);
  /// Returns nullopt where there is no room.
  std::optional<std::future<Answer>> try_submit(std::vector<Tensor> inputs);

  size_t worker_count() const { return workers_.size(); }

 private:
  struct Request {
    std::vector<Tensor> inputs;
    std::promise<Answer> answer;
  };

  explicit Requests(size_t capacity) : capacity_(capacity) {}
  std::future<Answer> accept(std::vector<Tensor> inputs);
  void serve(Execution& execution);

  size_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_request_, has_room_;
  std::deque<Request> waiting_;
  bool is_closed_ = false;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<std::thread> workers_;
};

}  // namespace collage::runtime
