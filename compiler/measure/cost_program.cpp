// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/cost_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "compiler/measure/cost_request.h"
#include "compiler/measure/fingerprint.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t kLongestAnswer = 1 << 20;
constexpr int kMostFailures = 3;  ///< of the program, in a row

std::vector<std::string> words_of(const std::string& command) {
  std::istringstream stream(command);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

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

/// In the child, before it becomes the program: only what is safe after a fork of a process with threads. It dies with the
/// compiler, however that ends.
[[noreturn]] void become(char* const* argv, const char* folder, int in, int out, int errors, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  if (::chdir(folder) == 0) ::execvp(argv[0], argv);
  const int why = errno;
  [[maybe_unused]] const ssize_t written = ::write(failure, &why, sizeof why);
  ::_exit(127);
}

}  // namespace

bool CostProgram::spawn(std::string* why) {
  Pipe in, out, errors, failure;
  std::vector<std::string> words = words_of(options_.command);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string folder = options_.folder.empty() ? "." : options_.folder;
  const bool opened = in.open() && out.open() && errors.open() && failure.open();
  if (opened) process_ = ::fork();
  if (opened && process_ == 0) become(argv.data(), folder.c_str(), in.read, out.write, errors.write, failure.write);
  int error = process_ < 0 ? errno : 0;
  for (int* end : {&in.read, &out.write, &errors.write, &failure.write}) close_descriptor(end);
  to_ = in.write;
  from_ = out.read;
  errors_ = errors.read;
  received_.clear();
  last_errors_.clear();
  int reported = 0;
  // Ends when the program has started, or says why it cannot.
  if (error == 0 && ::read(failure.read, &reported, sizeof reported) == sizeof reported) error = reported;
  close_descriptor(&failure.read);
  for (int end : {to_, from_, errors_}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  if (error == 0) return true;
  *why = fmt::format("cannot be started: {}", std::strerror(error));
  stop();
  return false;
}

void CostProgram::stop() {
  close_descriptor(&to_);
  close_descriptor(&from_);
  close_descriptor(&errors_);
  if (process_ < 0) return;
  // One that reads to the end of its input may now end by itself.
  bool ended = false;
  for (int i = 0; i < 20 && !ended; ++i) {
    ended = ::waitpid(process_, nullptr, WNOHANG) != 0;
    if (!ended) ::usleep(10'000);
  }
  ::kill(-process_, SIGKILL);  // whatever it has started
  if (!ended) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  process_ = -1;
}

void CostProgram::drain_errors() {
  constexpr size_t kKept = 4096;
  std::array<char, 4096> block;
  for (ssize_t got = 0; (got = ::read(errors_, block.data(), block.size())) > 0;) {
    last_errors_.append(block.data(), static_cast<size_t>(got));
    if (last_errors_.size() > kKept) last_errors_.erase(0, last_errors_.size() - kKept);
  }
}

std::string CostProgram::death() {
  int status = 0;
  bool ended = false;
  for (int i = 0; i < 100 && !ended; ++i) {
    ended = ::waitpid(process_, &status, WNOHANG) == process_;
    if (!ended) ::usleep(10'000);
  }
  drain_errors();
  std::string said = last_errors_;
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  said = said.substr(said.rfind('\n') + 1);
  std::string how = "closed its output";
  if (ended && WIFSIGNALED(status)) {
    how = fmt::format("died of signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  } else if (ended) {
    how = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  }
  if (ended) {
    ::kill(-process_, SIGKILL);
    process_ = -1;
  }
  return said.empty() ? how : fmt::format("{}: {}", how, said.substr(0, 160));
}

bool CostProgram::converse(std::string line, std::string* answer, std::string* why) {
  const NoBrokenPipe guard;
  const auto end = Clock::now() + std::chrono::duration<double>(options_.timeout_seconds);
  std::array<char, 1 << 16> block;
  line += '\n';
  for (bool is_open = true;;) {
    if (const size_t at = received_.find('\n'); at != std::string::npos) {
      *answer = received_.substr(0, at);
      received_.erase(0, at + 1);
      return true;
    }
    if (received_.size() > kLongestAnswer) {
      *why = "answered more than 1 MiB in one line";
      return false;
    }
    if (!is_open) {
      *why = death();
      return false;
    }
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    std::array<pollfd, 3> waiting{{{from_, POLLIN, 0}, {errors_, POLLIN, 0}, {line.empty() ? -1 : to_, POLLOUT, 0}}};
    const int ready = left > 0 ? ::poll(waiting.data(), waiting.size(), static_cast<int>(left * 1000) + 1) : 0;
    if (ready == 0) {
      *why = fmt::format("did not answer within {:g} s", options_.timeout_seconds);
      return false;
    }
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

Measurement CostProgram::ask(const std::function<std::string(int64_t id)>& request) {
  Measurement failed = failed_measurement("");
  failed.lasting = false;
  failed.crashed = true;
  if (failures_ == kMostFailures) {
    failed.failure = fmt::format("the cost program failed {} times in a row, at last it {}", failures_, last_failure_);
    return failed;
  }
  std::string why, answer;
  const int64_t id = ++id_;
  bool is_garbage = false;
  Measurement measurement;
  if ((process_ >= 0 || spawn(&why)) && converse(request(id), &answer, &why)) {
    measurement = parse_cost_answer(answer, id, &is_garbage);
    if (!is_garbage) {
      failures_ = 0;
      return measurement;
    }
    last_failure_ = "gave an answer that was none";
  } else {
    last_failure_ = why;
    measurement = failed;
    measurement.failure = "the cost program " + why;
  }
  stop();
  ++failures_;
  return measurement;
}

std::string describe_program(const std::string& command, const std::string& folder) {
  std::string text = "exec " + command;
  bool is_first = true;
  for (const std::string& word : words_of(command)) {
    std::vector<fs::path> places = {fs::path(folder.empty() ? "." : folder) / word};
    if (is_first && word.find('/') == std::string::npos) {
      places.clear();
      const char* path = std::getenv("PATH");
      std::istringstream folders(path == nullptr ? "" : path);
      for (std::string one; std::getline(folders, one, ':');) places.push_back(fs::path(one) / word);
    }
    is_first = false;
    std::error_code error;
    for (const fs::path& place : places) {
      if (!fs::is_regular_file(place, error)) continue;
      text += fmt::format(" {:016x}", fingerprint(place.string()));
      break;
    }
  }
  return text;
}

}  // namespace collage::measure
