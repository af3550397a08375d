// SPDX-License-Identifier: Apache-2.0
// Ranks that `mpirun` started, each a process of its own.
//
// One thread makes all calls of MPI, so that the least that any MPI grants (MPI_THREAD_FUNNELED) is enough: it starts
// what others post, tests what is under way, and sleeps for moments in between, longer ones the longer nothing happens.
// Messages of more than `piece_bytes` bytes go in several, since MPI counts bytes in an int.
//
// Beside the messages of others it looks after the ranks. Rank 0 and each other rank send each other a sign of life
// every half second. A rank that is silent for `silence` was killed, stopped or cut off: the rank that notices reports
// it to all, and from then on all transfers fail with that reason. After a failure each rank has a moment to say why it
// ends; then MPI_Abort ends them all, also those that do not answer; a rank that was stopped on the same machine is
// first let go on, since some `mpirun` ask politely before they kill. A rank that does not come to its end by itself is
// ended all the same.
//
//     rank 2 is stopped   ..4 s..   rank 0: "rank 2 has not answered for 4 s" => all   ..1.5 s..   MPI_Abort
#pragma once

#include <memory>
#include <string>

#include "runtime/cluster/mpi_module.h"
#include "runtime/cluster/transport.h"

namespace collage::runtime {

struct MpiOptions {
  TimeLimit start{8};         ///< until all ranks are there; zero: no limit
  TimeLimit silence{4};       ///< of a rank, until it counts as lost
  TimeLimit last_words{1.5};  ///< from when a rank leaves after a failure until all are ended: output travels
  TimeLimit forced_end{3};    ///< from a failure, where a rank does not leave
  size_t piece_bytes = size_t{1} << 30;  ///< fits an int
};

class MpiTransport : public Transport {
 public:
  /// Once in a process, on all ranks. Waits for them. `module`: as load_mpi_module gives it.
  static Result<std::shared_ptr<MpiTransport>> start(const collage_mpi_functions* module,
                                                     const MpiOptions& options = {});
  /// Loads the module that the launch names first.
  static Result<std::shared_ptr<MpiTransport>> start(const MpiLaunch& launch, const MpiOptions& options = {});
  /// As `leave`.
  ~MpiTransport() override;

  /// The end, on all ranks, when no transfer is under way: waits for all ranks and leaves MPI. After a failure it ends
  /// the processes of all ranks with `code`, this one too, a moment later: whatever is to be said of it was said
  /// before.
  Status leave(int code = 1);

  int rank() const override;
  int size() const override;
  std::string machine() const override;
  TransferRef send(int peer, int channel, std::span<const std::byte> bytes) override;
  TransferRef receive(int peer, int channel, std::span<std::byte> bytes) override;
  void abort(const std::string& reason) override;
  Status failure() const override;

 private:
  class Loop;

  explicit MpiTransport(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}

  std::shared_ptr<Loop> loop_;  ///< the thread has it, too
  bool has_left_ = false;
};

}  // namespace collage::runtime
