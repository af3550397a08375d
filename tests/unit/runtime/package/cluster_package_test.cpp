// SPDX-License-Identifier: Apache-2.0
// Packages for the hosts of a cluster: each process has its part, and touches nothing of the others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/package/package.h"
#include "runtime/package/package_file.h"
#include "tests/unit/runtime/exec/test_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file
namespace fs = std::filesystem;

/// One kernel for each host, `k0` and `k1`, in images of their own.
struct CodeOfHosts : Code {
  KernelFunction find(std::string_view) const override { return nullptr; }
  std::vector<CodeImage> images() const override {
    return {{std::vector<std::byte>(64, std::byte{1}), {{"k0", 0}}},
            {std::vector<std::byte>(200, std::byte{2}), {{"k1", 8}}}};
  }
  std::vector<std::string> features() const override { return {}; }
};

/// Host 0 sends x to host 1 and gets y; host 1 has a constant of 4096 bytes.
Plan part_of(int host) {
  TestPlan part;
  part.plan.part = {host, 2};
  const std::string other = host == 0 ? "host[1]" : "host[0]";
  part.plan.spaces.push_back({other, 0, 0, 0});
  part.plan.devices.push_back({other, std::string(kRemoteKind), {}, {}});
  const Shape shape{1024};
  const BufferId x = host == 0 ? part.input(shape) : part.buffer(0, shape);
  const BufferId y = part.buffer(0, shape);
  const BufferId x_there = part.buffer(1, shape), y_there = part.buffer(1, shape);
  if (host == 0) {
    part.host({KernelCall{"k0", {x}, 1, 1, 0}});
    part.convert(x, x_there);
    part.convert(y_there, y);
    part.output(y);
  } else {
    const BufferId w = part.constant(0, counting(shape, 7));
    part.convert(x_there, x);
    part.host({KernelCall{"k1", {x, w, y}, 1, 1, 0}});
    part.convert(y, y_there);
  }
  return part.plan;
}

class PackageOfHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = ::testing::TempDir() + "collage_cluster_package_" + std::to_string(::getpid());
    const Status written = write_cluster_package(file_, parts());
    ASSERT_TRUE(written) << written.message();
  }
  void TearDown() override { fs::remove(file_); }

  static std::vector<Package> parts() {
    const auto code = std::make_shared<CodeOfHosts>();
    return {{part_of(0), code, 2, "placed", ""}, {part_of(1), code, 2, "placed", ""}};
  }

  /// Turns over a byte in the middle of a section.
  void damage(const std::string& section) {
    nlohmann::json table;
    {
      std::ifstream in(file_, std::ios::binary);
      std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
      constexpr size_t kTableAt = 64;  // package_file.h
      const size_t end = bytes.find("}]", kTableAt) + 2;
      table = nlohmann::json::parse(bytes.substr(kTableAt, end - kTableAt));
    }
    for (const auto& row : table) {
      if (row["name"] != section) continue;
      std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
      const auto at = static_cast<std::streamoff>(row["offset"].get<size_t>() + row["bytes"].get<size_t>() / 2);
      file.seekg(at);
      const char byte = static_cast<char>(file.get());
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 1));
      return;
    }
    FAIL() << "no section " << section;
  }

  std::string file_;
};

TEST_F(PackageOfHosts, EachHostLoadsItsPart) {
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  EXPECT_TRUE(set->is_cluster());
  EXPECT_FALSE(set->is_shaped());
  EXPECT_EQ(set->hosts(), 2u);
  EXPECT_EQ(set->count(), 2u);
  EXPECT_EQ(set->threads(), 2);
  EXPECT_EQ(set->placed(1), "placed");
  EXPECT_EQ(set->digest().size(), 32u);
  for (int host : {0, 1}) {
    const Result<Package> part = set->load(static_cast<size_t>(host));
    ASSERT_TRUE(part) << part.message();
    EXPECT_EQ(part->plan.part, (PlanPart{host, 2}));
    EXPECT_EQ(part->plan.steps.size(), 3u);
    EXPECT_EQ(part->plan.inputs.size(), host == 0 ? 1u : 0u);
    EXPECT_EQ(part->code->find("k0") != nullptr, host == 0);
    EXPECT_EQ(part->code->find("k1") != nullptr, host == 1);
    EXPECT_EQ(part->placed, "placed");
    EXPECT_EQ(part->plan.host_constants.bytes, host == 0 ? 0u : 4096u);
  }
  const Result<Package> second = set->load(1);
  float first_weight = 0;
  std::memcpy(&first_weight, second->plan.host_constants.first.get(), sizeof(first_weight));
  EXPECT_EQ(first_weight, 7);
  EXPECT_EQ(set->load(2).message(), "has no part for host 2");
}

