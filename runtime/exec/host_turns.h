// SPDX-License-Identifier: Apache-2.0
// The processors of one host, for several runs at once: each step of the host has all of them, one step at a time, and
// the run that began first goes first. So a host that is one stage of a pipeline finishes its oldest request and passes
// it on, as the event model says (core/schedule.h: the host is one resource), while others wait for it or for other
// hosts.
//
//     runs 4 and 5 have a step each, run 6 is in one   =>   6 ends its step, then 4, then 5
//
// A step waits for nothing while it has its turn, so turns cannot deadlock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

namespace collage::runtime {

/// Functions may be called by several threads at once.
class HostTurns {
 public:
  /// The number of a run that begins now: those that began before have smaller ones.
  uint64_t begin_run();
  /// Runs that wait for a turn.
  size_t waiting() const;

  /// A turn of a run, from when there is one to the end of this object.
  class Turn {
   public:
    /// `turns` may be null: nothing else needs the host.
    Turn(HostTurns* turns, uint64_t run) : turns_(turns) {
      if (turns_ != nullptr) turns_->take(run);
    }
    ~Turn() {
      if (turns_ != nullptr) turns_->give_back();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    HostTurns* turns_;
  };

 private:
  void take(uint64_t run);
  void give_back();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint64_t> waiting_;
  uint64_t begun_ = 0;
  bool is_taken_ = false;
};

}  // namespace collage::runtime
