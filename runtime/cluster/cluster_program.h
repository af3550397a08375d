// SPDX-License-Identifier: Apache-2.0
// One host's part of a plan, loaded, and the requests that all hosts answer together.
//
//     rank 0    submit(inputs) -> request r -> channel r mod R: ticket to all, run of part 0 -> answer
//     rank k    serve(): on each channel, a ticket -> run of part k -> the next ticket … until rank 0 ends
//
// Each channel has an execution of its own in a thread of its own: up to R requests are in flight, and those of one
// channel follow each other. On each host one step of the host runs at a time, with all threads, for the request that
// came first (exec/host_turns.h): as a stage of a pipeline it passes on what it began. What is sent for a request is
// sent on its channel, so that requests never meet (remote_device.h says why there is no deadlock). Inputs and outputs
// are those of rank 0.
//
// Where a memory has no room for R arenas, requests use them in turn (exec/arenas.h), on all ranks in the order in
// which rank 0 began them: a ticket has the number of its request, and a rank whose memories are short begins no
// request before those with smaller numbers.
//
// A failure of one part is the failure of all: every rank's functions return with its reason.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cluster/remote_device.h"
#include "runtime/cluster/transport.h"
#include "runtime/exec/executor.h"

namespace collage::runtime {

/// Equal on all ranks, but for `load`.
struct ClusterOptions {
  int threads = 1;        ///< of a step of the host; one step at a time has them (exec/host_turns.h)
  int channels = 1;       ///< requests that may be in flight, in [1, kMostChannels]
  TimeLimit limit{300};   ///< how long a value of another host may take, or loading there; zero: no limit
  std::string package{};  ///< says which package it is: has to be the same everywhere
  LoadOptions load{};     ///< `make_remote` is set here
};

inline constexpr int kMostChannels = 1000;

class ClusterProgram {
 public:
  using Answer = Result<std::vector<Tensor>>;

  /// On all ranks at once; fails on all, with the same reason, where it fails on one: where the plan is not the part
  /// for this rank, or cannot be loaded.
  static Result<std::unique_ptr<ClusterProgram>> open(Plan plan, std::shared_ptr<const Code> code,
                                                      std::shared_ptr<Transport> transport, ClusterOptions options);
  /// On rank 0, as `end`.
  ~ClusterProgram();
  ClusterProgram(const ClusterProgram&) = delete;
  ClusterProgram& operator=(const ClusterProgram&) = delete;

  /// On rank 0, by one thread at a time, before `end`. More than R requests wait for their turn.
  std::future<Answer> submit(std::vector<Tensor> inputs);
  /// On rank 0: answers what was submitted, then lets the others' `serve` return.
  void end();
  /// On other ranks: runs this part for each request until rank 0 ends.
  Status serve();

  /// The executor of a channel; not while requests are answered. On rank 0 its runs are those of all ranks, as requests
  /// are.
  Executor& executor(int channel) { return *lanes_[static_cast<size_t>(channel)]->executor; }
  const Executor& executor(int channel) const { return *lanes_[static_cast<size_t>(channel)]->executor; }
  Transport& transport() const { return *transport_; }
  const Program& program() const { return *program_; }
  int channels() const { return static_cast<int>(lanes_.size()); }
  /// Requests of this rank that were answered.
  size_t answered() const;

 private:
  struct Request {
    std::vector<Tensor> inputs;
    std::promise<Answer> answer{};
  };
  /// State of one channel.
  struct Lane {
    int channel = 0;
    std::unique_ptr<Executor> executor{};
    std::deque<Request> waiting{};  ///< on rank 0
    std::thread thread{};
  };
  class Tickets;

  ClusterProgram(std::shared_ptr<Transport> transport, ClusterOptions options)
      : transport_(std::move(transport)), options_(std::move(options)) {}
  Status load(Plan plan, std::shared_ptr<const Code> code);
  Status start_threads();
  void answer_requests(Lane& lane);
  void follow(Lane& lane);
  bool announce(Lane& lane, uint64_t number);
  void break_off();

  std::shared_ptr<Transport> transport_;
  ClusterOptions options_;
  std::vector<RemoteDevice*> remotes_;  ///< of the program
  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_ended_ = false;
  bool is_broken_ = false;  ///< a channel of this rank goes no further
  uint64_t begun_ = 0;      ///< requests
  size_t submitted_ = 0, answered_ = 0;
};

}  // namespace collage::runtime
