// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/link_measurement.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/cluster/collectives.h"

namespace collage::runtime {
namespace {

constexpr int kLinkChannel = kCollectiveChannel + 1;
constexpr TimeLimit kLinkLimit{60};

/// One message there and back; the second of the two ranks answers.
Status go_round(Transport& transport, int peer, bool is_first, std::span<std::byte> bytes) {
  const auto send = [&] {
    return transport.finish(*transport.send(peer, kLinkChannel, bytes), kLinkLimit, "a message that is measured");
  };
  const auto receive = [&] {
    return transport.finish(*transport.receive(peer, kLinkChannel, bytes), kLinkLimit, "a message that is measured");
  };
  const Status first = is_first ? send() : receive();
  if (!first) return first;
  return is_first ? receive() : send();
}

/// Seconds of the quickest round.
Result<double> quickest_round(Transport& transport, int peer, bool is_first, std::span<std::byte> bytes, int rounds) {
  double least = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    if (Status status = go_round(transport, peer, is_first, bytes); !status) return status;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    least = round == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

/// On both ranks of the pair; the figures are those of the first.
Result<PairFigures> measure_pair(Transport& transport, int a, int b, const LinkRounds& rounds) {
  const bool is_first = transport.rank() == a;
  const int peer = is_first ? b : a;
  std::vector<std::byte> bytes(std::max<size_t>(rounds.large_bytes, 8));
  const Result<double> small =
      quickest_round(transport, peer, is_first, std::span(bytes).first(8), std::max(rounds.small, 1));
  if (!small) return small.status();
  const Result<double> large = quickest_round(transport, peer, is_first, bytes, std::max(rounds.large, 1));
  if (!large) return large.status();
  // A clock that is too coarse for the difference leaves the time of the whole.
  const double moving = *large > *small ? *large - *small : std::max(*large, 1e-9);
  return PairFigures{a, b, *small / 2, 2 * static_cast<double>(bytes.size()) / moving};
}

}  // namespace

Result<std::vector<PairFigures>> measure_links(Transport& transport, const LinkRounds& rounds) {
  std::vector<PairFigures> all;
  for (int a = 0; a < transport.size(); ++a) {
    for (int b = a + 1; b < transport.size(); ++b) {
      PairFigures figures;
      if (transport.rank() == a || transport.rank() == b) {
        const Result<PairFigures> measured = measure_pair(transport, a, b, rounds);
        if (!measured) return measured.status();
        figures = *measured;
      }
      // Also what the others wait for.
      std::string text(sizeof figures, '\0');
      std::memcpy(text.data(), &figures, sizeof figures);
      const Result<std::vector<std::string>> texts = gather(transport, text);
      if (!texts) return texts.status();
      if (Status status = barrier(transport); !status) return status;
      if (transport.rank() != 0) continue;
      std::memcpy(&figures, (*texts)[static_cast<size_t>(a)].data(), sizeof figures);
      all.push_back(figures);
    }
  }
  return all;
}

}  // namespace collage::runtime
