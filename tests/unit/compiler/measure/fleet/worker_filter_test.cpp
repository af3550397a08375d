// SPDX-License-Identifier: Apache-2.0
// Which workers `--measure-on` means.
#include "compiler/measure/fleet/worker_filter.h"

#include <gtest/gtest.h>

namespace collage::measure::fleet {
namespace {

KnownWorker worker(const std::string& name, const std::string& arch, const std::string& processor, bool is_live = true,
                   const std::string& build = "collage 1 program 0a llvm 19") {
  KnownWorker made;
  made.announcement.name = name;
  made.announcement.host = "host of " + name;
  made.announcement.arch = arch;
  made.announcement.processor = processor;
  made.announcement.machine = "cpu" + processor + " features";
  made.announcement.build = build;
  made.is_live = is_live;
  return made;
}

TEST(WorkerFilter, NamesAttributes) {
  const auto arm = WorkerFilter::parse("arch=aarch64,cpu=cortex");
  ASSERT_TRUE(arm) << arm.message();
  EXPECT_TRUE(arm->matches(worker("a", "aarch64", "Cortex-A72").announcement));
  EXPECT_FALSE(arm->matches(worker("a", "aarch64", "Neoverse").announcement));
  EXPECT_FALSE(arm->matches(worker("a", "x86_64", "Cortex-A72").announcement));
  const auto named = WorkerFilter::parse("name=a,host=host of a");
  ASSERT_TRUE(named);
  EXPECT_TRUE(named->matches(worker("a", "", "").announcement));
  EXPECT_FALSE(named->matches(worker("aa", "", "").announcement));
}

TEST(WorkerFilter, SaysWhatIsWrong) {
  EXPECT_EQ(WorkerFilter::parse("aarch64").message(),
            "`aarch64` is not `arch=`, `cpu=`, `host=` or `name=` and a text");
  EXPECT_EQ(WorkerFilter::parse("arch=x,color=red").message(),
            "`color=red` is not `arch=`, `cpu=`, `host=` or `name=` and a text");
  EXPECT_FALSE(WorkerFilter::parse("arch="));
  EXPECT_EQ(WorkerFilter::parse("").message(), "no machine is named: `arch=aarch64` names one");
}

constexpr const char* kOwnBuild = "collage 1 program 77 llvm 19";

TEST(WorkerTarget, IsTheMachineOfTheLatestWorker) {
  const auto filter = WorkerFilter::parse("arch=aarch64");
  const auto found =
      target_of({worker("c", "x86_64", "Xeon"), worker("b", "aarch64", "A72", true, "collage 1 program 0b"),
                 worker("a", "aarch64", "A72")},
                *filter, kOwnBuild);
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found->machine, "cpuA72 features");
  EXPECT_EQ(found->build, "collage 1 program 0b");
}

TEST(WorkerTarget, LiveOnesComeFirst) {
  const auto filter = WorkerFilter::parse("arch=aarch64");
  const auto found =
      target_of({worker("b", "aarch64", "A53", false), worker("a", "aarch64", "A72")}, *filter, kOwnBuild);
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found->machine, "cpuA72 features");
  // Costs of one that is gone can be known.
  const auto gone = target_of({worker("b", "aarch64", "A53", false)}, *filter, kOwnBuild);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->machine, "cpuA53 features");
}

TEST(WorkerTarget, OneMachineIsMeant) {
  const auto filter = WorkerFilter::parse("arch=aarch64");
  EXPECT_EQ(target_of({worker("b", "aarch64", "A53"), worker("a", "aarch64", "A72")}, *filter, kOwnBuild).message(),
            "workers are on 2 such machines: `A53` at host of b, `A72` at host of a");
  EXPECT_EQ(target_of({worker("a", "x86_64", "Xeon")}, *filter, kOwnBuild).message(),
            "no worker has announced such a machine; announced: `Xeon` (arch=x86_64, host=host of a, name=a)");
  // Each machine once, those that are there first.
  EXPECT_EQ(
      target_of({worker("d", "x86_64", "Opteron", false), worker("b", "x86_64", "Xeon"), worker("a", "x86_64", "Xeon")},
                *filter, kOwnBuild)
          .message(),
      "no worker has announced such a machine; announced: `Xeon` (arch=x86_64, host=host of b, name=b), `Opteron` "
      "(arch=x86_64, host=host of d, name=d; not there now)");
  EXPECT_EQ(target_of({}, *filter, kOwnBuild).message(),
            "no worker has announced itself; `collage-measure --serve` starts one");
  EXPECT_EQ(target_of({worker("a", "aarch64", "A72", true, "collage 2 program 1")}, *filter, kOwnBuild).message(),
            "worker `a` at host of a has collage 2, this program is collage 1");
}

}  // namespace
}  // namespace collage::measure::fleet
