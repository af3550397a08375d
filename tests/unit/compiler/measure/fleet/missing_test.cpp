// SPDX-License-Identifier: Apache-2.0
// What a compiler says of workers that do not measure what it needs.
#include "compiler/measure/fleet/missing.h"

#include <gtest/gtest.h>

namespace collage::measure::fleet {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* kMachine = "cpu A features b";
constexpr const char* kBuild = "collage 1 program 0 llvm 19";

std::string on_machine(const std::string& subject) {
  return std::string(kMachine) + "\n" + kBuild + "\n" + subject;
}

class WhyNotAsked : public testing::Test {
 protected:
  KnownWorker& add(const std::string& name, const Lines& needs) {
    KnownWorker& made = workers_.emplace_back();
    made.id = static_cast<int64_t>(workers_.size());
    made.is_live = true;
    made.announcement.name = name;
    made.announcement.host = "lab";
    made.announcement.machine = kMachine;
    made.announcement.build = kBuild;
    made.announcement.backends = "host npu";
    offers_[made.id] = needs;
    return made;
  }
  Lines why(const std::string& need, Explain explain = Explain::Mismatches) const {
    return why_not_asked(need, workers_, offers_, explain);
  }

  std::vector<KnownWorker> workers_;
  std::map<int64_t, Lines> offers_;
};

TEST_F(WhyNotAsked, OtherRulesAreSaidOnceForAllWorkersThatHaveThem) {
  for (const char* name : {"a", "b", "c"}) add(name, {on_machine("host"), on_machine("npu version 2 runtime sim  {}")});
  EXPECT_EQ(
      why(on_machine("npu version 1 runtime sim  {}")),
      Lines{"worker `a` at lab and 2 others are not asked for `npu`: other rules, `version 2` instead of `version 1`"});
}

TEST_F(WhyNotAsked, AttributesAndKernelsAreOfTheRules) {
  add("a", {on_machine("npu version 1 runtime sim  {lanes = 8}")});
  EXPECT_EQ(why(on_machine("npu version 1 runtime sim  {lanes = 16} conv:wide by f")),
            Lines{"worker `a` at lab is not asked for `npu`: other rules, `= 8}` instead of `= 16} conv:wide by f`"});
}

TEST_F(WhyNotAsked, AnotherBuildIsThatOfAllBackends) {
  add("a", {"another need"}).announcement.build = "collage 0 program 1";
  EXPECT_EQ(
      why(on_machine("host")),
      Lines{"worker `a` at lab is not asked: another build, collage 0 program 1 instead of " + std::string(kBuild)});
}

TEST_F(WhyNotAsked, AnotherProgramOfABoard) {
  const std::string files = " 0123456789abcdef 00112233445566ff";
  add("a", {"exec python3 board.py 0123456789abcdef 0000000000000000\nboard version 1"}).announcement.machine =
      "cpu other features";
  add("b", {"exec python3 old.py" + files + "\nboard version 1"});
  add("c", {on_machine("board version 1")});
  EXPECT_EQ(why("exec python3 board.py" + files + "\nboard version 1"),
            (Lines{"worker `a` at lab is not asked for `board`: files of `python3 board.py` have other contents",
                   "worker `b` at lab is not asked for `board`: another cost program, `python3 old.py` instead of "
                   "`python3 board.py`",
                   "worker `c` at lab is not asked for `board`: no cost program"}));
}

/// In a fleet for boards it is no news that they are no servers, unless nobody measures.
TEST_F(WhyNotAsked, WorkersOfAnotherKindAreSaidWhereNobodyMeasures) {
  add("arm", {"cpu Cortex-A72 features\ncollage 1\nhost"}).announcement.machine = "cpu Cortex-A72 features";
  add("few", {on_machine("host")}).announcement.backends = "host";
  EXPECT_EQ(why(on_machine("npu version 1")), Lines());
  EXPECT_EQ(why(on_machine("npu version 1"), Explain::All),
            (Lines{"worker `arm` at lab is not asked: another machine, `Cortex-A72`",
                   "worker `few` at lab is not asked for `npu`: only host is measured there"}));
}

TEST_F(WhyNotAsked, WhoWaitsForItsMachineSaysSo) {
  add("a", {on_machine("host")}).note = "waits: process 7 measures on this machine";
  add("b", {on_machine("host")});
  EXPECT_EQ(why(on_machine("host"), Explain::All),
            Lines{"worker `a` at lab is not asked for `host`: waits: process 7 measures on this machine"});
}

TEST_F(WhyNotAsked, WhoIsGoneDoesNotCount) {
  add("a", {on_machine("npu version 2")}).is_live = false;
  add("compiler 7", {});
  offers_.erase(2);
  EXPECT_EQ(why(on_machine("npu version 1"), Explain::All), Lines());
}

}  // namespace
}  // namespace collage::measure::fleet
