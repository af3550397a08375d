// SPDX-License-Identifier: Apache-2.0
// The lock of a machine: who holds it, who waits, and what is said of a holder that was stopped.
#include "compiler/measure/machine_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

namespace collage::measure {
namespace {

using Clock = MachineLock::Clock;
using std::chrono::milliseconds;

/// A name that no other program has.
std::string name_of_test() {
  return "collage.test." + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "." +
         std::to_string(::getpid());
}

/// Another process that holds a lock until it is killed; it says when it does. `program`: what it calls itself.
class Holder {
 public:
  explicit Holder(const std::string& name, const char* program = nullptr) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    process_ = ::fork();
    if (process_ == 0) {
      if (program != nullptr) ::prctl(PR_SET_NAME, program);
      const MachineLock lock(name, {});
      (void)!::write(ends[1], lock.is_held() ? "y" : "n", 1);
      while (true) ::pause();
    }
    char held = 0;
    EXPECT_EQ(::read(ends[0], &held, 1), 1);
    EXPECT_EQ(held, 'y');
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Holder() { end(); }

  int process() const { return process_; }
  void stop() const {
    ::kill(process_, SIGSTOP);
    int state = 0;
    ::waitpid(process_, &state, WUNTRACED);
  }
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
};

TEST(MachineLockTest, OneAtATime) {
  const std::string name = name_of_test();
  ASSERT_TRUE(check_machine_locks());
  std::optional<MachineLock> first(std::in_place, name, nullptr);
  EXPECT_TRUE(first->is_held());
  EXPECT_EQ(MachineLock::try_lock(name, Clock::now()), nullptr);
  EXPECT_NE(MachineLock::try_lock(name + "2", Clock::now()), nullptr) << "another name is another lock";
  first.reset();
  const auto second = MachineLock::try_lock(name, Clock::now());
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(second->is_held());
}

TEST(MachineLockTest, WithoutANameNothingIsHeld) {
  const auto lock = MachineLock::try_lock("", Clock::now());
  ASSERT_NE(lock, nullptr);
  EXPECT_FALSE(lock->is_held());
}

TEST(MachineLockTest, TheNameIsTheSameForAllUnlessItIsGiven) {
  const char* given = std::getenv("COLLAGE_MACHINE_LOCK");
  const std::string before = given == nullptr ? "" : given;
  ::unsetenv("COLLAGE_MACHINE_LOCK");
  const std::string usual = machine_lock_name();
  EXPECT_NE(usual, "");
  ::setenv("COLLAGE_MACHINE_LOCK", "", 1);
  EXPECT_EQ(machine_lock_name(), "");
  ::setenv("COLLAGE_MACHINE_LOCK", "half of the cores", 1);
  EXPECT_EQ(machine_lock_name(), "half of the cores");
  given == nullptr ? ::unsetenv("COLLAGE_MACHINE_LOCK") : ::setenv("COLLAGE_MACHINE_LOCK", before.c_str(), 1);
}

TEST(MachineLockTest, LongNamesDiffer) {
  const std::string name = name_of_test() + std::string(200, 'x');
  const auto first = MachineLock::try_lock(name + "1", Clock::now());
  ASSERT_TRUE(first != nullptr && first->is_held());
  EXPECT_EQ(MachineLock::try_lock(name + "1", Clock::now()), nullptr);
  EXPECT_NE(MachineLock::try_lock(name + "2", Clock::now()), nullptr);
}

TEST(MachineLockTest, ADeadProcessHoldsNothing) {
  const std::string name = name_of_test();
  Holder holder(name);
  holder.end();
  EXPECT_NE(MachineLock::try_lock(name, Clock::now()), nullptr);
}

/// One that looked twice a second would need half a second each time; on a busy machine a single try may, too.
TEST(MachineLockTest, WhoWaitsIsWokenAtOnce) {
  const std::string name = name_of_test();
  auto fastest = Clock::duration::max();
  for (int tries = 0; tries < 10 && fastest > milliseconds(400); ++tries) {
    Holder holder(name);
    std::vector<LockHolder> reported;
    const int process = holder.process();
    const auto start = Clock::now();
    std::thread ends([&] {
      std::this_thread::sleep_for(milliseconds(50));
      holder.end();
    });
    const MachineLock lock(name, [&](const LockHolder& who, double) { reported.push_back(who); });
    fastest = std::min(fastest, Clock::now() - start);
    ends.join();
    EXPECT_TRUE(lock.is_held());
    ASSERT_GE(reported.size(), 1u);
    EXPECT_EQ(reported[0].process, process);
  }
  EXPECT_LE(fastest, milliseconds(400));
}

TEST(MachineLockTest, AStoppedHolderIsNamed) {
  const std::string name = name_of_test();
  Holder holder(name);
  LockHolder who;
  EXPECT_EQ(MachineLock::try_lock(name, Clock::now(), &who), nullptr);
  EXPECT_EQ(who.process, holder.process());
  EXPECT_FALSE(who.is_stopped);
  holder.stop();
  const auto start = Clock::now();
  EXPECT_EQ(MachineLock::try_lock(name, start + milliseconds(300), &who), nullptr);
  EXPECT_GE(Clock::now() - start, milliseconds(300));
  EXPECT_TRUE(who.is_stopped);
  EXPECT_EQ(who.text(), "process " + std::to_string(holder.process()) + " (" + who.program + "), which is stopped");
}

/// Names go to terminals and into a database of UTF-8 texts.
TEST(MachineLockTest, NamesOfProgramsAreMadePrintable) {
  const std::string name = name_of_test();
  const Holder holder(name, "a\x1b[2Jb\xc3");
  LockHolder who;
  EXPECT_EQ(MachineLock::try_lock(name, Clock::now(), &who), nullptr);
  EXPECT_EQ(who.program, "a [2Jb ");
}

TEST(MachineLockTest, AWaitIsReportedAtOnceAndWhenTheHolderChanges) {
  std::vector<std::string> reported;
  WaitReport report([&](const LockHolder& holder, double seconds) {
    EXPECT_LT(seconds, 5);
    reported.push_back(holder.text());
  });
  const LockHolder one{7, "collagec"}, stopped{7, "collagec", true}, unknown;
  for (const LockHolder& holder : {one, one, stopped, stopped, unknown}) report.waits(holder);
  report.end();
  report.waits(unknown);
  const std::vector<std::string> expected = {"process 7 (collagec)", "process 7 (collagec), which is stopped",
                                             "another program", "another program"};
  EXPECT_EQ(reported, expected);
}

TEST(MachineLockTest, WhoTakesTheNameAndSaysNothingIsAnotherProgram) {
  const std::string name = name_of_test();
  sockaddr_un address{AF_UNIX, {}};
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
  LockHolder who;
  EXPECT_EQ(MachineLock::try_lock(name, Clock::now() + milliseconds(50), &who), nullptr);
  EXPECT_EQ(who.text(), "another program");
  ::close(socket);
  EXPECT_NE(MachineLock::try_lock(name, Clock::now()), nullptr);
}

TEST(MachineLockTest, ManyTakeTurns) {
  const std::string name = name_of_test();
  std::atomic<int> inside = 0, turns = 0;
  std::atomic<bool> is_alone = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 20; ++turn) {
        const MachineLock lock(name, {});
        if (!lock.is_held() || ++inside != 1) is_alone = false;
        std::this_thread::sleep_for(milliseconds(1));
        --inside;
        ++turns;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_alone);
  EXPECT_EQ(turns, 160);
}

}  // namespace
}  // namespace collage::measure
