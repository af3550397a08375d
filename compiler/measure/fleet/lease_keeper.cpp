// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/fleet/lease_keeper.h"

#include <poll.h>

#include <algorithm>

namespace collage::measure::fleet {
namespace {

constexpr double kBeatsInLease = 3;
constexpr double kConnectSeconds = 2;
constexpr std::chrono::milliseconds kLook{50};  ///< at what other threads and the descriptor say

}  // namespace

LeaseKeeper::LeaseKeeper(LeaseKeeperOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    state_.is_ending = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::set_worker(int64_t worker) {
  const std::lock_guard lock(mutex_);
  state_.worker = worker;
}

void LeaseKeeper::set_asker(const Asker& asker) {
  const std::lock_guard lock(mutex_);
  state_.asker = asker;
}

void LeaseKeeper::set_note(const std::string& note) {
  const std::lock_guard lock(mutex_);
  state_.note = note;
}

void LeaseKeeper::hold(const Job& job, double most_seconds) {
  const auto most = std::chrono::duration<double>(std::min(most_seconds, 1e9));
  const std::lock_guard lock(mutex_);
  state_.held = Held{job, Clock::now() + std::chrono::duration_cast<Clock::duration>(most)};
}

void LeaseKeeper::drop() {
  const std::lock_guard lock(mutex_);
  state_.held.reset();
}

bool LeaseKeeper::is_to_stop() const {
  if (options_.stop < 0) return false;
  pollfd waiting{options_.stop, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

void LeaseKeeper::run() {
  const auto pause = std::chrono::duration<double>(options_.lease_seconds / kBeatsInLease);
  const auto patience = std::chrono::duration<double>(options_.patience);
  auto next = Clock::now();
  std::optional<Clock::time_point> stops_since;
  std::unique_lock lock(mutex_);
  while (!state_.is_ending) {
    changed_.wait_for(lock, kLook, [&] { return state_.is_ending; });
    if (state_.is_ending) return;
    const State now = state_;
    if (!stops_since && is_to_stop()) stops_since = Clock::now();
    // Without a job the measuring thread sees it, too, and ends.
    if (stops_since && (now.held || Clock::now() - *stops_since > patience)) {
      lock.unlock();
      leave(now);
      if (options_.stopped) options_.stopped();
      return;
    }
    if (Clock::now() < next || now.worker == 0) continue;
    lock.unlock();
    beat(now);
    next = Clock::now() + std::chrono::duration_cast<Clock::duration>(pause);
    lock.lock();
  }
}

/// What fails is tried again at the next beat; the lease ends where the server stays away.
void LeaseKeeper::beat(const State& now) {
  if (connection_ == nullptr) {
    auto opened = postgres::Connection::open(options_.address, kConnectSeconds);
    if (!opened) return;
    connection_ = std::move(*opened);
    connection_->limit_silence(options_.lease_seconds / kBeatsInLease);
  } else if (connection_->is_lost() && !connection_->reconnect(kConnectSeconds)) {
    return;
  }
  Queue queue(*connection_);
  (void)queue.beat(now.worker, now.note);
  if (now.asker.id != 0) (void)queue.renew(now.asker);
  if (now.held && Clock::now() < now.held->end) (void)queue.extend(now.held->job, now.worker, options_.lease_seconds);
}

void LeaseKeeper::leave(const State& now) {
  if (now.worker == 0) return;
  if (connection_ == nullptr || connection_->is_lost()) {
    auto opened = postgres::Connection::open(options_.address, kConnectSeconds);
    if (!opened) return;
    connection_ = std::move(*opened);
  }
  connection_->limit_silence(kConnectSeconds);
  (void)Queue(*connection_).leave(now.worker);
}

}  // namespace collage::measure::fleet
