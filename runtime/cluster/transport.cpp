// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/transport.h"

namespace collage::runtime {

std::string rank_text(int rank) {
  return "rank " + std::to_string(rank);
}

Status Transport::finish(const Transfer& transfer, TimeLimit limit, const std::string& what) {
  if (limit > TimeLimit::zero() && !transfer.wait_for(limit)) {
    abort("waited " + seconds_text(limit) + " for " + what);
  }
  return transfer.wait();
}

}  // namespace collage::runtime
