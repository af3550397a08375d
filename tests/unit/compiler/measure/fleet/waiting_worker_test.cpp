// SPDX-License-Identifier: Apache-2.0
// A worker on a machine where another program measures: it does not count as one that can, and it survives what happens
// to the database.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "compiler/measure/environment.h"
#include "compiler/measure/fleet/serve.h"
#include "compiler/measure/machine_lock.h"
#include "tests/unit/compiler/measure/fleet/fleet_server.h"

namespace collage::measure::fleet {
namespace {

class WaitingWorker : public FleetServer {
 protected:
  void SetUp() override {
    FleetServer::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    here_ = {describe_machine(), describe_build("/bin/sh")};
    one_ = {Environments({}, here_, 1, {}).of(""), "candidate", Duration::seconds(10)};
  }
  void TearDown() override {
    if (!worker_.joinable()) return;
    (void)!::write(stop_, "x", 1);
    worker_.join();
    ::close(stop_);
  }

  void start_worker(const std::string& lock, double lease) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    stop_ = ends[1];
    worker_ = std::thread([=, this, stop = ends[0]] {
      JobMeter meter({"/bin/sh",
                      {"-c", "test -e '" + broken_ +
                                 "' && exit 1; printf '\\0\\0\\0\\0' >&3; while sleep 0.01; do printf '\\15\\0\\0\\0ok "
                                 "7000 1 3 0' >&3; done"},
                      here_},
                     {}, {});
      ServeOptions options;
      options.address = address_;
      options.announcement.name = "waiting";
      options.announcement.host = "here";
      options.announcement.machine = here_.machine;
      options.announcement.build = here_.build;
      options.announcement.backends = "host";
      options.lease_seconds = lease;
      options.tick_seconds = 0.5;
      options.stop = stop;
      options.lock = lock;
      options.say = [this](const std::string& line) {
        const std::lock_guard guard(saying_);
        said_ += line + "\n";
      };
      const runtime::Status served = serve(options, meter);
      EXPECT_TRUE(served) << served.message();
      ::close(stop);
    });
  }
  std::string said() {
    const std::lock_guard guard(saying_);
    return said_;
  }
  void put_some(int count) {
    Asker asker{.name = "test", .host = "here"};
    std::vector<Wanted> some;
    for (int i = 0; i < count; ++i) some.push_back({one_.environment, std::to_string(i), one_.timeout});
    const auto jobs = queue_->put(some, &asker);
    EXPECT_TRUE(jobs) << jobs.message();
  }
  int64_t put_one() {
    Asker asker{.name = "test", .host = "here"};
    const auto jobs = queue_->put({one_}, &asker);
    EXPECT_TRUE(jobs) << jobs.message();
    return jobs ? jobs->front() : 0;
  }
  size_t live() {
    const auto needs = queue_->need_ids({need_of(one_.environment)});
    EXPECT_TRUE(needs) << needs.message();
    const auto counts = needs ? queue_->live_workers(*needs) : needs.status();
    EXPECT_TRUE(counts) << counts.message();
    return counts ? counts->at(needs->front()) : 0;
  }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int tries = 0; tries < 400; ++tries) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }
  bool is_measured() { return count("SELECT count(*) FROM collage.measurement") == 1; }

  TargetMachine here_;
  Wanted one_;
  std::string broken_;  ///< while this file is there, the measuring process dies
  std::thread worker_;
  int stop_ = -1;
  std::mutex saying_;
  std::string said_;
};

