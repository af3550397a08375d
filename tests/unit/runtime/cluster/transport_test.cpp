// SPDX-License-Identifier: Apache-2.0
// The transport within a process, and what all ranks do together over it.
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <numeric>

#include "runtime/cluster/collectives.h"
#include "runtime/cluster/local_transport.h"
#include "runtime/cluster/mpi_module.h"

namespace collage::runtime {
namespace {

using Numbers = std::vector<int>;

std::span<const std::byte> bytes_of(const Numbers& numbers) {
  return std::as_bytes(std::span(numbers));
}
std::span<std::byte> room_of(Numbers& numbers) {
  return std::as_writable_bytes(std::span(numbers));
}

/// Calls `body` for each rank at once.
template <typename Body>
auto on_all(const std::vector<std::shared_ptr<Transport>>& ranks, Body body) {
  std::vector<std::future<decltype(body(*ranks[0]))>> running;
  for (const auto& rank : ranks) running.push_back(std::async(std::launch::async, [&] { return body(*rank); }));
  std::vector<decltype(body(*ranks[0]))> results;
  for (auto& one : running) results.push_back(one.get());
  return results;
}

TEST(LocalTransport, KeepsTheOrderOfEachChannel) {
  const auto ranks = make_local_transports(2);
  const Numbers a{1, 2}, b{3, 4}, c{5};
  Numbers x(2), y(2), z(1);
  const TransferRef first = ranks[0]->send(1, 3, bytes_of(a));
  const TransferRef other = ranks[1]->receive(0, 7, room_of(z));
  const TransferRef got = ranks[1]->receive(0, 3, room_of(x));
  EXPECT_TRUE(first->wait());
  EXPECT_TRUE(got->wait());
  EXPECT_EQ(x, a);
  EXPECT_FALSE(other->is_done()) << "another channel";
  const TransferRef second = ranks[0]->send(1, 3, bytes_of(b));
  EXPECT_FALSE(second->is_done()) << "nobody receives yet";
  EXPECT_TRUE(ranks[1]->receive(0, 3, room_of(y))->wait());
  EXPECT_EQ(y, b);
  EXPECT_TRUE(ranks[0]->send(1, 7, bytes_of(c))->wait());
  EXPECT_TRUE(other->wait());
  EXPECT_EQ(z, c);
}

TEST(LocalTransport, AFailureEndsAllTransfersOfAllRanks) {
  const auto ranks = make_local_transports(3);
  Numbers x(1);
  const TransferRef waiting = ranks[1]->receive(0, 1, room_of(x));
  ranks[2]->abort("out of memory");
  ranks[0]->abort("later");
  EXPECT_EQ(waiting->wait().message(), "rank 2: out of memory");
  EXPECT_EQ(ranks[0]->send(1, 1, bytes_of(x))->wait().message(), "rank 2: out of memory");
  EXPECT_EQ(ranks[1]->failure().message(), "rank 2: out of memory");
}

TEST(LocalTransport, MessagesOfOtherSizesAreFailures) {
  const auto ranks = make_local_transports(2);
  Numbers x(2);
  const Numbers a{1, 2, 3};
  const TransferRef sent = ranks[0]->send(1, 1, bytes_of(a));
  EXPECT_EQ(ranks[1]->receive(0, 1, room_of(x))->wait().message(), "rank 1: a message has 12 bytes, 8 were expected");
  EXPECT_FALSE(sent->wait());
}

TEST(LocalTransport, WaitingTooLongIsAFailureOfAll) {
  const auto ranks = make_local_transports(2);
  Numbers x(1);
  const TransferRef transfer = ranks[1]->receive(0, 1, room_of(x));
  EXPECT_FALSE(ranks[1]->finish(*transfer, TimeLimit(0.01), "a value"));
  EXPECT_EQ(ranks[0]->failure().message(), "rank 1: waited 0.01 s for a value");
}

TEST(Collectives, TextsComeTogetherAndGoToAll) {
  const auto ranks = make_local_transports(4);
  const auto gathered = on_all(ranks, [](Transport& rank) {
    return *gather(rank, rank.rank() == 2 ? "" : "text of " + std::to_string(rank.rank()));
  });
  EXPECT_EQ(gathered[0], (std::vector<std::string>{"text of 0", "text of 1", "", "text of 3"}));
  EXPECT_TRUE(gathered[3].empty());
  for (const std::string& text :
       on_all(ranks, [](Transport& rank) { return *broadcast(rank, rank.rank() == 0 ? "to all" : "not this"); })) {
    EXPECT_EQ(text, "to all");
  }
}

TEST(Collectives, AllAgreeOrAllFail) {
  const auto ranks = make_local_transports(3);
  for (const Status& status : on_all(ranks, [](Transport& rank) { return agree(rank, Status::ok(), "m"); })) {
    EXPECT_TRUE(status);
  }
  for (const Status& status : on_all(ranks, [](Transport& rank) {
         return agree(rank, rank.rank() == 1 ? Status::error("no file") : Status::ok(), "m");
       })) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.message(), "rank 1 on this process: no file");
  }
  for (const Status& status :
       on_all(ranks, [](Transport& rank) { return agree(rank, Status::ok(), rank.rank() == 2 ? "n" : "m"); })) {
    ASSERT_FALSE(status);
    EXPECT_NE(status.message().find("rank 2 on this process has `n`, rank 0 has `m`"), std::string::npos)
        << status.message();
  }
}

