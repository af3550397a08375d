// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/mpi_transport.h"

#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cluster/collectives.h"
#include "runtime/core/machine_name.h"
#include "runtime/core/text.h"

namespace collage::runtime {
namespace {

using LoopClock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

constexpr TimeLimit kBeat{0.5};            // between signs of life
constexpr TimeLimit kLastCalls{0.5};       // of MPI, after a failure
constexpr Microseconds kIdlePoll{20'000};  // where only signs of life are expected
constexpr Microseconds kSpin{50};          // after something happened: no sleep
constexpr Microseconds kShortestSleep{10}, kLongestSleep{200};
constexpr int kControlTag = 0;

double seconds_between(LoopClock::time_point from, LoopClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The processes that run other ranks on this machine. On all ranks at once.
Result<std::vector<pid_t>> find_neighbours(Transport& transport) {
  const std::string here = transport.machine();
  Result<std::vector<std::string>> all = gather(transport, std::to_string(::getpid()) + " " + here);
  if (!all) return all.status();
  std::string lines;
  for (const std::string& line : *all) lines += line + "\n";
  Result<std::string> shared = broadcast(transport, lines);
  if (!shared) return shared.status();
  std::vector<pid_t> neighbours;
  for (const std::string& line : split(*shared, '\n')) {
    int pid = 0;
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), last, pid);
    const bool is_here = error == std::errc() && std::string_view(end, last) == " " + here;
    if (is_here && pid > 1 && pid != ::getpid()) neighbours.push_back(pid);
  }
  return neighbours;
}

}  // namespace

/// The thread that calls MPI.
class MpiTransport::Loop {
 public:
  Loop(const collage_mpi_functions* mpi, const MpiOptions& options) : mpi_(*mpi), options_(options) {}

  void run() {
#ifdef __linux__
    (void)prctl(PR_SET_TIMERSLACK, 1UL);  // sleeps end when they should
#endif
    if (!start()) return;
    last_event_ = last_round_ = LoopClock::now();
    heard_.assign(static_cast<size_t>(size_), last_round_);
    beats_.resize(static_cast<size_t>(size_));
    post_control();
    while (!is_over()) {
      if (!is_silent_) {
        take_posted();
        test_transfers();
        hear_control();
        look_after_ranks();
      }
      end_after_failure();
      rest();
    }
    finish();
  }

  /// Waits for all ranks. Fails where they do not come in time.
  Status wait_for_start() {
    std::unique_lock lock(mutex_);
    const auto is_there = [this] { return has_started_; };
    if (options_.start <= TimeLimit::zero()) {
      changed_.wait(lock, is_there);
    } else if (!changed_.wait_for(lock, options_.start, is_there)) {
      return Status::error("MPI did not start within " + seconds_text(options_.start) +
                           ": a rank was not started, was stopped, or has ended");
    }
    return start_status_;
  }

  TransferRef post(bool is_send, int peer, int channel, std::byte* data, size_t bytes) {
    Operation operation{is_send, peer, channel + 1, data, bytes, std::make_shared<Transfer>()};
    TransferRef transfer = operation.transfer;
    Status refused = Status::ok();
    {
      std::lock_guard lock(mutex_);
      if (!failure_) {
        refused = failure_;
      } else if (peer < 0 || peer >= size_ || peer == rank_ || channel < 0 || channel >= kChannels || is_leaving_) {
        refused = Status::error("there is no way to rank " + std::to_string(peer));
      } else {
        posted_.push_back(std::move(operation));
      }
    }
    if (!refused) {
      transfer->complete(refused);
    } else {
      changed_.notify_all();
    }
    return transfer;
  }

  /// `announces`: whether the others do not know it yet.
  void fail(const std::string& reason, bool announces) {
    {
      std::lock_guard lock(mutex_);
      if (!failure_ || is_over_) return;
      failure_ = Status::error(reason);
      failed_at_ = LoopClock::now();
      announces_ = announces;
    }
    changed_.notify_all();
  }

  Status failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  int rank() const {
    return rank_;
  }
  int size() const {
    return size_;
  }

  /// Processes of other ranks on this machine.
  void set_neighbours(std::vector<pid_t> neighbours) {
    std::lock_guard lock(mutex_);
    neighbours_ = std::move(neighbours);
  }

