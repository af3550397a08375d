// SPDX-License-Identifier: Apache-2.0
// The arenas of a program's executions: one in each memory space for each of them. Where a space has no room for
// another one, executions that agree to it share: their runs use the arena in turn, each from its first step in the
// space to its last one there (plan/arena_stays.h), so that more runs are in flight than arenas fit.
//
//     npu[0] holds 2 arenas A, B; executions 0 … 3   =>   0: A   1: B   2: A   3: B
//     run of 0   host   copy in   launch (A)   copy out   host
//     run of 2   host   waits ………………………………………………………… copy in   launch (A)   …
//
// A run takes its place in the lines of all its arenas when it begins, at once, and no step of it touches an arena
// before the runs ahead in that line have left it: all their commands there are done, or they have ended, in whatever
// way.
//
// Why runs never wait for each other in a cycle. Number them as they begin: in every line, those ahead of a run have
// smaller numbers, so a run waits only for runs with smaller ones. The one with the smallest number that has not ended
// waits for none, whatever arenas later ones are in. Where a run has parts on several hosts the numbers have to be the
// same on all of them (cluster/cluster_program.h): then this holds for all its parts.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/core/tensor.h"
#include "runtime/devices/device.h"

namespace collage::runtime {

class Program;

/// What an execution does where a memory has no room for another arena.
enum class ArenaUse {
  Own,     ///< it cannot be made
  InTurn,  ///< it uses the arena of another one that does so, too, in turn with it
};

/// The place of a run in the line of an arena. Changed under the lock of Arenas.
struct ArenaPlace {
  enum class State { Waiting, Inside, Left };

  State state = State::Waiting;
  uint64_t version = 0;             ///< changes with the state
  std::vector<EventRef> last = {};  ///< Left: the run has left once these are reached without a failure
};

struct Arena {
  bool is_in_turn = false;          ///< others may use it, too: its memory has a limit
  Tensor host{};                    ///< its memory, on the host
  DeviceAddress address = 0;        ///< its memory, on a device
  size_t users = 1;                 ///< executions
  std::vector<ArenaPlace*> line{};  ///< of runs, in the order in which they began
};

/// Functions may be called by several threads at once.
class Arenas {
 public:
  /// `program` has its devices by the first call of `take`, and outlives this.
  explicit Arenas(const Program& program);
  Arenas(const Arenas&) = delete;
  Arenas& operator=(const Arenas&) = delete;

  /// An arena for one more execution: one of its own if there is room, otherwise, in turn, the one with the fewest
  /// users.
  Result<Arena*> take(int space, ArenaUse use);
  void give_back(int space, Arena* arena);
  /// Whether executions use any in turn.
  bool are_shared() const;

 private:
  friend class ArenaTurns;

  size_t room(int space) const;

  const Program& program_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::unique_ptr<Arena>>> of_space_;
};

/// The turns of one execution's runs. Functions are called by the thread of the run.
class ArenaTurns {
 public:
  explicit ArenaTurns(Arenas& all) : all_(all) {}
  ArenaTurns(const ArenaTurns&) = delete;
  ArenaTurns& operator=(const ArenaTurns&) = delete;

  /// Adds the arena of each space in which the execution has one, before the first run. An arena that executions do not
  /// share adds no cost to runs.
  void add(int space, Arena& arena);
  /// True if the arena of the space may be used by others, too: runs have to enter it.
  bool has(int space) const { return static_cast<size_t>(space) < places_.size() && at(space).arena != nullptr; }

  /// Takes a place in each line, where the run has none yet.
  void begin();
  /// Waits until the arena is the run's. Expects `begin`; an arena that it is in already is its own.
  void enter(int space);
  /// Enters all of them if none of them makes it wait.
  bool try_enter(std::span<const int> spaces);
  /// Nothing else of the run will use the arena once `last` are reached.
  void leave(int space, std::vector<EventRef> last);
  /// Enters an arena again that the run has left and whose `last` had a failure: commands are given again.
  void return_to(int space);
  /// Leaves all arenas and lines. Expects that no command of the run is still to be done.
  void end();

 private:
  struct Own {
    Arena* arena = nullptr;
    ArenaPlace place{};
  };

  Own& at(int space) { return *places_[static_cast<size_t>(space)]; }
  const Own& at(int space) const { return *places_[static_cast<size_t>(space)]; }
  static void set(ArenaPlace& place, ArenaPlace::State state, std::vector<EventRef> last = {});

  Arenas& all_;
  std::vector<std::unique_ptr<Own>> places_;  ///< by space
  bool is_begun_ = false;
};

}  // namespace collage::runtime