TEST(Collectives, EachErrorIsSaidOnceWithItsRanks) {
  const auto ranks = make_local_transports(4);
  for (const Status& status : on_all(ranks, [](Transport& rank) {
         const std::vector<Status> all = {Status::ok(), Status::error("no file"), Status::error("is damaged"),
                                          Status::error("no file")};
         return agree(rank, all[static_cast<size_t>(rank.rank())], "m");
       })) {
    EXPECT_EQ(status.message(),
              "ranks 1 on this process, 3 on this process: no file\nrank 2 on this process: is damaged");
  }
  for (const Status& status :
       on_all(ranks, [](Transport& rank) { return agree(rank, Status::error("no file"), "m"); })) {
    EXPECT_EQ(status.message(), "no file") << "wrong everywhere";
  }
  for (const Status& status : on_all(ranks, [](Transport& rank) {
         return agree(rank, rank.rank() == 0 ? Status::error("") : Status::ok(), "m");
       })) {
    EXPECT_EQ(status.message(), "rank 0 on this process: ") << "an error without a text is one";
  }
}

TEST(Collectives, WhoComesTooLateFailsAll) {
  const auto ranks = make_local_transports(2);
  EXPECT_FALSE(agree(*ranks[0], Status::ok(), "m", TimeLimit(0.01)));
  EXPECT_EQ(ranks[1]->failure().message(), "rank 0: waited 0.01 s for rank 1");
}

TEST(Collectives, ClocksOfOneProcessAreEqual) {
  const auto ranks = make_local_transports(3);
  const auto readings = on_all(ranks, [](Transport& rank) { return *measure_clocks(rank); });
  ASSERT_EQ(readings[0].size(), 3U);
  EXPECT_EQ(readings[0][0].offset_ns, 0);
  for (const ClockReading& reading : readings[0]) {
    EXPECT_LE(std::abs(reading.offset_ns), reading.round_trip_ns / 2 + 1);
  }
  EXPECT_TRUE(readings[1].empty());
}

/// Sets a variable of the environment for a while.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(MpiModule, TheEnvironmentSaysWhoStartedThis) {
  const Variable no_openmpi("OMPI_COMM_WORLD_SIZE", nullptr), no_mpich("PMI_SIZE", nullptr),
      no_pmix("PMIX_RANK", nullptr), no_choice("COLLAGE_MPI", nullptr);
  EXPECT_FALSE(find_mpi_launch());
  {
    const Variable size("PMI_SIZE", "3");
    EXPECT_EQ(find_mpi_launch()->module, "mpich");
    EXPECT_EQ(find_mpi_launch()->size, 3);
    const Variable none("COLLAGE_MPI", "none");
    EXPECT_FALSE(find_mpi_launch());
  }
  {
    const Variable size("OMPI_COMM_WORLD_SIZE", "4");
    EXPECT_EQ(find_mpi_launch()->module, "openmpi");
    EXPECT_EQ(find_mpi_launch()->size, 4);
    const Variable other("COLLAGE_MPI", "mpich");
    EXPECT_EQ(find_mpi_launch()->module, "mpich");
    EXPECT_EQ(find_mpi_launch()->size, 4);
  }
  const Variable rank("PMIX_RANK", "1");
  EXPECT_EQ(find_mpi_launch()->module, "openmpi");
  EXPECT_EQ(find_mpi_launch()->size, 0);
}

TEST(MpiModule, AMissingModuleIsNamed) {
  const auto module = load_mpi_module("nompi", "/nonexistent");
  ASSERT_FALSE(module);
  EXPECT_NE(module.message().find("/nonexistent/collage_mpi_nompi.so"), std::string::npos) << module.message();
  EXPECT_FALSE(load_mpi_module("../evil", "/nonexistent"));
}

}  // namespace
}  // namespace collage::runtime
