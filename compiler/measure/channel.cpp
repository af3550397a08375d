// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace collage::measure {
namespace {

constexpr uint32_t kLongest = 1u << 30;

bool send_all(int descriptor, const char* data, size_t size) {
  while (size > 0) {
    ssize_t sent = ::send(descriptor, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

/// Returns -1 if there is no deadline. Rounds up, so that the wait does not end before the deadline.
int milliseconds_until(const Deadline& deadline) {
  if (!deadline) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000'000));
}

Received receive_all(int descriptor, const Deadline& deadline, StopFlag stop, char* data, size_t size) {
  while (size > 0) {
    if (is_set(stop)) return Received::Stopped;
    const Deadline next_look = std::chrono::steady_clock::now() + kStopPause;
    const bool is_look = stop != nullptr && (!deadline || *next_look < *deadline);
    pollfd waiting{descriptor, POLLIN, 0};
    int ready = ::poll(&waiting, 1, milliseconds_until(is_look ? next_look : deadline));
    if (ready == 0 && is_look) continue;
    if (ready == 0) return Received::TimedOut;
    if (ready < 0 && errno != EINTR) return Received::Closed;
    if (ready < 0) continue;
    ssize_t got = ::recv(descriptor, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::Closed;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return Received::Message;
}

}  // namespace

bool send_message(int descriptor, std::string_view text) {
  auto size = static_cast<uint32_t>(text.size());
  char header[sizeof size];
  std::memcpy(header, &size, sizeof size);
  return text.size() < kLongest && send_all(descriptor, header, sizeof header) &&
         send_all(descriptor, text.data(), text.size());
}

Received receive_message(int descriptor, const Deadline& deadline, std::string* text, StopFlag stop) {
  uint32_t size = 0;
  char header[sizeof size];
  Received received = receive_all(descriptor, deadline, stop, header, sizeof header);
  if (received != Received::Message) return received;
  std::memcpy(&size, header, sizeof size);
  if (size >= kLongest) return Received::Closed;
  text->resize(size);
  return receive_all(descriptor, deadline, stop, text->data(), size);
}

}  // namespace collage::measure
