// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <vector>

#include "compiler/measure/cost_request.h"
#include "compiler/measure/printable.h"

namespace collage::measure {

using runtime::Result;
using runtime::Status;

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestAnswer = 1 << 20;
constexpr int kMostFailures = 3;  ///< of the program, in a row

struct Pipe {
  int read = -1, write = -1;

  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    // Not one of the standard descriptors, which the child's are moved to.
    read = ::fcntl(ends[0], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    write = ::fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(ends[0]);
    ::close(ends[1]);
    return read >= 0 && write >= 0;
  }
};

void close_descriptor(int* descriptor) {
  if (*descriptor >= 0) ::close(*descriptor);
  *descriptor = -1;
}

/// A write to a process that is gone is an error, not a signal for this process.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now{0, 0};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t signal_{}, before_{};
  bool was_pending_ = false;
};

/// In a child that leads a process group of its own: kills the group when no process holds the other end of the pipe
/// `alive` any more, however that comes about. Signals to the group do not end it.
[[noreturn]] void watch(int alive) {
  ::setpgid(0, 0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(alive, STDIN_FILENO);
  // Also the other end, and locks of the compiler.
  if (::close_range(STDIN_FILENO + 1, ~0U, 0) != 0) {  // before Linux 5.9
    for (long other = STDIN_FILENO + 1, end = ::sysconf(_SC_OPEN_MAX); other < end; ++other)
      ::close(static_cast<int>(other));
  }
  // A shell holds less memory than a copy of the compiler.
  char shell[] = "sh", option[] = "-c", script[] = "read -r line; kill -KILL 0";
  char* const argv[] = {shell, option, script, nullptr};
  ::execv("/bin/sh", argv);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::kill(0, SIGKILL);
  ::_exit(1);
}

/// The descriptors of a child that becomes the program.
struct Ends {
  int in, out, errors;
  int failure;  ///< takes `errno` if it cannot become it; closed if it can
};

/// In the child, before it becomes the program: only what is safe after a fork of a process with threads. Until then it
/// holds the pipe of the watching process open, which so cannot end the group before this process has joined it.
[[noreturn]] void become(char* const* argv, const char* folder, pid_t group, const Ends& ends) {
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(ends.in, STDIN_FILENO);
  ::dup2(ends.out, STDOUT_FILENO);
  ::dup2(ends.errors, STDERR_FILENO);
  if (::setpgid(0, group) == 0 && ::chdir(folder) == 0) ::execvp(argv[0], argv);
  const int why = errno;
  [[maybe_unused]] const ssize_t written = ::write(ends.failure, &why, sizeof why);
  ::_exit(127);
}

void collect(pid_t process) {
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Status CostProgram::spawn() {
  Pipe in, out, errors, failure, alive;
  std::vector<std::string> words = words_of(options_.command);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string folder = options_.folder.empty() ? "." : options_.folder;
  const bool opened = in.open() && out.open() && errors.open() && failure.open() && alive.open();
  if (opened) watcher_ = ::fork();
  if (opened && watcher_ == 0) watch(alive.read);
  if (watcher_ > 0) {
    ::setpgid(watcher_, watcher_);  // by parent and child: either may be first
    process_ = ::fork();
    if (process_ == 0) become(argv.data(), folder.c_str(), watcher_, {in.read, out.write, errors.write, failure.write});
  }
  int error = process_ < 0 ? errno : 0;
  for (int* end : {&in.read, &out.write, &errors.write, &failure.write, &alive.read}) close_descriptor(end);
  to_ = in.write;
  from_ = out.read;
  errors_ = errors.read;
  alive_ = alive.write;
  received_.clear();
  last_errors_.clear();
  int reported = 0;
  // Ends when the program has started, or says why it cannot.
  if (error == 0 && ::read(failure.read, &reported, sizeof reported) == sizeof reported) error = reported;
  close_descriptor(&failure.read);
  for (int end : {to_, from_, errors_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  if (error == 0) return Status::ok();
  stop();
  return Status::error(fmt::format("cannot be started: {}", std::strerror(error)));
}

void CostProgram::stop() {
  close_descriptor(&to_);
  close_descriptor(&from_);
  close_descriptor(&errors_);
  // One that reads to the end of its input may now end by itself.
  bool ended = process_ < 0;
  for (int i = 0; i < 20 && !ended; ++i) {
    ended = ::waitpid(process_, nullptr, WNOHANG) != 0;
    if (!ended) ::usleep(10'000);
  }
  if (watcher_ > 0) ::kill(-watcher_, SIGKILL);  // whatever it has started
  if (!ended) {
    ::kill(process_, SIGKILL);  // it may have left the group
    collect(process_);
  }
  if (watcher_ > 0) collect(watcher_);
  close_descriptor(&alive_);
  process_ = watcher_ = -1;
}

bool CostProgram::has_ended() const {
  siginfo_t about{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid != 0;
}

void CostProgram::drain_errors() {
  constexpr size_t kKept = 4096;
  constexpr int kMostBlocks = 16;  // what a pipe holds; more may come for ever
  std::array<char, 4096> block;
  ssize_t got = 0;
  for (int i = 0; i < kMostBlocks && (got = ::read(errors_, block.data(), block.size())) > 0; ++i) {
    last_errors_.append(block.data(), static_cast<size_t>(got));
    if (last_errors_.size() > kKept) last_errors_.erase(0, last_errors_.size() - kKept);
  }
}

std::string CostProgram::last_error_line() {
  drain_errors();
  std::string_view text = last_errors_;
  text = text.substr(0, text.find_last_not_of("\r\n ") + 1);
  return printable(text.substr(text.find_last_of("\r\n") + 1), 160);
}

std::string CostProgram::death() {
  int status = 0;
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    ended = ::waitpid(process_, &status, WNOHANG) == process_;
    if (!ended) ::usleep(10'000);
  }
  if (!ended) return "closed its output";
  process_ = -1;
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  return fmt::format("died of signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
}

Result<std::string> CostProgram::converse(std::string line) {
  constexpr double kSliceSeconds = 0.1;  // a child of a program that has ended may hold its output open
  const NoBrokenPipe guard;
  const auto end = Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
  std::array<char, 1 << 16> block;
  line += '\n';
  for (bool is_open = true;;) {
    if (const size_t at = received_.find('\n'); at != std::string::npos) {
      std::string answer = received_.substr(0, at);
      received_.erase(0, at + 1);
      return answer;
    }
    if (received_.size() > kLongestAnswer) return Status::error("answered more than 1 MiB in one line");
    if (!is_open) return Status::error(death());
    if (is_set(options_.stop)) return Status::error("was not waited for");
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return Status::error(fmt::format("did not answer within {:g} s", options_.timeout_seconds));
    const bool ended = has_ended();
    std::array<pollfd, 3> waiting{{{from_, POLLIN, 0}, {errors_, POLLIN, 0}, {line.empty() ? -1 : to_, POLLOUT, 0}}};
    ::poll(waiting.data(), waiting.size(), ended ? 0 : static_cast<int>(std::min(left, kSliceSeconds) * 1000) + 1);
    if (ended && waiting[0].revents == 0) return Status::error(death());
    if (waiting[2].revents != 0) {
      const ssize_t sent = ::write(to_, line.data(), line.size());
      if (sent > 0) line.erase(0, static_cast<size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR)
        line.clear();  // what it still answers is read; then it has ended
    }
    if (waiting[1].revents != 0) {
      drain_errors();
      if ((waiting[1].revents & (POLLIN | POLLHUP)) == POLLHUP) close_descriptor(&errors_);
    }
    if (waiting[0].revents != 0) {
      const ssize_t got = ::read(from_, block.data(), block.size());
      if (got > 0) received_.append(block.data(), static_cast<size_t>(got));
      is_open = got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
    }
  }
}

Result<Measurement> CostProgram::answer_to(const Request& request) {
  const int64_t id = ++id_;
  if (process_ < 0) {
    if (Status spawned = spawn(); !spawned) return spawned;
  }
  const Result<std::string> answer = converse(request(id));
  if (!answer) return answer.status();
  return parse_cost_answer(*answer, id);
}

Measurement CostProgram::ask(const Request& request) {
  std::string why;
  if (failures_ < kMostFailures) {
    const Result<Measurement> said = answer_to(request);
    if (said) {
      failures_ = 0;
      return *said;
    }
    why = said.message();
    if (const std::string line = last_error_line(); !line.empty()) why += ": " + line;
    stop();
    last_failure_ = why;
    ++failures_;
  } else {
    why = fmt::format("failed {} times in a row, at last it {}", failures_, last_failure_);
  }
  Measurement failed = passing_failure("the cost program " + why);
  failed.crashed = true;
  return failed;
}

}  // namespace collage::measure
