// SPDX-License-Identifier: Apache-2.0
// A database for a test of the fleet, on the server of the test program.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "compiler/measure/cost_database.h"
#include "compiler/measure/fleet/need.h"
#include "compiler/measure/fleet/queue.h"
#include "tests/unit/compiler/measure/postgres_cluster.h"

namespace collage::measure::fleet {

class FleetServer : public testing::Test {
 protected:
  void SetUp() override {
    PostgresCluster& cluster = PostgresCluster::instance();
    if (!cluster.why_absent().empty()) GTEST_SKIP() << cluster.why_absent();
    cluster.make_database("fleet");
    address_ = cluster.address("fleet");
    auto database = CostDatabase::open(address_);
    ASSERT_TRUE(database) << database.message();
    database_ = std::move(*database);
    connection_ = connect();
    ASSERT_TRUE(connection_);
    queue_ = std::make_unique<Queue>(*connection_);
    asker_ = asker("compiler");
  }

  std::unique_ptr<postgres::Connection> connect() const {
    auto opened = postgres::Connection::open(address_);
    EXPECT_TRUE(opened) << opened.message();
    return opened ? std::move(*opened) : nullptr;
  }

  /// The number that a statement returns.
  int64_t count(const std::string& statement) {
    auto rows = connection_->execute(statement);
    EXPECT_TRUE(rows) << rows.message();
    return rows ? (*rows)->number(0, 0) : -1;
  }

  static Wanted wanted(const std::string& candidate, double timeout = 10) {
    return {"cpu A features b\ncollage 1 program 0 llvm 19\nthreads 1\nhost", candidate, Duration::seconds(timeout)};
  }

  static Asker asker(const std::string& name, double lease = 60) {
    Asker made;
    made.name = name;
    made.host = "here";
    made.lease_seconds = lease;
    return made;
  }

  /// A worker that can measure these.
  int64_t announce(Queue& queue, const std::string& name, const Wanted& one) {
    Announcement worker;
    worker.name = name;
    worker.host = "here";
    worker.needs = {need_of(one.environment)};
    const auto id = queue.announce(worker, 15);
    EXPECT_TRUE(id) << id.message();
    return id ? *id : 0;
  }

  std::string address_;
  std::unique_ptr<CostDatabase> database_;
  std::unique_ptr<postgres::Connection> connection_;
  std::unique_ptr<Queue> queue_;
  Asker asker_;  ///< who puts in these tests
};

inline Measurement measured_as(int64_t picoseconds) {
  Measurement made;
  made.cost = Duration::picoseconds(picoseconds);
  made.spread = Duration::picoseconds(1);
  made.runs = 3;
  return made;
}

}  // namespace collage::measure::fleet
