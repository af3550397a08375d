// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/collectives.h"

#include <array>
#include <chrono>

namespace collage::runtime {
namespace {

constexpr TimeLimit kCollectiveLimit{60};
constexpr int kClockRounds = 40;
constexpr uint64_t kLongestText = uint64_t{1} << 30;

int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string name_of_rank(int rank) {
  return "rank " + std::to_string(rank);
}

Status send_now(Transport& transport, int peer, std::span<const std::byte> bytes) {
  const TransferRef transfer = transport.send(peer, kCollectiveChannel, bytes);
  return transport.finish(*transfer, kCollectiveLimit, name_of_rank(peer));
}

Status receive_now(Transport& transport, int peer, std::span<std::byte> bytes) {
  const TransferRef transfer = transport.receive(peer, kCollectiveChannel, bytes);
  return transport.finish(*transfer, kCollectiveLimit, name_of_rank(peer));
}

Status send_text(Transport& transport, int peer, const std::string& text) {
  const std::array<uint64_t, 1> length{text.size()};
  if (Status status = send_now(transport, peer, std::as_bytes(std::span(length))); !status) return status;
  return text.empty() ? Status::ok() : send_now(transport, peer, std::as_bytes(std::span(text)));
}

Result<std::string> receive_text(Transport& transport, int peer) {
  std::array<uint64_t, 1> length{};
  if (Status status = receive_now(transport, peer, std::as_writable_bytes(std::span(length))); !status) return status;
  if (length[0] > kLongestText) return Status::error(name_of_rank(peer) + " sends a text that is too long");
  std::string text(length[0], '\0');
  if (text.empty()) return text;
  if (Status status = receive_now(transport, peer, std::as_writable_bytes(std::span(text))); !status) return status;
  return text;
}

/// Of one other rank, on rank 0.
Result<ClockReading> read_clock(Transport& transport, int peer) {
  ClockReading best;
  for (int round = 0; round < kClockRounds; ++round) {
    std::array<int64_t, 1> there{};
    const int64_t sent = steady_ns();
    if (Status status = send_now(transport, peer, std::as_bytes(std::span(there))); !status) return status;
    if (Status status = receive_now(transport, peer, std::as_writable_bytes(std::span(there))); !status) return status;
    const int64_t back = steady_ns();
    if (round > 0 && back - sent >= best.round_trip_ns) continue;
    best = {there[0] - (sent + (back - sent) / 2), back - sent};
  }
  return best;
}

Status show_clock(Transport& transport) {
  for (int round = 0; round < kClockRounds; ++round) {
    std::array<int64_t, 1> here{};
    if (Status status = receive_now(transport, 0, std::as_writable_bytes(std::span(here))); !status) return status;
    here[0] = steady_ns();
    if (Status status = send_now(transport, 0, std::as_bytes(std::span(here))); !status) return status;
  }
  return Status::ok();
}

}  // namespace

Result<std::vector<std::string>> gather(Transport& transport, const std::string& text) {
  std::vector<std::string> texts;
  if (transport.rank() != 0) {
    if (Status status = send_text(transport, 0, text); !status) return status;
    return texts;
  }
  texts.push_back(text);
  for (int peer = 1; peer < transport.size(); ++peer) {
    Result<std::string> other = receive_text(transport, peer);
    if (!other) return other.status();
    texts.push_back(std::move(*other));
  }
  return texts;
}

Result<std::string> broadcast(Transport& transport, const std::string& text) {
  if (transport.rank() != 0) return receive_text(transport, 0);
  for (int peer = 1; peer < transport.size(); ++peer) {
    if (Status status = send_text(transport, peer, text); !status) return status;
  }
  return text;
}

Status barrier(Transport& transport) {
  const Result<std::vector<std::string>> all = gather(transport, "");
  return all ? broadcast(transport, "").status() : all.status();
}

/// Texts begin with `+` where the rank is fine, and with `-` where it is not.
Status agree(Transport& transport, const Status& status, const std::string& key) {
  const Result<std::vector<std::string>> all = gather(transport, status ? "+" + key : "-" + status.message());
  if (!all) return all.status();
  std::string wrong;
  for (size_t rank = 0; rank < all->size() && wrong.empty(); ++rank) {
    const std::string& text = (*all)[rank];
    const std::string name = name_of_rank(static_cast<int>(rank));
    if (text.starts_with("-")) wrong = rank == 0 ? text.substr(1) : name + ": " + text.substr(1);
  }
  for (size_t rank = 1; rank < all->size() && wrong.empty(); ++rank) {
    if ((*all)[rank] != all->front()) {
      wrong = name_of_rank(static_cast<int>(rank)) + " has `" + (*all)[rank].substr(1) + "`, rank 0 has `" +
              all->front().substr(1) + "`: all ranks need the same file and the same options";
    }
  }
  const Result<std::string> answer = broadcast(transport, wrong);
  if (!answer) return answer.status();
  return answer->empty() ? Status::ok() : Status::error(*answer);
}

Result<std::vector<ClockReading>> measure_clocks(Transport& transport) {
  std::vector<ClockReading> readings;
  if (transport.rank() != 0) {
    if (Status status = show_clock(transport); !status) return status;
    return readings;
  }
  readings.emplace_back();
  for (int peer = 1; peer < transport.size(); ++peer) {
    Result<ClockReading> reading = read_clock(transport, peer);
    if (!reading) return reading.status();
    readings.push_back(*reading);
  }
  return readings;
}

}  // namespace collage::runtime
