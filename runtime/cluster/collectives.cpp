// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/collectives.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace collage::runtime {
namespace {

constexpr int kClockRounds = 40;
constexpr uint64_t kLongestText = uint64_t{1} << 30;

int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status send_now(Transport& transport, int peer, std::span<const std::byte> bytes, TimeLimit limit = kCollectiveLimit) {
  const TransferRef transfer = transport.send(peer, kCollectiveChannel, bytes);
  return transport.finish(*transfer, limit, rank_text(peer));
}

Status receive_now(Transport& transport, int peer, std::span<std::byte> bytes, TimeLimit limit = kCollectiveLimit) {
  const TransferRef transfer = transport.receive(peer, kCollectiveChannel, bytes);
  return transport.finish(*transfer, limit, rank_text(peer));
}

Status send_text(Transport& transport, int peer, const std::string& text, TimeLimit limit) {
  const std::array<uint64_t, 1> length{text.size()};
  if (Status status = send_now(transport, peer, std::as_bytes(std::span(length)), limit); !status) return status;
  return text.empty() ? Status::ok() : send_now(transport, peer, std::as_bytes(std::span(text)), limit);
}

Result<std::string> receive_text(Transport& transport, int peer, TimeLimit limit) {
  std::array<uint64_t, 1> length{};
  if (Status status = receive_now(transport, peer, std::as_writable_bytes(std::span(length)), limit); !status)
    return status;
  if (length[0] > kLongestText) return Status::error(rank_text(peer) + " sends a text that is too long");
  std::string text(length[0], '\0');
  if (text.empty()) return text;
  if (Status status = receive_now(transport, peer, std::as_writable_bytes(std::span(text)), limit); !status)
    return status;
  return text;
}

/// Reads the clock of one other rank, on rank 0.
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

/// What a rank says to `agree`.
struct Opinion {
  bool is_good = true;
  std::string machine{};
  std::string text{};  ///< the key, or what is wrong
};

std::string print(const Opinion& opinion) {
  return (opinion.is_good ? "+" : "-") + opinion.machine + "\n" + opinion.text;
}

Opinion parse_opinion(const std::string& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  return {text.starts_with('+'), text.substr(std::min<size_t>(1, end), end > 0 ? end - 1 : 0),
          text.substr(std::min(end + 1, text.size()))};
}

/// `rank 1 on node7`, `ranks 1 on node7, 2 on node8`.
std::string names_of(const std::vector<size_t>& ranks, const std::vector<Opinion>& all) {
  std::string names = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t rank : ranks) {
    if (rank != ranks.front()) names += ", ";
    names += std::to_string(rank) + " on " + all[rank].machine;
  }
  return names;
}

/// A line for each text of those that are wrong, in the order of ranks.
std::string wrong_lines(const std::vector<Opinion>& all) {
  std::vector<std::pair<std::string, std::vector<size_t>>> wrong;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].is_good) continue;
    const auto same =
        std::find_if(wrong.begin(), wrong.end(), [&](const auto& w) { return w.first == all[rank].text; });
    if (same == wrong.end()) {
      wrong.push_back({all[rank].text, {rank}});
    } else {
      same->second.push_back(rank);
    }
  }
  std::string lines;
  for (const auto& [text, ranks] : wrong) {
    if (!lines.empty()) lines += "\n";
    lines += ranks.size() == all.size() ? text : names_of(ranks, all) + ": " + text;
  }
  return lines;
}

/// The first rank that has another key than rank 0; empty: all have the same.
std::string different_key(const std::vector<Opinion>& all) {
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].text == all.front().text) continue;
    return names_of({rank}, all) + " has `" + all[rank].text + "`, rank 0 has `" + all.front().text +
           "`: all ranks need the same file and the same options";
  }
  return "";
}

}  // namespace

Result<std::vector<std::string>> gather(Transport& transport, const std::string& text, TimeLimit limit) {
  std::vector<std::string> texts;
  if (transport.rank() != 0) {
    if (Status status = send_text(transport, 0, text, limit); !status) return status;
    return texts;
  }
  texts.push_back(text);
  for (int peer = 1; peer < transport.size(); ++peer) {
    Result<std::string> other = receive_text(transport, peer, limit);
    if (!other) return other.status();
    texts.push_back(std::move(*other));
  }
  return texts;
}

Result<std::string> broadcast(Transport& transport, const std::string& text, TimeLimit limit) {
  if (transport.rank() != 0) return receive_text(transport, 0, limit);
  for (int peer = 1; peer < transport.size(); ++peer) {
    if (Status status = send_text(transport, peer, text, limit); !status) return status;
  }
  return text;
}

Status barrier(Transport& transport) {
  const Result<std::vector<std::string>> all = gather(transport, "");
  return all ? broadcast(transport, "").status() : all.status();
}

Status agree(Transport& transport, const Status& status, const std::string& key, TimeLimit limit) {
  const Opinion own{status.is_ok(), transport.machine(), status ? key : status.message()};
  const Result<std::vector<std::string>> texts = gather(transport, print(own), limit);
  if (!texts) return texts.status();
  std::vector<Opinion> all;
  for (const std::string& text : *texts) all.push_back(parse_opinion(text));
  std::string wrong = wrong_lines(all);
  if (wrong.empty()) wrong = different_key(all);
  const Result<std::string> answer = broadcast(transport, wrong, limit);
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
