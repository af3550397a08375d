// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/machine_lock.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "compiler/measure/printable.h"
#include "runtime/support/hash.h"

namespace collage::measure {
namespace {

using runtime::Descriptor;
using runtime::Status;
using Clock = MachineLock::Clock;

constexpr const char* kVariable = "COLLAGE_MACHINE_LOCK";
constexpr const char* kName = "collage.measuring";
constexpr std::chrono::milliseconds kLook{500};   ///< between looks at the holder, which may be stopped
constexpr std::chrono::milliseconds kRepeat{20};  ///< where no other program can be connected to
constexpr std::chrono::seconds kFirstReport{10}, kNextReport{60};

Descriptor stream_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// The address of an abstract socket: a zero, then the name.
struct Address {
  explicit Address(std::string name) {
    if (name.size() >= sizeof socket.sun_path) name = fmt::format("{}.{:016x}", kName, support::hash_bytes(name));
    socket.sun_family = AF_UNIX;
    std::memcpy(socket.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t size = 0;
};

/// What one try to hold the lock came to.
struct Try {
  Descriptor socket;      ///< that holds it, if it is open
  bool is_taken = false;  ///< another one holds it
};

Try try_once(const Address& address) {
  Try made;
  Descriptor socket = stream_socket();
  if (!socket.is_open()) return made;
  if (::bind(socket.get(), address.get(), address.size) != 0) {
    made.is_taken = errno == EADDRINUSE;
    return made;
  }
  // Programs that wait connect to the socket and are never accepted.
  if (::listen(socket.get(), SOMAXCONN) == 0) made.socket = std::move(socket);
  return made;
}

/// The state letter of `/proc/N/stat` follows the name, in which anything may stand: `4711 (my (program)) T 1 …`
bool is_stopped(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t end = text.rfind(") ");
  return end != std::string::npos && end + 2 < text.size() && (text[end + 2] == 'T' || text[end + 2] == 't');
}

/// The process at the other end of a connection.
LockHolder holder_at(const Descriptor& connection) {
  LockHolder holder;
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.pid <= 0) return holder;
  holder.process = who.pid;
  std::ifstream file(fmt::format("/proc/{}/comm", who.pid));
  std::string name;
  std::getline(file, name);
  holder.program = printable(name);  // a process may give itself any name
  holder.is_stopped = is_stopped(who.pid);
  return holder;
}

/// Waits for the lock: reports to `waiting`, and gives up at the deadline, or where it is asked to stop.
class Wait {
 public:
  Wait(const std::string& name, std::optional<Clock::time_point> deadline, StopFlag stop = nullptr)
      : address_(name), deadline_(deadline), stop_(stop) {}

  Try run(const MachineLock::Waiting& waiting) {
    WaitReport report(waiting);
    while (true) {
      Try made = try_once(address_);
      if (!made.is_taken) return made;
      look();
      if (is_over()) return made;
      // Between two holders none is seen.
      if (connection_.is_open() || Clock::now() - start_ > kLook) report.waits(holder_);
      sleep();
    }
  }
  const LockHolder& holder() const { return holder_; }

 private:
  bool is_over() const { return is_set(stop_) || (deadline_ && Clock::now() >= *deadline_); }

  void look() {
    if (!connection_.is_open()) {
      connection_ = stream_socket();
      // The holder may be about to listen, or gone by now.
      if (connection_.is_open() && ::connect(connection_.get(), address_.get(), address_.size) != 0)
        connection_ = Descriptor();
    }
    if (connection_.is_open()) holder_ = holder_at(connection_);
  }

  void sleep() {
    auto most = connection_.is_open() ? kLook : kRepeat;
    if (stop_ != nullptr) most = std::min(most, kStopPause);
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
      most = std::clamp(left, std::chrono::milliseconds(0), most);
    }
    pollfd end{connection_.get(), POLLIN | POLLRDHUP, 0};
    const int ready = ::poll(&end, connection_.is_open() ? 1 : 0, static_cast<int>(most.count()));
    if (ready > 0) connection_ = Descriptor();  // the holder has let go
  }

  Address address_;
  std::optional<Clock::time_point> deadline_;
  StopFlag stop_;
  Clock::time_point start_ = Clock::now();
  Descriptor connection_;  ///< to the holder
  LockHolder holder_;
};

}  // namespace

std::string machine_lock_name() {
  const char* given = std::getenv(kVariable);
  return given != nullptr ? given : kName;
}

Status check_machine_locks() {
  // Without a name the system makes one.
  const Descriptor socket = stream_socket();
  const sockaddr_un nameless{AF_UNIX, {}};
  const bool is_bound = socket.is_open() && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&nameless),
                                                   sizeof nameless.sun_family) == 0;
  return is_bound ? Status::ok() : Status::error(std::strerror(errno));
}

void WaitReport::waits(const LockHolder& holder) {
  const auto now = Clock::now();
  if (!reported_) start_ = now;
  if (reported_ == holder && now < next_) return;
  const Clock::duration waited = now - start_;
  next_ = waited < kFirstReport ? start_ + kFirstReport : now + kNextReport;
  reported_ = holder;
  if (report_) report_(holder, std::chrono::duration<double>(waited).count());
}

std::string LockHolder::text() const {
  if (process == 0) return "another program";
  return fmt::format("process {}{}{}", process, program.empty() ? "" : " (" + program + ")",
                     is_stopped ? ", which is stopped" : "");
}

MachineLock::MachineLock(const std::string& name, const Waiting& waiting, StopFlag stop) {
  if (!name.empty()) socket_ = Wait(name, std::nullopt, stop).run(waiting).socket;
}

std::unique_ptr<MachineLock> MachineLock::try_lock(const std::string& name, Clock::time_point deadline,
                                                   LockHolder* holder) {
  std::unique_ptr<MachineLock> lock(new MachineLock());
  if (name.empty()) return lock;
  Wait wait(name, deadline);
  Try made = wait.run({});
  if (made.is_taken) {
    if (holder != nullptr) *holder = wait.holder();
    return nullptr;
  }
  lock->socket_ = std::move(made.socket);
  return lock;
}

}  // namespace collage::measure
