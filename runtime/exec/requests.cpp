// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/requests.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace collage::runtime {

Result<std::unique_ptr<Requests>> Requests::open(std::shared_ptr<const Program> program,
                                                 const RequestOptions& options) {
  std::unique_ptr<Requests> requests(new Requests(std::max<size_t>(options.capacity, 1)));
  const int workers = std::max(options.threads / program->threads(), 1);
  for (int w = 0; w < workers; ++w) {
    Result<std::unique_ptr<Execution>> execution = Execution::create(program);
    if (!execution) return execution.status();
    requests->executions_.push_back(std::move(*execution));
  }
  try {
    for (const auto& execution : requests->executions_) {
      requests->workers_.emplace_back([all = requests.get(), one = execution.get()] { all->serve(*one); });
    }
  } catch (const std::exception& exception) {  // the system gives no more threads
    return Status::error(exception.what());
  }
  return requests;
}

Requests::~Requests() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  has_request_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

std::future<Requests::Answer> Requests::submit(std::vector<Tensor> inputs) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return waiting_.size() < capacity_; });
  return accept(std::move(inputs));
}

std::optional<std::future<Requests::Answer>> Requests::try_submit(std::vector<Tensor> inputs) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= capacity_) return std::nullopt;
  return accept(std::move(inputs));
}

/// Expects that the caller holds the lock and that there is room.
std::future<Requests::Answer> Requests::accept(std::vector<Tensor> inputs) {
  waiting_.push_back({std::move(inputs), {}});
  has_request_.notify_one();
  return waiting_.back().answer.get_future();
}

void Requests::serve(Execution& execution) {
  while (true) {
    std::unique_lock lock(mutex_);
    has_request_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Request request = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    request.answer.set_value(execution.run(request.inputs));
  }
}

}  // namespace collage::runtime
