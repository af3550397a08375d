// SPDX-License-Identifier: Apache-2.0
// What the compiler makes of programs that answer costs: good ones, and ones that die, hang or talk nonsense.
#include "compiler/measure/cost_program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/measure/cost_request.h"

namespace collage::measure {
namespace {

namespace fs = std::filesystem;

/// A shell script in a folder of its own.
class Script {
 public:
  explicit Script(const std::string& text) {
    static int count = 0;
    folder_ = testing::TempDir() + "collage_script_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
    fs::create_directories(folder_);
    std::ofstream(folder_ + "/costs.sh") << text;
  }
  ~Script() { fs::remove_all(folder_); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  CostProgramOptions options(double timeout = 10) const { return {"sh costs.sh", folder_, timeout}; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

std::string plain(int64_t id) {
  return "{\"id\": " + std::to_string(id) + "}";
}

/// Counts the requests, and answers with the given words after the id.
std::string answering(const std::string& rest) {
  return "n=0\nwhile read -r line; do n=$((n + 1)); echo '{\"id\": '$n', " + rest + "}'; done\n";
}

Measurement ask_once(const std::string& script, double timeout = 10) {
  const Script written(script);
  CostProgram program(written.options(timeout));
  return program.ask(plain);
}

TEST(CostProgram, OneProcessAnswersAll) {
  const Script script("echo started >> log\n" + answering("\"cost\": '$n.5', \"unit\": \"us\""));
  CostProgram program(script.options());
  for (int n = 1; n <= 3; ++n) {
    const Measurement answer = program.ask(plain);
    EXPECT_EQ(answer.failure, "");
    EXPECT_EQ(answer.cost, Duration::seconds((n + 0.5) * 1e-6));
    EXPECT_EQ(problem_of(answer), "");
  }
  std::ifstream log(script.folder() + "/log");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(log), {}), "started\n");
}

TEST(CostProgram, ARefusalIsTheCandidates) {
  const Measurement refused = ask_once(answering("\"refused\": \"no\\\\troom\""));
  EXPECT_TRUE(refused.failed());
  EXPECT_TRUE(refused.lasting);
  EXPECT_EQ(refused.failure, "refused by the cost program: no room");
  EXPECT_TRUE(ask_once(answering("\"refused\": \"out of memory\"")).lasting);
}

TEST(CostProgram, ImpossibleCostsAreFailures) {
  const std::pair<const char*, const char*> cases[] = {
      {"\"cost\": -1, \"unit\": \"us\"", "an impossible cost, -1 us"},
      {"\"cost\": 0, \"unit\": \"us\"", "an impossible cost, 0 us"},
      {"\"cost\": 1e300, \"unit\": \"s\"", "an impossible cost"},
      {"\"cost\": 1e999, \"unit\": \"s\"", "not JSON"},
      {"\"cost\": \"1\", \"unit\": \"s\"", "without a number"},
      {"\"cost\": true, \"unit\": \"s\"", "without a number"},
      {"\"cost\": 1", "without a `unit`"},
      {"\"cost\": 1, \"unit\": \"days\"", "without a `unit`"},
      {"\"refused\": 1", "without a reason"},
      {"\"fast\": 1", "without a number"},
  };
  for (const auto& [answer, why] : cases) {
    const Measurement failed = ask_once(answering(answer));
    EXPECT_TRUE(failed.failed()) << answer;
    EXPECT_FALSE(failed.lasting) << answer;
    EXPECT_NE(failed.failure.find(why), std::string::npos) << failed.failure;
  }
}

TEST(CostProgram, DeathsGarbageAndSilence) {
  const std::pair<const char*, const char*> cases[] = {
      {"exit 3", "the cost program ended with exit code 3"},
      {"echo the table is empty >&2; exit 1", "ended with exit code 1: the table is empty"},
      {"kill -SEGV $$", "died of signal 11"},
      {"read line; echo 2 us", "answered `2 us`, which is not JSON"},
      {"read line; echo 7", "JSON that is not an object"},
      {"read line; echo '{\"id\": 2, \"cost\": 1, \"unit\": \"s\"}'", "another request than 1"},
      {"read line; printf '\\377\\376\\n'", "not JSON"},
      {"read line; yes x | tr -d '\\n'", "more than 1 MiB in one line"},
      {"read line; printf '{\"id\": 1'", "ended with exit code 0"},
      {"exec 0<&- 1>&- 2>&-; sleep 60", "closed its output"},
      {"trap '' TERM; sleep 60", "did not answer within 0.2 s"},
      {"yes x", "not JSON"},
      {"while :; do echo busy >&2; done", "did not answer within 0.2 s"},
  };
  for (const auto& [script, why] : cases) {
    const Measurement failed = ask_once(script, 0.2);
    EXPECT_TRUE(failed.failed()) << script;
    EXPECT_FALSE(failed.lasting) << script;
    EXPECT_TRUE(failed.crashed) << script;
    EXPECT_NE(failed.failure.find(why), std::string::npos) << script << ": " << failed.failure;
  }
}

TEST(CostProgram, ARequestThatNobodyReads) {
  const Script script("sleep 60");
  CostProgram program(script.options(0.2));
  const Measurement late = program.ask([](int64_t) { return std::string(1 << 22, 'x'); });
  EXPECT_NE(late.failure.find("did not answer"), std::string::npos) << late.failure;
}

TEST(CostProgram, TwoAnswersToOneRequest) {
  const Script script(
      "n=0\nwhile read -r line; do n=$((n + 1))\nfor i in 1 2; do echo '{\"id\": '$n', \"cost\": 1, \"unit\": \"s\"}'; "
      "done; done");
  CostProgram program(script.options());
  EXPECT_FALSE(program.ask(plain).failed());
  EXPECT_TRUE(program.ask(plain).failed());  // the answer is the one before
}

TEST(CostProgram, GivesUpAfterThreeFailuresInARow) {
  const Script script("echo started >> log; exit 1");
  CostProgram program(script.options());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.ask(plain).failure, "the cost program ended with exit code 1");
  EXPECT_EQ(program.ask(plain).failure, "the cost program failed 3 times in a row, at last it ended with exit code 1");
  std::ifstream log(script.folder() + "/log");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(log), {}), "started\nstarted\nstarted\n");
}

