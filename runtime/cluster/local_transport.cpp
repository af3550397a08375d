// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/local_transport.h"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

namespace collage::runtime {
namespace {

/// State that the ranks share.
class LocalHub {
 public:
  LocalHub(int size, std::string (*name_of)(int)) : size_(size), name_of_(name_of) {}

  int size() const { return size_; }

  TransferRef post(int from, int to, int channel, std::span<const std::byte> bytes) {
    return post(from, to, channel, Message{bytes, {}, std::make_shared<Transfer>()}, true);
  }
  TransferRef take(int from, int to, int channel, std::span<std::byte> bytes) {
    return post(from, to, channel, Message{{}, bytes, std::make_shared<Transfer>()}, false);
  }

  void abort(int rank, const std::string& reason) {
    std::map<Line, Waiting> lines;
    Status failure = Status::ok();
    {
      std::lock_guard lock(mutex_);
      if (failure_) failure_ = Status::error(name_of_(rank) + ": " + reason);
      failure = failure_;
      lines.swap(lines_);
    }
    for (auto& [line, waiting] : lines) {
      for (auto* messages : {&waiting.sends, &waiting.receives}) {
        for (const Message& message : *messages) message.transfer->complete(failure);
      }
    }
  }

  Status failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  struct Message {
    std::span<const std::byte> from;
    std::span<std::byte> to;
    TransferRef transfer;
  };
  struct Waiting {
    std::deque<Message> sends, receives;  ///< one of them is empty
  };
  using Line = std::tuple<int, int, int>;  ///< from, to, channel

  TransferRef post(int from, int to, int channel, Message message, bool is_send) {
    TransferRef transfer = message.transfer;
    std::optional<Message> other;
    {
      std::lock_guard lock(mutex_);
      const bool exists = from >= 0 && from < size_ && to >= 0 && to < size_;
      if (!failure_ || !exists) {
        transfer->complete(failure_ ? Status::error("there is no such rank") : failure_);
        return transfer;
      }
      Waiting& waiting = lines_[{from, to, channel}];
      std::deque<Message>& partners = is_send ? waiting.receives : waiting.sends;
      if (partners.empty()) {
        (is_send ? waiting.sends : waiting.receives).push_back(std::move(message));
      } else {
        other = std::move(partners.front());
        partners.pop_front();
      }
    }
    if (other) deliver(to, is_send ? message : *other, is_send ? *other : message);
    return transfer;
  }

  void deliver(int to, const Message& send, const Message& receive) {
    Status status = Status::ok();
    if (send.from.size() != receive.to.size()) {
      abort(to, "a message has " + std::to_string(send.from.size()) + " bytes, " + std::to_string(receive.to.size()) +
                    " were expected");
      status = failure();
    } else if (!send.from.empty()) {
      std::memcpy(receive.to.data(), send.from.data(), send.from.size());
    }
    send.transfer->complete(status);
    receive.transfer->complete(status);
  }

  const int size_;
  std::string (*const name_of_)(int);
  mutable std::mutex mutex_;
  std::map<Line, Waiting> lines_;
  Status failure_ = Status::ok();
};

class LocalTransport : public Transport {
 public:
  LocalTransport(std::shared_ptr<LocalHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return hub_->size(); }
  std::string machine() const override { return "this process"; }
  TransferRef send(int peer, int channel, std::span<const std::byte> bytes) override {
    return hub_->post(rank_, peer, channel, bytes);
  }
  TransferRef receive(int peer, int channel, std::span<std::byte> bytes) override {
    return hub_->take(peer, rank_, channel, bytes);
  }
  void abort(const std::string& reason) override { hub_->abort(rank_, reason); }
  Status failure() const override { return hub_->failure(); }

 private:
  std::shared_ptr<LocalHub> hub_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Transport>> make_local_transports(int size, std::string (*name_of)(int)) {
  const auto hub = std::make_shared<LocalHub>(size, name_of);
  std::vector<std::shared_ptr<Transport>> transports;
  for (int rank = 0; rank < size; ++rank) transports.push_back(std::make_shared<LocalTransport>(hub, rank));
  return transports;
}

}  // namespace collage::runtime
