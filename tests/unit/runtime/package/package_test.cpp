// SPDX-License-Identifier: Apache-2.0
// Packages whose bytes are as written and which are wrong nevertheless: made by other versions, or on purpose.
#include "runtime/package/package.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "runtime/exec/executor.h"
#include "runtime/package/content_hash.h"
#include "runtime/package/package_file.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file
namespace fs = std::filesystem;

/// Code that is never called.
struct SomeCode : Code {
  std::vector<std::string> wanted;
  KernelFunction find(std::string_view) const override { return nullptr; }
  std::vector<CodeImage> images() const override {
    return {{std::vector<std::byte>(3), {{"a", 2}}}, {std::vector<std::byte>(100), {{"b", 0}, {"c", 99}}}};
  }
  std::vector<std::string> features() const override { return wanted; }
};

class PackageOfPlan : public ::testing::Test {
 protected:
  void SetUp() override { file_ = ::testing::TempDir() + "collage_package_" + std::to_string(::getpid()); }
  void TearDown() override { fs::remove(file_); }

  static TestPlan good_plan() {
    TestPlan plan(1);
    const Shape shape{1, 2, 3, 4};
    const BufferId x = plan.input(shape);
    const BufferId c = plan.constant(0, counting(shape), "NHWC");
    const BufferId d = plan.constant(0, counting({5}));
    const BufferId there = plan.constant(1, counting(shape, 7), "NHWC");
    const BufferId y = plan.buffer(0, shape);
    const BufferId z = plan.buffer(0, {5});
    const BufferId device_in = plan.buffer(1, shape), device_out = plan.buffer(1, shape);
    const BufferId plain = plan.buffer(0, shape);
    plan.convert(c, plain);
    plan.host({op("Add", {x, plain}, {y}), op("Neg", {d}, {z})});
    plan.convert(y, device_in);
    plan.device(0, {op("Add", {device_in, there}, {device_out})}, 1);
    plan.convert(device_out, y);
    plan.output(y);
    plan.output(z);
    return plan;
  }

  Result<Package> write_and_read(const Plan& plan, std::vector<std::string> features = {}) {
    auto code = std::make_shared<SomeCode>();
    code->wanted = std::move(features);
    if (Status status = write_package(file_, {plan, code, 3, "placed", ""}); !status) return status;
    return read_package(file_);
  }

  std::string file_;
};

TEST_F(PackageOfPlan, RunsAsItWas) {
  const Plan plan = good_plan().plan;
  const Result<Package> package = write_and_read(plan);
  ASSERT_TRUE(package) << package.message();
  EXPECT_EQ(package->threads, 3);
  EXPECT_NE(package->code->find("a"), nullptr);
  EXPECT_NE(package->code->find("c"), nullptr);
  EXPECT_EQ(package->code->find("d"), nullptr);
  const std::vector<Tensor> inputs{counting({1, 2, 3, 4}, 100)};
  auto before = Executor::load(plan, TableCode(), 1);
  auto after = Executor::load(package->plan, *package->code, 1);
  ASSERT_TRUE(before && after) << (before ? after : before).message();
  const auto want = (*before)->run(inputs), got = (*after)->run(inputs);
  ASSERT_TRUE(want && got);
  for (size_t i = 0; i < want->size(); ++i) EXPECT_TRUE(identical((*want)[i], (*got)[i]));
  // Constants are used where they are mapped, each at a page.
  for (const Buffer& buffer : package->plan.buffers) {
    if (!buffer.is_constant || buffer.space != 0) continue;
    EXPECT_EQ(buffer.offset % kPageBytes, 0u);
  }
  ASSERT_EQ(package->plan.constants.size(), 1u);  // the device's
  EXPECT_EQ(reinterpret_cast<uintptr_t>(package->plan.constants[0].data.data()) % kPageBytes, 0u);
}

TEST_F(PackageOfPlan, RefusesPlansThatAreNone) {
  const std::pair<const char*, std::function<void(Plan&)>> damages[] = {
      {"a buffer outside its arena", [](Plan& p) { p.buffers[0].offset += 1 << 20; }},
      {"an operator without a kernel",
       [](Plan& p) { std::get<OpCall>(std::get<HostStep>(p.steps[1]).calls[0]).op = "No"; }},
      {"more memory than there is", [](Plan& p) { p.spaces[0].arena_bytes = size_t{1} << 50; }},
      {"an impossible size", [](Plan& p) { p.spaces[0].arena_bytes = SIZE_MAX - 64; }},
      {"a step that does not fit", [](Plan& p) { std::get<ConvertStep>(p.steps[0]).to = 99; }},
      {"a lowering of nothing",
       [](Plan& p) {
         std::get<DeviceStep>(p.steps[3]).calls = {{"r", "sim", "mm", {{"a", 1000}}, {0}, {}}};
       }},
      {"a result of nothing",
       [](Plan& p) {
         std::get<DeviceStep>(p.steps[3]).calls = {{"r", "sim", "mm", {}, {0}, {-5}}};
       }},
      {"a negative time", [](Plan& p) { p.predicted = Duration::picoseconds(-1); }},
  };
  for (const auto& [what, damage] : damages) {
    Plan plan = good_plan().plan;
    damage(plan);
    const Result<Package> package = write_and_read(plan);
    EXPECT_FALSE(package) << what;
    EXPECT_TRUE(fs::exists(file_)) << what;  // the reader refused it
    fs::remove(file_);
  }
}

TEST_F(PackageOfPlan, RefusesAKernelWithoutCode) {
  TestPlan plan = good_plan();
  plan.host({KernelCall{"missing", {0}, 1, 1, 0}});
  const Result<Package> package = write_and_read(plan.plan);
  ASSERT_FALSE(package);
  EXPECT_NE(package.message().find("a kernel has no code that can be stored"), std::string::npos) << package.message();
}