TEST_F(PackageOfHosts, NothingOfOtherHostsIsTouched) {
  for (const char* section : {"constants.1", "plan.1", "code.1"}) {
    ASSERT_TRUE(write_cluster_package(file_, parts()));
    damage(section);
    const Result<PackageSet> set = PackageSet::open(file_);
    ASSERT_TRUE(set) << set.message();
    EXPECT_TRUE(set->load(0)) << section;
    EXPECT_EQ(set->load(1).message(), "is damaged: section `" + std::string(section) + "` is not as it was written");
  }
}

TEST_F(PackageOfHosts, DamageOfWhatAllReadIsFoundByAll) {
  for (const char* section : {"about", "placed"}) {
    ASSERT_TRUE(write_cluster_package(file_, parts()));
    damage(section);
    EXPECT_EQ(PackageSet::open(file_).message(),
              "is damaged: section `" + std::string(section) + "` is not as it was written");
  }
}

TEST_F(PackageOfHosts, OneProcessIsToldHowToRunIt) {
  EXPECT_EQ(read_package(file_).message(), "holds the parts of 2 hosts: `mpirun -n 2 collage-run` runs it");
}

TEST_F(PackageOfHosts, AboutListsTheHosts) {
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  const nlohmann::json about = nlohmann::json::parse(set->about());
  ASSERT_EQ(about["hosts"].size(), 2u);
  EXPECT_EQ(about["hosts"][0]["name"], "host");
  EXPECT_EQ(about["hosts"][1]["name"], "host[1]");
  EXPECT_EQ(about["hosts"][0]["code_bytes"], 64);
  EXPECT_EQ(about["hosts"][1]["code_bytes"], 200);
  EXPECT_EQ(about["hosts"][0]["constant_bytes"], 0);
  EXPECT_EQ(about["hosts"][1]["constant_bytes"], 4096);
  EXPECT_GE(about["hosts"][0]["arena_bytes"], 2 * 4096);
  EXPECT_TRUE(about["hosts"][1]["devices"].empty());
}

TEST_F(PackageOfHosts, WhatWasReadIsWrittenAgain) {
  const Result<PackageSet> set = PackageSet::open(file_);
  ASSERT_TRUE(set) << set.message();
  std::vector<Package> again{*set->load(0), *set->load(1)};
  ASSERT_TRUE(write_cluster_package(file_, again));
  const Result<PackageSet> second = PackageSet::open(file_);
  ASSERT_TRUE(second) << second.message();
  const Result<Package> part = second->load(1);
  ASSERT_TRUE(part) << part.message();
  EXPECT_EQ(part->plan.host_constants.bytes, 4096u);
}

TEST_F(PackageOfHosts, PartsOfDifferentPlansAreRefused) {
  std::vector<Package> wrong = parts();
  std::swap(wrong[0], wrong[1]);
  EXPECT_NE(write_cluster_package(file_, wrong).message().find("its parts are not those of one plan"),
            std::string::npos);
  wrong = parts();
  wrong.pop_back();
  EXPECT_FALSE(write_cluster_package(file_, wrong));
  EXPECT_FALSE(write_cluster_package(file_, {}));
}

TEST_F(PackageOfHosts, HostsThatAreNotThereAreFound) {
  const std::string about = PackageSet::open(file_)->about();
  const auto refusal = [&](const std::string& description, uint32_t version) {
    EXPECT_TRUE(write_package_file(file_, {{"about", {description}}, {"placed", {}}, {"plan.0", {}}}, version));
    return PackageSet::open(file_).message();
  };
  EXPECT_EQ(refusal(about, kClusterPackageVersion), "is damaged: it has no section `code.0`");
  nlohmann::json none = nlohmann::json::parse(about);
  none["hosts"] = nlohmann::json::array();
  EXPECT_EQ(refusal(none.dump(), kClusterPackageVersion), "is damaged: its number of hosts is impossible");
  none.erase("hosts");
  EXPECT_EQ(refusal(none.dump(), kClusterPackageVersion), "is damaged: it does not say for which hosts it is");
}

}  // namespace
}  // namespace collage::runtime