  /// Returns when the thread is done, or does not come to an end.
  bool leave(int code) {
    std::unique_lock lock(mutex_);
    is_leaving_ = true;
    left_at_ = LoopClock::now();
    exit_code_ = std::max(code, 1);
    changed_.notify_all();
    return changed_.wait_for(lock, TimeLimit(10), [this] { return has_ended_; });
  }

 private:
  /// A message about the ranks themselves.
  struct Control {
    uint64_t is_failure = 0;  ///< otherwise a sign of life
    std::array<char, 504> text{};
  };

  struct Operation {
    bool is_send = false;
    int peer = 0;
    int tag = 0;
    std::byte* data = nullptr;
    size_t bytes = 0;
    TransferRef transfer{};
    std::vector<void*> pieces{};  ///< requests under way
    size_t received = 0;
  };

  std::string text_of(int error) const {
    std::array<char, 512> text{};
    mpi_.describe(error, text.data(), text.size());
    return std::string(mpi_.library) + ": " + text.data();
  }

  bool start() {
    int rank = 0, size = 0;
    const int error = mpi_.start(&rank, &size);
    std::lock_guard lock(mutex_);
    rank_ = rank;
    size_ = size;
    has_started_ = true;
    if (error != 0) start_status_ = Status::error(text_of(error));
    if (error != 0) has_ended_ = true;
    changed_.notify_all();
    return error == 0;
  }

  bool is_over() {
    std::lock_guard lock(mutex_);
    is_over_ = is_leaving_ && failure_.is_ok() && active_.empty() && posted_.empty();
    return is_over_;
  }

