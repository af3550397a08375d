// SPDX-License-Identifier: Apache-2.0
// What runs of executions did to memory, in the order in which it happened: kernels of the host write it down
// themselves, commands of devices are put between two markers, events that a queue waits for.
//
//     given to the queue:   launch a -> b    =>    wait(begin)   launch a -> b   wait(end)
//
// A marker is reached in the thread that runs the commands, so that the log says when a command ran, not when it was
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/devices/device.h"

namespace collage::runtime::test {

/// Bytes of one memory.
struct ByteRange {
  const void* memory = nullptr;  ///< the device; null: the host
  size_t from = 0, to = 0;

  bool meets(const ByteRange& other) const { return memory == other.memory && from < other.to && other.from < to; }
};

struct Access {
  int execution = 0;
  int queue = -1;      ///< of the execution, in the order in which it opened them; -1: the host
  int number = 0;      ///< of the command on its queue, or of the kernel on the host, over all runs
  uint64_t begin = 0;  ///< moments, counted over all threads
  uint64_t end = 0;    ///< 0: it has not ended
  std::vector<ByteRange> reads{}, writes{};
};

/// True if the order of the two matters.
inline bool conflict(const Access& a, const Access& b) {
  const auto meets = [](const std::vector<ByteRange>& some, const std::vector<ByteRange>& others) {
    for (const ByteRange& one : some) {
      for (const ByteRange& other : others) {
        if (one.meets(other)) return true;
      }
    }
    return false;
  };
  return meets(a.writes, b.writes) || meets(a.writes, b.reads) || meets(a.reads, b.writes);
}

/// Functions may be called by several threads at once.
class AccessLog {
 public:
  /// The execution that the calling thread makes or runs.
  static int& current_execution() {
    thread_local int current = 0;
    return current;
  }

  int open_queue() {
    std::lock_guard lock(mutex_);
    return queues_[current_execution()]++;
  }
  /// Returns where it lies in `accesses`.
  size_t add(int execution, int queue, std::vector<ByteRange> reads, std::vector<ByteRange> writes) {
    std::lock_guard lock(mutex_);
    const int number = numbers_[{execution, queue}]++;
    accesses_.push_back({execution, queue, number, 0, 0, std::move(reads), std::move(writes)});
    return accesses_.size() - 1;
  }
  void begin(size_t access) { stamp(access, &Access::begin); }
  void end(size_t access) { stamp(access, &Access::end); }
  /// After all runs.
  const std::vector<Access>& accesses() const { return accesses_; }

 private:
  void stamp(size_t access, uint64_t Access::*moment) {
    std::lock_guard lock(mutex_);
    accesses_[access].*moment = ++now_;
  }

  std::mutex mutex_;
  uint64_t now_ = 0;
  std::vector<Access> accesses_;
  std::map<int, int> queues_;                   ///< by execution
  std::map<std::pair<int, int>, int> numbers_;  ///< by execution and queue
};

/// Calls a function when a queue gets to it.
class Marker : public Event {
 public:
  explicit Marker(std::function<void()> reach) : reach_(std::move(reach)) {}
  bool is_reached() const override { return false; }
  Status wait() const override {
    reach_();
    return Status::ok();
  }
  Duration clock() const override { return Duration(); }

 private:
  std::function<void()> reach_;
};

class LoggedQueue : public DeviceQueue {
 public:
  LoggedQueue(std::unique_ptr<DeviceQueue> inner, Device& device, AccessLog& log)
      : inner_(std::move(inner)),
        device_(device.innermost()),
        log_(log),
        execution_(AccessLog::current_execution()),
        queue_(log.open_queue()) {}

