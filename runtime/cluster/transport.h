// SPDX-License-Identifier: Apache-2.0
// How the hosts of a cluster talk to each other: `size` processes, of which this one has the number `rank`.
//
//     rank 0   send(1, channel 3, a)   send(1, channel 3, b)
//     rank 1   receive(0, channel 3, x)   receive(0, channel 3, y)         =>   x = a, y = b
//
// Messages between two ranks on one channel stay in order: the n-th receive gets the n-th send, which has as many
// bytes; channels do not wait for each other. Bytes go from where they lie to where they are to lie, without a copy in
// between. A send may be done only when its receive has been posted.
//
// The first failure is the failure of all: every rank gets it, and from then on all transfers of all ranks, those
// under way included, end with it. A rank that is killed, stopped or cut off is such a failure as soon as it is
// noticed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/cluster/transfer.h"
#include "runtime/core/status.h"

namespace collage::runtime {

/// `rank 1`
std::string rank_text(int rank);

/// Functions may be called by several threads at once; those who post on one channel to one peer agree on their order.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The name of the machine that this rank runs on, for messages.
  virtual std::string machine() const = 0;

  /// Return at once. The bytes stay as and where they are until the transfer is done. `channel` is in [0, kChannels).
  virtual TransferRef send(int peer, int channel, std::span<const std::byte> bytes) = 0;
  virtual TransferRef receive(int peer, int channel, std::span<std::byte> bytes) = 0;

  /// Makes all transfers of all ranks fail: this rank cannot go on. Only the first reason of all ranks counts.
  virtual void abort(const std::string& reason) = 0;
  /// Why transfers fail from now on.
  virtual Status failure() const = 0;

  /// Waits for a transfer. One that takes longer than `limit` is a failure of all: `what` says what was waited for.
  Status finish(const Transfer& transfer, TimeLimit limit, const std::string& what);
};

/// MPI grants more tags than that everywhere.
inline constexpr int kChannels = 8192;
/// The channel of collectives.h.
inline constexpr int kCollectiveChannel = 0;

}  // namespace collage::runtime