  void take_posted() {
    std::vector<Operation> posted;
    {
      std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (Operation& operation : posted) {
      last_event_ = LoopClock::now();
      const int error = begin(&operation);
      active_.push_back(std::move(operation));
      if (error != 0) fail(describe_rank() + text_of(error), true);
    }
  }

  /// Pieces go in order, and MPI keeps messages between two ranks with one tag in order.
  int begin(Operation* operation) const {
    size_t at = 0;
    do {
      const size_t count = std::min(operation->bytes - at, options_.piece_bytes);
      void* request = nullptr;
      const int error = operation->is_send
                            ? mpi_.send(operation->data + at, count, operation->peer, operation->tag, &request)
                            : mpi_.receive(operation->data + at, count, operation->peer, operation->tag, &request);
      if (error != 0) return error;
      operation->pieces.push_back(request);
      at += count;
    } while (at < operation->bytes);
    return 0;
  }

  void test_transfers() {
    for (size_t i = 0; i < active_.size();) {
      Operation& operation = active_[i];
      const int error = test_pieces(&operation);
      if (error != 0) fail(describe_rank() + text_of(error), true);
      if (error != 0 || !operation.pieces.empty()) {
        ++i;
        continue;
      }
      last_event_ = LoopClock::now();
      if (!operation.is_send && operation.received != operation.bytes) {
        fail(describe_rank() + "a message of rank " + std::to_string(operation.peer) + " has " +
                 std::to_string(operation.received) + " bytes, " + std::to_string(operation.bytes) + " were expected",
             true);
        operation.transfer->complete(failure());
      } else {
        operation.transfer->complete(Status::ok());
      }
      active_.erase(active_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  /// Tests the pieces in order.
  int test_pieces(Operation* operation) const {
    size_t done = 0;
    int error = 0;
    for (; done < operation->pieces.size() && error == 0; ++done) {
      int is_done = 0, peer = 0;
      size_t count = 0;
      error = mpi_.test(operation->pieces[done], &is_done, &count, &peer);
      if (error == 0 && is_done == 0) break;
      operation->received += count;
    }
    operation->pieces.erase(operation->pieces.begin(), operation->pieces.begin() + static_cast<ptrdiff_t>(done));
    return error;
  }

  void post_control() {
    const int error = mpi_.receive(&incoming_, sizeof incoming_, COLLAGE_MPI_ANY_PEER, kControlTag, &control_);
    if (error == 0) return;
    control_ = nullptr;
    fail(describe_rank() + text_of(error), true);
  }

  void hear_control() {
    while (control_ != nullptr) {
      int is_done = 0, peer = 0;
      size_t count = 0;
      const int error = mpi_.test(control_, &is_done, &count, &peer);
      if (error == 0 && is_done == 0) return;
      control_ = nullptr;
      if (error != 0) return fail(describe_rank() + text_of(error), true);
      if (peer >= 0 && peer < size_) heard_[static_cast<size_t>(peer)] = LoopClock::now();
      if (incoming_.is_failure != 0 && count == sizeof incoming_) {
        incoming_.text.back() = '\0';
        fail(incoming_.text.data(), false);
      }
      post_control();
    }
  }

  /// Rank 0 receives signs of life from all ranks, all other ranks from rank 0.
  bool hears(int peer) const {
    return peer != rank_ && (rank_ == 0 || peer == 0);
  }

  void look_after_ranks() {
    const LoopClock::time_point now = LoopClock::now();
    // A process that was stopped has not received signs of life meanwhile.
    if (seconds_between(last_round_, now) > options_.silence.count() / 4) heard_.assign(heard_.size(), now);
    last_round_ = now;
    if (failure().is_ok()) {
      for (int peer = 0; peer < size_; ++peer) {
        const double silent = seconds_between(heard_[static_cast<size_t>(peer)], now);
        if (!hears(peer) || silent <= options_.silence.count()) continue;
        fail(rank_text(peer) + " has not answered for " + std::to_string(static_cast<int>(silent)) +
                 " s: it was stopped, killed or cut off",
             true);
        break;
      }
    }
    if (seconds_between(last_beat_, now) < kBeat.count()) return;
    last_beat_ = now;
    for (int peer = 0; peer < size_; ++peer) {
      if (hears(peer)) send_beat(peer);
    }
  }

  /// At most one is under way to each rank: messages that are not received do not pile up.
  void send_beat(int peer) {
    void*& request = beats_[static_cast<size_t>(peer)];
    if (request != nullptr) {
      int is_done = 0, from = 0;
      size_t count = 0;
      const int error = mpi_.test(request, &is_done, &count, &from);
      if (error == 0 && is_done == 0) return;
      request = nullptr;
      if (error != 0) return fail(describe_rank() + text_of(error), true);
    }
    if (mpi_.send(&beat_, sizeof beat_, peer, kControlTag, &request) != 0) request = nullptr;
  }

  std::string describe_rank() const {
    return rank_text(rank_) + " on " + machine_name() + ": ";
  }

  void end_after_failure() {
    Status reason = Status::ok();
    bool announces = false, is_leaving = false;
    double since = 0, failed_for = 0;
    std::vector<pid_t> neighbours;
    {
      std::lock_guard lock(mutex_);
      if (failure_) return;
      reason = failure_;
      announces = std::exchange(announces_, false);
      is_leaving = is_leaving_;
      neighbours = neighbours_;
      failed_for = seconds_between(failed_at_, LoopClock::now());
      since = seconds_between(is_leaving ? std::max(failed_at_, left_at_) : failed_at_, LoopClock::now());
      for (Operation& operation : posted_) active_.push_back(std::move(operation));
      posted_.clear();
    }
    if (announces) announce(reason.message());
    // MPI may still move what is under way whenever it is called. The others get some time to hear of the failure;
    // after that it is not called any more, so that the memory of transfers can be given back.
    if (!is_silent_ && failed_for < kLastCalls.count()) return;
    is_silent_ = true;
    for (Operation& operation : active_) operation.transfer->complete(reason);
    active_.clear();
    if (since < (is_leaving ? options_.last_words : options_.forced_end).count()) return;
    if (!is_leaving) {  // it waits for something else, or computes
      std::fprintf(stderr, "error: rank %d ends: %s\n", rank_, reason.message().c_str());
      std::fflush(stderr);
    }
    for (pid_t neighbour : neighbours) (void)::kill(neighbour, SIGCONT);
    mpi_.abort(exit_code_);
    ::_exit(exit_code_);
  }

  void announce(const std::string& reason) {
    last_words_.is_failure = 1;
    const size_t length = std::min(reason.size(), last_words_.text.size() - 1);
    std::memcpy(last_words_.text.data(), reason.data(), length);
    for (int peer = 0; peer < size_; ++peer) {
      void* request = nullptr;  // MPI sees to it while others are tested
      if (peer != rank_) (void)mpi_.send(&last_words_, sizeof last_words_, peer, kControlTag, &request);
    }
  }

  /// Until something is posted, or there may be news.
  void rest() {
    const auto quiet = std::chrono::duration_cast<Microseconds>(LoopClock::now() - last_event_);
    if (!active_.empty() && quiet < kSpin) return std::this_thread::yield();
    std::unique_lock lock(mutex_);
    if (!posted_.empty() || (is_leaving_ && failure_.is_ok())) return;
    const Microseconds time = active_.empty() ? kIdlePoll : std::clamp(quiet / 8, kShortestSleep, kLongestSleep);
    changed_.wait_for(lock, time);
  }

  /// All ranks have come to their end: what is left are signs of life.
  void finish() {
    const LoopClock::time_point begin = LoopClock::now();
    for (void*& beat : beats_) {
      int is_done = 0, peer = 0;
      size_t count = 0;
      bool is_under_way = beat != nullptr;  // a test that fails ends it, too
      while (is_under_way && seconds_between(begin, LoopClock::now()) < 1) {
        is_under_way = mpi_.test(beat, &is_done, &count, &peer) == 0 && is_done == 0;
        if (!is_under_way) break;
        hear_control();
        std::this_thread::sleep_for(kLongestSleep);
      }
      if (is_under_way) mpi_.cancel(beat);
      beat = nullptr;
    }
    if (control_ != nullptr) mpi_.cancel(control_);
    (void)mpi_.finish();
    std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }

  const collage_mpi_functions& mpi_;
  const MpiOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Operation> posted_;
  Status failure_ = Status::ok();
  Status start_status_ = Status::ok();
  LoopClock::time_point failed_at_, left_at_;
  bool announces_ = false, is_leaving_ = false, is_over_ = false, has_started_ = false, has_ended_ = false;
  int exit_code_ = 1;
  std::vector<pid_t> neighbours_;
  int rank_ = 0, size_ = 0;  ///< set before has_started_

  // The thread's.
  std::vector<Operation> active_;
  LoopClock::time_point last_event_, last_round_, last_beat_;
  std::vector<LoopClock::time_point> heard_;  ///< by rank: when it last sent a sign of life
  std::vector<void*> beats_;                  ///< by rank: the sign of life under way
  Control beat_, incoming_, last_words_;
  void* control_ = nullptr;  ///< the receive of `incoming_`
  bool is_silent_ = false;   ///< after a failure: MPI is not called but to end
};

Result<std::shared_ptr<MpiTransport>> MpiTransport::start(const MpiLaunch& launch, const MpiOptions& options) {
  Result<const collage_mpi_functions*> module = load_mpi_module(launch.module);
  if (!module) return module.status();
  return start(*module, options);
}

/// The thread holds what it works on, so that it may be left behind where MPI does not come back.
Result<std::shared_ptr<MpiTransport>> MpiTransport::start(const collage_mpi_functions* module,
                                                          const MpiOptions& options) {
  auto loop = std::make_shared<Loop>(module, options);
  try {
    std::thread([loop] { loop->run(); }).detach();
  } catch (const std::exception& exception) {  // the system gives no more threads
    return Status::error(exception.what());
  }
  if (Status status = loop->wait_for_start(); !status) return status;
  std::shared_ptr<MpiTransport> transport(new MpiTransport(loop));
  Result<std::vector<pid_t>> neighbours = find_neighbours(*transport);
  if (!neighbours) return neighbours.status();
  loop->set_neighbours(std::move(*neighbours));
  return transport;
}

MpiTransport::~MpiTransport() {
  (void)leave();
}

Status MpiTransport::leave(int code) {
  if (has_left_) return Status::ok();
  has_left_ = true;
  if (failure().is_ok()) (void)barrier(*this);
  if (loop_->leave(code)) return Status::ok();
  return Status::error("MPI does not come to its end");
}

int MpiTransport::rank() const {
  return loop_->rank();
}

int MpiTransport::size() const {
  return loop_->size();
}

std::string MpiTransport::machine() const {
  return machine_name();
}

TransferRef MpiTransport::send(int peer, int channel, std::span<const std::byte> bytes) {
  return loop_->post(true, peer, channel, const_cast<std::byte*>(bytes.data()), bytes.size());
}

TransferRef MpiTransport::receive(int peer, int channel, std::span<std::byte> bytes) {
  return loop_->post(false, peer, channel, bytes.data(), bytes.size());
}

void MpiTransport::abort(const std::string& reason) {
  loop_->fail(rank_text(rank()) + " on " + machine_name() + ": " + reason, true);
}

Status MpiTransport::failure() const {
  return loop_->failure();
}

}  // namespace collage::runtime
