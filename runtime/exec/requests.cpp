// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/requests.h"

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

#include "runtime/core/joined.h"

namespace collage::runtime {

Result<std::unique_ptr<Requests>> Requests::open(std::shared_ptr<const Program> program,
                                                 const RequestOptions& options) {
  return open({std::make_shared<Recovery>(std::move(program), nullptr)}, options);
}

Result<std::unique_ptr<Requests>> Requests::open(std::vector<std::shared_ptr<Recovery>> sets,
                                                 const RequestOptions& options) {
  if (sets.empty()) return Status::error("there is nothing to run");
  std::unique_ptr<Requests> requests(new Requests(std::max<size_t>(options.capacity, 1)));
  const int workers = std::max(options.threads / sets[0]->program()->threads(), 1);
  for (std::shared_ptr<Recovery>& recovery : sets) requests->sets_.push_back({std::move(recovery), {}});
  if (workers > 1) requests->arena_use_ = ArenaUse::InTurn;
  for (int w = 0; w < workers; ++w) {
    DeviceSet& set = requests->sets_[static_cast<size_t>(w) % requests->sets_.size()];
    Result<std::unique_ptr<RecoveringExecution>> execution =
        RecoveringExecution::create(set.recovery, requests->arena_use_);
    if (!execution) return execution.status();
    set.free.push_back(std::move(*execution));
  }
  try {
    for (int w = 0; w < workers; ++w) {
      requests->workers_.emplace_back([all = requests.get()] { all->serve(); });
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
  return accept<Answer>([inputs = std::move(inputs)](auto& execution) { return execution.run(inputs); });
}

std::optional<std::future<Requests::Answer>> Requests::try_submit(std::vector<Tensor> inputs) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= capacity_) return std::nullopt;
  return accept<Answer>([inputs = std::move(inputs)](auto& execution) { return execution.run(inputs); });
}

std::optional<std::future<Status>> Requests::try_submit(std::vector<const std::byte*> inputs,
                                                        std::vector<std::byte*> outputs) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= capacity_) return std::nullopt;
  return accept<Status>([inputs = std::move(inputs), outputs = std::move(outputs)](auto& execution) {
    return execution.run(inputs, outputs);
  });
}

/// Expects that the caller holds the lock and that there is room. `run` takes an Execution, or a RecoveringExecution.
template <typename Answered, typename Run>
std::future<Answered> Requests::accept(Run run) {
  auto promise = std::make_shared<std::promise<Answered>>();
  const auto serve_on = [promise, run = std::move(run)](RecoveringExecution& execution,
                                                        bool may_move) -> std::function<void()> {
    auto answer = std::make_shared<Answered>(may_move ? run(execution.current()) : run(execution));
    if (may_move && !*answer && execution.has_lost_device()) return {};
    return [promise, answer] { promise->set_value(std::move(*answer)); };
  };
  waiting_.push_back({serve_on, [promise](const Status& failure) { promise->set_value(failure); }});
  has_request_.notify_one();
  return promise->get_future();
}

void Requests::serve() {
  while (true) {
    std::unique_lock lock(mutex_);
    has_request_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    has_room_.notify_one();
    run(request);
  }
}

void Requests::run(const Request& request) {
  while (true) {
    std::unique_lock lock(mutex_);
    DeviceSet& set = least_loaded();
    ++set.running;
    const bool may_move = sets_left() > 1;
    std::unique_ptr<RecoveringExecution> execution;
    if (!set.free.empty()) {
      execution = std::move(set.free.back());
      set.free.pop_back();
    }
    lock.unlock();
    Status status = Status::ok();
    if (execution == nullptr) {
      Result<std::unique_ptr<RecoveringExecution>> made = RecoveringExecution::create(set.recovery, arena_use_);
      if (status = made.status(); status) execution = std::move(*made);
    }
    const std::function<void()> give_answer = status ? request.run(*execution, may_move) : nullptr;
    lock.lock();
    --set.running;
    if (!status) return request.fail(status);
    if (give_answer) {  // counted before the caller sees the answer
      ++set.served;
      if (!set.is_retired) set.free.push_back(std::move(execution));
      lock.unlock();
      return give_answer();
    }
    retire(set, *execution);
  }
}

/// The set with the fewest requests now, and of these the one that has served the fewest. One is always left.
Requests::DeviceSet& Requests::least_loaded() {
  return *std::min_element(sets_.begin(), sets_.end(), [](const DeviceSet& a, const DeviceSet& b) {
    return std::tuple(a.is_retired, a.running, a.served) < std::tuple(b.is_retired, b.running, b.served);
  });
}

size_t Requests::sets_left() const {
  return static_cast<size_t>(
      std::count_if(sets_.begin(), sets_.end(), [](const DeviceSet& set) { return !set.is_retired; }));
}

/// The last set stays: its losses are answered by its Recovery.
void Requests::retire(DeviceSet& set, const RecoveringExecution& failed) {
  if (set.is_retired || sets_left() == 1) return;
  set.is_retired = true;
  set.free.clear();
  const Program& program = failed.current().program();
  std::string elsewhere;
  for (const DeviceSet& other : sets_) {
    if (other.is_retired) continue;
    for (const DeviceSpec& device : other.recovery->program()->plan().devices) {
      add_to_list(elsewhere, device.space);
    }
  }
  const std::optional<DeviceFailure>& failure = failed.current().runner().device_failure();
  for (const std::string& device : program.lost_devices()) {
    DeviceLoss loss{device, failure ? std::optional(failure->step) : std::nullopt};
    loss.now_on = elsewhere.empty() ? "host" : elsewhere;
    for (const PlanPartition& partition : program.plan().partitions) {
      if (partition.instance == device) ++loss.partitions;
    }
    moved_.push_back(std::move(loss));
  }
}

std::vector<size_t> Requests::served() const {
  std::lock_guard lock(mutex_);
  std::vector<size_t> counts;
  for (const DeviceSet& set : sets_) counts.push_back(set.served);
  return counts;
}

std::vector<DeviceLoss> Requests::losses() const {
  std::lock_guard lock(mutex_);
  std::vector<DeviceLoss> all = moved_;
  for (const DeviceSet& set : sets_) {
    for (DeviceLoss& loss : set.recovery->losses()) all.push_back(std::move(loss));
  }
  return all;
}

}  // namespace collage::runtime
