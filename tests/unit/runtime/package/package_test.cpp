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

TEST_F(PackageOfPlan, KnowsWhetherThreadsWereAskedFor) {
  const Plan plan = good_plan().plan;
  for (const bool are_asked : {false, true}) {
    ASSERT_TRUE(write_package(file_, {plan, std::make_shared<SomeCode>(), 3, "placed", "", are_asked}));
    const Result<Package> package = read_package(file_);
    ASSERT_TRUE(package) << package.message();
    EXPECT_EQ(package->has_own_threads, are_asked);
    EXPECT_EQ(package->run_threads(), are_asked ? 3 : usual_threads(plan, 3));
  }
}

TEST_F(PackageOfPlan, TheFileIsClosedOnceItIsMapped) {
  ASSERT_TRUE(write_and_read(good_plan().plan));
  const auto set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  for (const fs::directory_entry& open : fs::directory_iterator("/proc/self/fd")) {
    std::error_code is_gone;  // that of the folder itself
    EXPECT_NE(fs::read_symlink(open.path(), is_gone), fs::path(file_));
  }
  EXPECT_TRUE(set->load(0)) << "what is mapped needs no file";
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
  later += std::string{static_cast<char>(kClusterPackageVersion + 1), 0, 0, 0} + std::string(100, '\0');
  EXPECT_EQ(refusal(later), "is a package of format " + std::to_string(kClusterPackageVersion + 1) +
                                ", this program reads formats " + std::to_string(kPackageVersion) + " to " +
                                std::to_string(kClusterPackageVersion) + ": compile the model again");
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

/// Specialisations of one model: y = x + w for x [rows, 2], with the same weights of 4096 bytes in each.
class PackageOfShapes : public PackageOfPlan {
 protected:
  static TestPlan plan_for(int64_t rows) {
    TestPlan plan(0);
    const BufferId x = plan.input({rows, 2});
    const BufferId w = plan.constant(0, counting({2}));
    const BufferId large = plan.constant(0, counting({1024}));
    const BufferId y = plan.buffer(0, {rows, 2});
    const BufferId z = plan.buffer(0, {1024});
    plan.host({op("Add", {x, w}, {y}), op("Neg", {large}, {z})});
    plan.output(y);
    return plan;
  }
  static Package package_for(int64_t rows) {
    return {plan_for(rows).plan, std::make_shared<SomeCode>(), 3, "placed " + std::to_string(rows), ""};
  }
  static ShapeTable table_for(const std::vector<int64_t>& all) {
    const Plan plan = plan_for(1).plan;
    ShapeTable table;
    table.inputs = {plan.inputs[0].name};
    table.outputs = {plan.outputs[0].name};
    table.dimensions = {{"batch", 1, "", {{0, 1}}, {{0, 1}}}};
    for (int64_t rows : all) table.variants.push_back({{rows}, {{rows, 2}}, {{rows, 2}}});
    return table;
  }
  Status write(const std::vector<int64_t>& all) const {
    std::vector<Package> packages;
    for (int64_t rows : all) packages.push_back(package_for(rows));
    return write_packages(file_, packages, table_for(all));
  }
  /// The file again, with one section in place of another, and with hashes that fit.
  void replace(const std::string& name, const std::string& content, uint32_t version = kShapedPackageVersion) const {
    const Result<PackageFile> file = PackageFile::open(file_, 1);
    ASSERT_TRUE(file) << file.message();
    std::vector<SectionPieces> sections;
    for (const char* each :
         {"about", "shapes", "plan.0", "code.0", "placed.0", "plan.1", "code.1", "placed.1", "constants"}) {
      if (each == name && content.empty()) continue;
      sections.push_back({each, {each == name ? std::span<const char>(content) : file->section(each)}});
    }
    ASSERT_TRUE(write_package_file(file_, sections, version));
  }
  std::string refusal() const {
    const Result<PackageSet> set = PackageSet::open(file_);
    if (!set) return set.message();
    const Result<Package> package = set->load(1);
    return package ? "nothing" : package.message();
  }
  std::string section(const std::string& name) const {
    const Result<PackageFile> file = PackageFile::open(file_, 1);
    if (!file) return "";
    return {file->section(name).begin(), file->section(name).end()};
  }
};

TEST_F(PackageOfShapes, EachRunsAsItWas) {
  const Status written = write({2, 8});
  ASSERT_TRUE(written) << written.message();
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  EXPECT_TRUE(set->is_shaped());
  EXPECT_EQ(set->count(), 2u);
  EXPECT_EQ(set->threads(), 3);
  EXPECT_EQ(set->shapes().held(), "batch=2; batch=8");
  EXPECT_EQ(set->placed(1), "placed 8");
  for (size_t i = 0; i < 2; ++i) {
    const Result<Package> package = set->load(i);
    ASSERT_TRUE(package) << package.message();
    const Tensor x = counting({i == 0 ? 2 : 8, 2}, 50);
    auto before = Executor::load(plan_for(i == 0 ? 2 : 8).plan, TableCode(), 1);
    auto after = Executor::load(package->plan, *package->code, 1);
    ASSERT_TRUE(before && after) << (before ? after : before).message();
    const auto want = (*before)->run({x}), got = (*after)->run({x});
    ASSERT_TRUE(want && got);
    EXPECT_TRUE(identical((*want)[0], (*got)[0]));
  }
  EXPECT_EQ(read_package(file_).message(), "holds several shapes: batch=2; batch=8");
}

TEST_F(PackageOfShapes, EqualWeightsAreStoredOnce) {
  ASSERT_TRUE(write({2}));
  const size_t of_one = section("constants").size();
  ASSERT_TRUE(write({2, 8, 32}));
  EXPECT_EQ(section("constants").size(), of_one);
}

TEST_F(PackageOfShapes, AreWrittenAgainAsTheyWereRead) {
  ASSERT_TRUE(write({2, 8}));
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  std::vector<Package> packages;
  for (size_t i = 0; i < 2; ++i) packages.push_back(*set->load(i));
  const std::string constants = section("constants");
  ASSERT_TRUE(write_packages(file_, packages, set->shapes()));
  EXPECT_EQ(section("constants"), constants);
  EXPECT_EQ(refusal(), "nothing");
}

TEST_F(PackageOfShapes, APackageOfOneShapeIsASetOfOne) {
  ASSERT_TRUE(write_and_read(good_plan().plan));
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  EXPECT_FALSE(set->is_shaped());
  EXPECT_EQ(set->count(), 1u);
  EXPECT_TRUE(set->load(0));
}

TEST_F(PackageOfShapes, RefusesTablesThatAreNone) {
  ASSERT_TRUE(write({2, 8}));
  const std::string table = section("shapes");
  const auto refused_with = [&](const std::string& content) {
    EXPECT_TRUE(write({2, 8}));
    replace("shapes", content);
    return refusal();
  };
  EXPECT_EQ(refused_with(""), "is damaged: it has no section `shapes`");
  EXPECT_EQ(refused_with("{"), "is damaged: its table of shapes cannot be read");
  EXPECT_EQ(refused_with(std::string(1 << 20, '[')), "is damaged: its table of shapes cannot be read");
  EXPECT_EQ(refused_with("{}"), "is damaged: its table of shapes is of another form");
  EXPECT_EQ(refused_with(R"({"inputs": [], "outputs": [], "dimensions": [], "variants": []})"),
            "is damaged: its table of shapes has no shape");
  EXPECT_EQ(refused_with(R"({"inputs": [], "outputs": [], "dimensions": [], "variants": 3})"),
            "is damaged: its table of shapes has something else than a list");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = table;
    const size_t at = changed.rfind(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? table : changed.replace(at, from.size(), to);
  };
  // The last 8 is the size of the second specialisation.
  EXPECT_EQ(refused_with(with("8", "9")),
            "is damaged: its table of shapes contradicts itself: a shape has another size than its dimension");
  EXPECT_EQ(refused_with(with("8", "1e3")), "is damaged: its table of shapes has something else than a whole number");
  EXPECT_EQ(refused_with(with("\"factor\": 1", "\"factor\": 0")),
            "is damaged: its table of shapes has a dimension outside of a shape");
  EXPECT_EQ(refused_with(table), "nothing");
}

TEST_F(PackageOfShapes, RefusesPlansThatTheTableContradicts) {
  ASSERT_TRUE(write({2, 8}));
  const std::string first = section("plan.0");
  replace("plan.1", first);
  EXPECT_EQ(refusal(), "is damaged: the plan for batch=8 has other inputs or outputs than its table of shapes");
  ASSERT_TRUE(write({2, 8}));
  replace("plan.1", "");
  EXPECT_EQ(refusal(), "is damaged: it has no section `plan.1`");
  ASSERT_TRUE(write({2, 8}));
  replace("code.1", std::string(1, 'x'));
  EXPECT_EQ(refusal().substr(0, 10), "is damaged");
  ASSERT_TRUE(write({2, 8}));
  replace("placed.0", "p", kPackageVersion);
  EXPECT_EQ(refusal(), "is damaged: it has a section `shapes`, which its format has not");
}

TEST_F(PackageOfShapes, RefusesAChangedByte) {
  ASSERT_TRUE(write({2, 8}));
  std::fstream file(file_, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const size_t at = bytes.find("\"dimensions\"");
  ASSERT_NE(at, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file.put('\'');
  file.close();
  EXPECT_EQ(refusal(), "is damaged: section `shapes` is not as it was written");
}

TEST_F(PackageOfShapes, WritesNoContradiction) {
  std::vector<Package> packages{package_for(2), package_for(8)};
  EXPECT_NE(write_packages(file_, packages, table_for({2, 4})).message().find("has other inputs or outputs"),
            std::string::npos);
  EXPECT_NE(write_packages(file_, packages, table_for({2})).message().find("has other shapes"), std::string::npos);
  EXPECT_NE(write_packages(file_, packages, table_for({2, 2})).message().find("has a shape twice"), std::string::npos);
  EXPECT_FALSE(fs::exists(file_));
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