TEST_F(WaitingWorker, DoesNotCountUntilItHasTheMachine) {
  const std::string name = "collage.test.waiting." + std::to_string(::getpid());
  auto other = MachineLock::try_lock(name, MachineLock::Clock::now());
  ASSERT_TRUE(other != nullptr && other->is_held());
  start_worker(name, 1);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  (void)put_one();
  EXPECT_TRUE(comes_true([&] { return live() == 0; })) << "it waits longer than a lease";
  EXPECT_EQ(count("SELECT attempts FROM collage.job"), 0) << "it claims nothing meanwhile";
  EXPECT_NE(said().find("waits: process " + std::to_string(::getpid())), std::string::npos) << said();
  const auto known = queue_->workers();
  ASSERT_TRUE(known && known->size() == 1);
  EXPECT_TRUE((*known)[0].is_live) << "it is there";
  other.reset();
  EXPECT_TRUE(comes_true([&] { return is_measured(); })) << said();
  EXPECT_TRUE(comes_true([&] { return live() == 1; }));
}

TEST_F(WaitingWorker, CountsAgainWhereNothingIsLeftToMeasure) {
  const std::string name = "collage.test.counts." + std::to_string(::getpid());
  auto other = MachineLock::try_lock(name, MachineLock::Clock::now());
  start_worker(name, 0.5);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  (void)put_one();
  ASSERT_TRUE(comes_true([&] { return live() == 0; }));
  EXPECT_GE(count("WITH gone AS (DELETE FROM collage.job RETURNING 1) SELECT count(*) FROM gone"), 1);
  other.reset();
  EXPECT_TRUE(comes_true([&] { return live() == 1; }));
}

TEST_F(WaitingWorker, DoesNotCountWhileItFails) {
  broken_ = testing::TempDir() + "collage.test.broken." + std::to_string(::getpid());
  std::ofstream(broken_) << "broken";
  start_worker("", 15);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  put_some(4);
  EXPECT_TRUE(comes_true([&] { return live() == 0; })) << said();
  const auto known = queue_->workers();
  ASSERT_TRUE(known && known->size() == 1);
  EXPECT_TRUE((*known)[0].is_live) << "it is there";
  EXPECT_NE((*known)[0].note.find("times in a row, the last time: "), std::string::npos) << (*known)[0].note;
  std::filesystem::remove(broken_);
  EXPECT_TRUE(comes_true([&] { return live() == 1; })) << said();
}

TEST_F(WaitingWorker, SaysWhyItCannotConnectAgain) {
  address_ += "&connect_timeout=1";
  start_worker("", 2);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  database_.reset();
  connection_.reset();
  ASSERT_EQ(PostgresCluster::run(PostgresCluster::instance().address("postgres"), "DROP DATABASE fleet WITH (FORCE)"),
            "");
  EXPECT_TRUE(comes_true([&] { return said().find("database \"fleet\" does not exist") != std::string::npos; }))
      << said();
}

TEST_F(WaitingWorker, AnnouncesItselfInTablesThatWereMadeAnew) {
  start_worker("", 2);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  ASSERT_EQ(PostgresCluster::run(address_, "DROP SCHEMA collage CASCADE"), "");
  // It makes them.
  ASSERT_TRUE(comes_true([&] {
    auto found = connection_->execute("SELECT to_regclass('collage.worker') IS NOT NULL");
    return found && (*found)->text(0, 0) == "t";
  })) << said();
  queue_->forget();
  ASSERT_TRUE(comes_true([&] { return live() == 1; })) << said();
  (void)put_one();
  EXPECT_TRUE(comes_true([&] { return is_measured(); })) << said();
}

TEST_F(WaitingWorker, OutlivesAServerThatHangs) {
  address_ += "&connect_timeout=1&tcp_user_timeout=500";
  start_worker("", 2);
  ASSERT_TRUE(comes_true([&] { return live() == 1; }));
  PostgresCluster::instance().pause();
  EXPECT_TRUE(comes_true([&] { return said().find("the server is away") != std::string::npos; })) << said();
  PostgresCluster::instance().go_on();
  EXPECT_TRUE(comes_true([&] { return said().find("connected again") != std::string::npos; })) << said();
  (void)put_one();
  EXPECT_TRUE(comes_true([&] { return is_measured(); })) << said();
}

}  // namespace
}  // namespace collage::measure::fleet