  Status copy_in(std::span<const std::byte> from, DeviceAddress to) override {
    return logged({on_host(from)}, {on(device_, to, from.size())}, [&] { return inner_->copy_in(from, to); });
  }
  Status copy_out(DeviceAddress from, std::span<std::byte> to) override {
    return logged({on(device_, from, to.size())}, {on_host(to)}, [&] { return inner_->copy_out(from, to); });
  }
  Status copy_peer(DeviceAddress from, Device& to_device, DeviceAddress to, size_t bytes) override {
    return logged({on(device_, from, bytes)}, {on(to_device.innermost(), to, bytes)},
                  [&] { return inner_->copy_peer(from, to_device, to, bytes); });
  }
  Status reorder(const DeviceTensor& from, const DeviceTensor& to, Duration duration) override {
    return logged({of(from)}, {of(to)}, [&] { return inner_->reorder(from, to, duration); });
  }
  Status launch(std::span<const DeviceOp> ops, Duration duration) override {
    std::vector<ByteRange> reads, writes;
    std::set<BufferId> written;
    for (const DeviceOp& op : ops) {
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (!op.inputs[i].is_absent && !written.contains(op.call->inputs[i])) reads.push_back(of(op.inputs[i]));
      }
      written.insert(op.call->outputs.begin(), op.call->outputs.end());
      for (const DeviceTensor& output : op.outputs) writes.push_back(of(output));
    }
    return logged(std::move(reads), std::move(writes), [&] { return inner_->launch(ops, duration); });
  }
  Status wait(const EventRef& event) override { return inner_->wait(event); }
  EventRef record() override { return inner_->record(); }
  Status synchronize() override { return inner_->synchronize(); }
  void reset() override { inner_->reset(); }
  bool waits_in_caller() const override { return inner_->waits_in_caller(); }

 private:
  static ByteRange on_host(std::span<const std::byte> bytes) {
    const auto from = reinterpret_cast<size_t>(bytes.data());
    return {nullptr, from, from + bytes.size()};
  }
  static ByteRange on(const Device& device, DeviceAddress from, size_t bytes) { return {&device, from, from + bytes}; }
  ByteRange of(const DeviceTensor& tensor) const { return on(device_, tensor.address, tensor.tensor.bytes()); }

  template <typename Give>
  Status logged(std::vector<ByteRange> reads, std::vector<ByteRange> writes, const Give& give) {
    const size_t access = log_.add(execution_, queue_, std::move(reads), std::move(writes));
    AccessLog* log = &log_;
    Status status = inner_->wait(std::make_shared<Marker>([log, access] { log->begin(access); }));
    if (status) status = give();
    return status ? inner_->wait(std::make_shared<Marker>([log, access] { log->end(access); })) : status;
  }

  std::unique_ptr<DeviceQueue> inner_;
  Device& device_;
  AccessLog& log_;
  int execution_, queue_;
};

/// Around another device: logs the commands of its queues.
class LoggedDevice : public Device {
 public:
  LoggedDevice(std::unique_ptr<Device> inner, std::shared_ptr<AccessLog> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  const std::string& space() const override { return inner_->space(); }
  Result<DeviceAddress> allocate(size_t bytes) override { return inner_->allocate(bytes); }
  Status free(DeviceAddress address) override { return inner_->free(address); }
  MemoryInfo memory() const override { return inner_->memory(); }
  Result<std::unique_ptr<DeviceQueue>> open_queue(QueueKind kind) override {
    Result<std::unique_ptr<DeviceQueue>> queue = inner_->open_queue(kind);
    if (!queue) return queue.status();
    return std::unique_ptr<DeviceQueue>(std::make_unique<LoggedQueue>(std::move(*queue), *inner_, *log_));
  }
  FaultInfo faults() const override { return inner_->faults(); }
  Duration now() const override { return inner_->now(); }
  bool is_simulated() const override { return inner_->is_simulated(); }
  Traffic traffic() const override { return inner_->traffic(); }
  void share_links(Device& other) override { inner_->share_links(other); }
  Device& innermost() override { return inner_->innermost(); }

 private:
  std::unique_ptr<Device> inner_;
  std::shared_ptr<AccessLog> log_;
};

}  // namespace collage::runtime::test