TEST_F(PackageOfPlan, RefusesAnotherProcessor) {
  const Result<Package> package = write_and_read(good_plan().plan, {"warp_drive", "x9"});
  ASSERT_FALSE(package);
  EXPECT_NE(package.message().find("was compiled for a processor with warp_drive, x9, which this one lacks"),
            std::string::npos)
      << package.message();
}

TEST_F(PackageOfPlan, SaysWhatAForeignFileIs) {
  const auto refusal = [&](const std::string& bytes) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << bytes;
    const Result<Package> package = read_package(file_);
    return package ? "nothing" : package.message();
  };
  EXPECT_EQ(refusal(""), "is no Collage package");
  EXPECT_EQ(refusal("\x7f"
                    "ELF"),
            "is no Collage package");
  EXPECT_EQ(refusal(std::string(kPackageMagic)), "ends early");
  EXPECT_NE(refusal("// placed\nmodel @m() -> () {}").find("is a model as text"), std::string::npos);
  std::string later(kPackageMagic);
  later += std::string{static_cast<char>(kPackageVersion + 1), 0, 0, 0} + std::string(100, '\0');
  EXPECT_EQ(refusal(later), "is a package of format " + std::to_string(kPackageVersion + 1) +
                                ", this program reads format " + std::to_string(kPackageVersion) +
                                ": compile the model again");
  EXPECT_EQ(read_package(::testing::TempDir()).message(), "cannot read: is a directory");
  EXPECT_EQ(read_package(file_ + ".none").message(), "cannot read: No such file or directory");
}

TEST_F(PackageOfPlan, RefusesNestsThatWouldExhaustTheStack) {
  const std::string deep(1 << 20, '\x81');  // lists of one element
  const Result<Package> good = write_and_read(good_plan().plan);
  ASSERT_TRUE(good) << good.message();
  const std::string about = good->about;
  ASSERT_TRUE(write_package_file(
      file_, {{"about", {about}}, {"plan", {deep}}, {"code", {}}, {"placed", {}}, {"constants", {}}}));
  EXPECT_EQ(read_package(file_).message(), "is damaged: its plan cannot be read");
  const std::string brackets(1 << 20, '[');
  ASSERT_TRUE(write_package_file(
      file_, {{"about", {brackets}}, {"plan", {deep}}, {"code", {}}, {"placed", {}}, {"constants", {}}}));
  EXPECT_EQ(read_package(file_).message(), "is damaged: its description cannot be read");
  ASSERT_TRUE(write_package_file(file_, {{"about", {about}}}));
  EXPECT_EQ(read_package(file_).message(), "is damaged: it has no section `plan`");
}

/// A plan that somebody has changed and hashed again: it is refused, or loads; nothing crashes.
TEST_F(PackageOfPlan, SurvivesPlansThatWereTamperedWith) {
  ASSERT_TRUE(write_and_read(good_plan().plan));
  const Result<PackageFile> file = PackageFile::open(file_, 1);
  ASSERT_TRUE(file) << file.message();
  const std::span<const char> plan = file->section("plan");
  std::mt19937_64 random(3);
  int loaded = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::string tampered(plan.begin(), plan.end());
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      char& byte = tampered[random() % tampered.size()];
      byte = static_cast<char>(random() % 2 == 0 ? random() : static_cast<uint64_t>(byte) + 1);
    }
    if (round % 20 == 0) tampered.resize(random() % tampered.size());
    ASSERT_TRUE(write_package_file(file_, {{"about", {file->section("about")}},
                                           {"plan", {tampered}},
                                           {"code", {file->section("code")}},
                                           {"placed", {}},
                                           {"constants", {file->section("constants")}}}));
    const Result<Package> package = read_package(file_);
    if (!package) {
      EXPECT_FALSE(package.message().empty());
      continue;
    }
    ++loaded;
    if (package->plan.spaces[0].arena_bytes < size_t{1} << 30) (void)Executor::load(package->plan, *package->code, 1);
  }
  EXPECT_LT(loaded, kRounds);
}

TEST_F(PackageOfPlan, AFailedWriteLeavesTheOldFile) {
  ASSERT_TRUE(write_and_read(good_plan().plan));
  const auto size = fs::file_size(file_);
  TestPlan plan = good_plan();
  plan.host({KernelCall{"missing", {0}, 1, 1, 0}});
  EXPECT_FALSE(write_package(file_, {plan.plan, std::make_shared<SomeCode>(), 1, "", ""}));
  EXPECT_EQ(fs::file_size(file_), size);
  EXPECT_FALSE(write_package("/no/such/folder/m.collage", {good_plan().plan, std::make_shared<SomeCode>(), 1, "", ""}));
}

TEST(ContentHash, DoesNotDependOnPiecesOrThreads) {
  std::string bytes(5 * 1048576 / 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  const std::string whole = content_hash(bytes, 1);
  EXPECT_EQ(whole.size(), 32u);
  EXPECT_EQ(content_hash(bytes, 3), whole);
  for (size_t piece : {size_t{1000}, size_t{1} << 20, (size_t{1} << 20) + 1, bytes.size()}) {
    ContentHash hash;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      hash.add(std::span<const char>(bytes).subspan(at, std::min(piece, bytes.size() - at)));
    }
    EXPECT_EQ(hash.finish(), whole) << piece;
  }
  bytes[1500000] ^= 1;
  EXPECT_NE(content_hash(bytes, 1), whole);
  EXPECT_NE(content_hash({}, 1), content_hash(std::string(1, '\0'), 1));
}

}  // namespace
}  // namespace collage::runtime
