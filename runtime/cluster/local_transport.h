// SPDX-License-Identifier: Apache-2.0
// Ranks of one process, joined by queues: each is for threads of its own. A message is copied once, from the sender's
// bytes to the receiver's, by whichever of both comes later; a send is done only then, which is the most that a
// transport may make it wait.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cluster/transport.h"

namespace collage::runtime {

/// One for each rank, in their order. Each lives as long as anyone needs it. `name_of`: what failures call a rank.
std::vector<std::shared_ptr<Transport>> make_local_transports(int size, std::string (*name_of)(int) = rank_text);

}  // namespace collage::runtime
