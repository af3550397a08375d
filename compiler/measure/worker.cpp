// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "compiler/measure/channel.h"
#include "compiler/measure/plan_text.h"
#include "runtime/pool/short_waits.h"
#include "runtime/support/installation.h"

namespace collage::measure {

namespace fs = std::filesystem;

namespace {

Deadline deadline_in(double seconds) {
  using Clock = std::chrono::steady_clock;
  return Clock::now() + std::chrono::round<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::string find_worker_program() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path program = self.parent_path() / "collage-measure";
  // Without the path of this program it would be one in the working directory.
  if (!error && ::access(program.c_str(), X_OK) == 0) return program.string();
  return support::installed_file("bin/collage-measure");
}

std::string worker_library(const std::string& program) {
  constexpr std::string_view kFromFolder = COLLAGE_COMPILER_LIBRARY;
  return kFromFolder.empty() ? "" : (fs::path(program).parent_path() / kFromFolder).string();
}

runtime::Status Worker::spawn() {
  using runtime::Status;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return Status::error(std::strerror(errno));
  // Only the last dup2 gives the child a descriptor that survives: the pair itself closes on exec. dup2 onto itself
  // would not clear that flag, so the child's end is moved away from its target first.
  int child_end = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kWorkerDescriptor + 1);
  ::close(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_end, kWorkerDescriptor);
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  }
  std::vector<std::string> words = {options_.program};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string spins = fmt::format("{}={}", runtime::kSpinVariable, runtime::kSpins);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  if (runtime::wants_short_waits()) environment.push_back(spins.data());
  environment.push_back(nullptr);
  int error = ::posix_spawn(&process_, options_.program.c_str(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(child_end);
  socket_ = ends[0];
  // A process that does not read must not block the compiler forever.
  timeval patience{static_cast<time_t>(options_.timeout_seconds) + 1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (error == 0) return Status::ok();
  process_ = -1;
  stop();
  return Status::error(std::strerror(error));
}

void Worker::stop() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

Measurement Worker::death() {
  int status = 0;
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    ended = ::waitpid(process_, &status, WNOHANG) == process_;
    if (!ended) ::usleep(10'000);
  }
  if (ended) process_ = -1;
  stop();
  Measurement dead = failed_measurement("the measuring process closed its connection");
  bool is_signal = ended && WIFSIGNALED(status);
  int signal = is_signal ? WTERMSIG(status) : 0;
  if (ended && WIFEXITED(status)) {
    dead.failure = fmt::format("the measuring process ended with exit code {}", WEXITSTATUS(status));
  } else if (signal == SIGXCPU) {
    dead.failure = "it used up its processor time";
  } else if (is_signal) {
    dead.failure = fmt::format("the measuring process died of signal {} ({})", signal, ::strsignal(signal));
  }
  // Other signals come from outside: from a user, or from a machine out of memory (which may also abort a program).
  dead.lasting = signal == SIGSEGV || signal == SIGFPE || signal == SIGILL;
  dead.crashed = dead.lasting || signal == SIGABRT || signal == SIGBUS;
  return dead;
}

std::optional<Measurement> Worker::start() {
  constexpr int kMostFailedStarts = 3;
  if (failed_starts_ == kMostFailedStarts) return start_failure_;
  if (const runtime::Status spawned = spawn(); !spawned) {
    start_failure_ = failed_measurement(fmt::format("`{}` cannot be started: {}", options_.program, spawned.message()));
  } else {
    std::string ready;
    Received received = receive_message(socket_, deadline_in(options_.start_seconds), &ready, options_.stop);
    if (received == Received::Stopped) {
      stop();
      return stopped_measurement();
    }
    if (received == Received::Message) {
      failed_starts_ = 0;
      int64_t reference = 0;
      std::from_chars(ready.data(), ready.data() + ready.size(), reference);
      if (reference > 0) reference_ = Duration::picoseconds(reference);
      return std::nullopt;
    }
    if (received == Received::Closed) {
      start_failure_ = death();
    } else {
      stop();
      start_failure_ =
          failed_measurement(fmt::format("the measuring process was not ready after {:g} s", options_.start_seconds));
    }
  }
  start_failure_.lasting = false;
  start_failure_.crashed = false;
  ++failed_starts_;
  return start_failure_;
}

std::optional<Measurement> Worker::exchange(const std::string& message, double timeout, std::string* reply) {
  if (is_set(options_.stop)) return stopped_measurement();
  if (process_ < 0) {
    if (std::optional<Measurement> failed = start()) return *failed;
  }
  Deadline deadline = deadline_in(timeout);
  Received received = Received::Closed;
  if (send_message(socket_, message)) received = receive_message(socket_, deadline, reply, options_.stop);
  if (received == Received::Closed) return death();
  if (received == Received::Message) return std::nullopt;
  stop();
  if (received == Received::Stopped) return stopped_measurement();
  Measurement late = failed_measurement(fmt::format("it took more than {:g} s", timeout));
  late.timeout = Duration::seconds(std::max(timeout, 1e-12));
  return late;
}

std::vector<Measurement> Worker::time_plans(const std::vector<std::string>& plans) {
  std::string reply;
  const double timeout = options_.timeout_seconds * kPlanTimeouts;
  if (std::optional<Measurement> failed = exchange(plans_message(plans), timeout, &reply)) return {*failed};
  std::vector<Measurement> measured;
  std::istringstream lines(reply);
  for (std::string line; std::getline(lines, line);) {
    if (std::optional<Measurement> one = parse_line(line)) measured.push_back(std::move(*one));
  }
  if (measured.size() == plans.size()) return measured;
  stop();
  return {failed_measurement("the measuring process sent an invalid answer")};
}

Measurement Worker::measure(const std::string& candidate) {
  std::string reply;
  if (std::optional<Measurement> failed = exchange(candidate, options_.timeout_seconds, &reply)) return *failed;
  std::optional<Measurement> measurement = parse_line(reply);
  if (!measurement) {
    measurement = passing_failure("the measuring process sent an invalid answer");
  }
  if (measurement->failed() && !measurement->lasting) stop();
  return *measurement;
}

}  // namespace collage::measure