TEST(CostProgram, AnAbsentProgram) {
  CostProgram program({"no-such-program-of-costs", "", 10});
  const Measurement failed = program.ask(plain);
  EXPECT_EQ(failed.failure, "the cost program cannot be started: No such file or directory");
  EXPECT_FALSE(failed.lasting);
}

TEST(CostProgram, NothingOfItIsLeft) {
  const Script script("sleep 60 & echo $! > pid; wait");
  {
    CostProgram program(script.options(0.3));
    EXPECT_TRUE(program.ask(plain).failed());
  }
  int sleeping = 0;
  std::ifstream(script.folder() + "/pid") >> sleeping;
  ASSERT_GT(sleeping, 0);
  // Killed; whoever inherits it collects it.
  std::string state;
  for (int i = 0; i < 200; ++i) {
    std::ifstream file("/proc/" + std::to_string(sleeping) + "/stat");
    std::string pid, name;
    if (!(file >> pid >> name >> state) || state == "Z") return;
    ::usleep(10'000);
  }
  FAIL() << "the program's child is in state " << state;
}

TEST(CostProgram, ItsChildMayHoldTheOutput) {
  // The program is gone, though the pipe is open.
  const Measurement failed = ask_once("sleep 60 & exit 3", 20);
  EXPECT_EQ(failed.failure, "the cost program ended with exit code 3");
}

TEST(CostProgram, WhatItSaysIsPrintable) {
  const Measurement failed = ask_once("printf 'all \\033[31mred\\377\\n' >&2; exit 1");
  EXPECT_EQ(failed.failure, "the cost program ended with exit code 1: all  [31mred ");
}

}  // namespace
}  // namespace collage::measure
