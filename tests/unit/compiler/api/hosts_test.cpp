// SPDX-License-Identifier: Apache-2.0
// Models for the hosts of a cluster through the C and C++ interface: all hosts run in this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "include/collage/collage.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRules = R"(rules 1
cluster pair {
  host count 2 {
    memory 1 MiB
    link host bandwidth 1 GB/s latency 1 us duplex
  }
}
)";

/// y = -Relu(x)[i], with the row looked up at the second host, which fails where there is none.
constexpr const char* kTwoHosts = R"(model @pair(%x: f32[4, 16], %i: i64[1]) -> (%y: f32[1, 16]) {
  %a = partition @p0 on host(host) cost 3us (%x) -> (host) {
    %a = Relu(%x) : f32[4, 16]
  }
  %a.host1 = convert %a to host[1] cost 1.256us : f32[4, 16]
  %i.host1 = convert %i to host[1] cost 1.008us : i64[1]
  %b = partition @p1 on host(host[1]) cost 4us (%a.host1, %i.host1) -> (host[1]) {
    %b = Gather(%a.host1, %i.host1) : f32[1, 16]
  }
  %b.host = convert %b to host cost 1.064us : f32[1, 16]
  %y = partition @p2 on host(host) cost 5us (%b.host) -> (host) {
    %y = Neg(%b.host) : f32[1, 16]
  }
}
)";

class Hosts : public ::testing::Test {
 protected:
  void SetUp() override {
    compiler_.set("costs", "estimate").set("cache", "").set("threads", "1");
    compiler_.file("pair.rules", kRules).file("pair.ir", kTwoHosts).rules({"pair.rules"});
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i) - 8;
  }

  collage::Placement placed() { return compiler_.load("pair.ir").place(); }
  std::string path() const {
    return (fs::path(::testing::TempDir()) / ("collage_hosts_" + std::to_string(::getpid()) + ".collage")).string();
  }
  float wanted(int64_t row, size_t column) const { return -std::max(x_[static_cast<size_t>(row) * 16 + column], 0.0F); }

  void expect_right(collage::Session& session, int64_t row) const {
    std::vector<float> y(16, 1.0F);
    session.run({x_.data(), &row}, {y.data()});
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], wanted(row, i)) << "row " << row;
  }

  std::string failure_of(collage::Session& session, int64_t row) const {
    std::vector<float> y(16);
    try {
      session.run({x_.data(), &row}, {y.data()});
    } catch (const collage::Error& error) {
      return error.what();
    }
    return "none";
  }

  collage::Compiler compiler_;
  std::vector<float> x_ = std::vector<float>(64);
};

TEST_F(Hosts, WhatIsBuiltAndWhatIsLoadedRun) {
  const collage::Executable built = placed().build();
  built.save(path());
  const collage::Executable loaded = collage::Executable::load(path());
  // What was loaded is written with all of its parts, too.
  loaded.save(path());
  const collage::Executable again = collage::Executable::load(path());
  fs::remove(path());
  for (const collage::Executable* executable : {&built, &loaded, &again}) {
    EXPECT_EQ(executable->input_count(), 2U);
    EXPECT_EQ(executable->output_count(), 1U);
    EXPECT_NEAR(executable->predicted_seconds(), 15.328e-6, 1e-9);
    EXPECT_NE(executable->placed().find("on host(host[1])"), std::string::npos) << executable->placed();
    collage::Session session(*executable);
    for (int64_t row = 0; row < 4; ++row) expect_right(session, row);
    // x, i and b of four runs.
    EXPECT_EQ(session.link_bytes(), 4U * (256 + 8 + 64));
  }
}

TEST_F(Hosts, AFailureIsThatOfTheCallAndNamesTheHost) {
  const collage::Executable executable = placed().build();
  collage::Session session(executable), other(executable);
  for (int round = 0; round < 3; ++round) {
    expect_right(session, 1);
    const std::string failure = failure_of(session, 9);
    EXPECT_TRUE(failure.starts_with("host[1]: ")) << failure;
    EXPECT_NE(failure.find("index 9 is out of range"), std::string::npos) << failure;
    expect_right(other, 2);
    expect_right(session, 3);
  }
}

TEST_F(Hosts, SessionsOfSeveralThreadsRunAtOnce) {
  const collage::Executable executable = placed().build();
  std::vector<std::thread> threads;
  for (int64_t row = 0; row < 4; ++row) {
    threads.emplace_back([&, row] {
      collage::Session session(executable);
      for (int run = 0; run < 20; ++run) expect_right(session, row);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Hosts, RequestsAreAnswered) {
  const collage::Executable executable = placed().build();
  EXPECT_THROW(collage::Requests(executable, 2, 4, 1, "npu=2"), collage::Error);
  collage::Requests requests(executable, 2, 32, 1);
  std::vector<int64_t> rows(20);
  std::vector<std::vector<float>> results(rows.size(), std::vector<float>(16));
  std::vector<std::unique_ptr<collage::Request>> answers;
  for (size_t r = 0; r < rows.size(); ++r) {
    rows[r] = static_cast<int64_t>(r % 5);  // 4 is none of the rows
    answers.push_back(requests.submit({x_.data(), &rows[r]}, {results[r].data()}));
    ASSERT_NE(answers.back(), nullptr);
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r] == 4) {
      EXPECT_THROW(answers[r]->wait(), collage::Error);
    } else {
      answers[r]->wait();
      EXPECT_EQ(results[r][15], wanted(rows[r], 15));
    }
  }
}

TEST_F(Hosts, AShapedSessionRunsThem) {
  collage::ShapedSession session(placed().build());
  const std::vector<int64_t> shape{4, 16}, one{1};
  const int64_t row = 3;
  const auto results = session.run({{COLLAGE_F32, 2, shape.data(), x_.data()}, {COLLAGE_I64, 1, one.data(), &row}});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(static_cast<const float*>(results[0].data)[5], wanted(3, 5));
}

TEST_F(Hosts, TablesAndProfilesNameThem) {
  const collage::Placement placement = placed();
  const json nodes = json::parse(placement.nodes_json());
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0]["device"], "host");
  EXPECT_EQ(nodes[1]["device"], "host[1]");
  const collage::Executable executable = placement.build();
  const int64_t row = 1, none = 7;
  const json profile = json::parse(compiler_.profile_json(executable, {x_.data(), &row}));
  std::set<std::string> hosts;
  double sum = 0;
  for (const json& one : profile["rows"]) {
    hosts.insert(one["host"].get<std::string>());
    sum += one["seconds"].get<double>();
  }
  EXPECT_EQ(hosts, (std::set<std::string>{"host", "host[1]"}));
  EXPECT_NEAR(sum, profile["seconds"], 1e-9);
  EXPECT_THROW(compiler_.profile_json(executable, {x_.data(), &none}), collage::Error);
}

}  // namespace
