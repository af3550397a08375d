// SPDX-License-Identifier: Apache-2.0
// All parts of a plan in this process, for several executions at once: what fails in one is its own.
#include "runtime/cluster/local_hosts.h"

#include <gtest/gtest.h>

#include <array>

#include "runtime/exec/requests.h"
#include "tests/unit/runtime/cluster/part_plan.h"

namespace collage::runtime {
namespace {

using namespace test;  // NOLINT: helpers of this file

std::vector<HostPart> host_parts(const std::vector<PartPlan>& plans) {
  std::vector<HostPart> parts;
  for (const PartPlan& part : plans) parts.push_back({part.plan, std::make_shared<TableCode>()});
  return parts;
}

Tensor index_of(int64_t number) {
  Tensor tensor(DType::I64, {1});
  tensor.as<int64_t>()[0] = number;
  return tensor;
}

/// The next index, `[1, 2, 3, 9][index]`, which host 1 looks up. It fails where the index is 4 or more.
std::vector<PartPlan> lookup_elsewhere() {
  std::vector<PartPlan> parts{{0, 2}, {1, 2}};
  PartPlan &a = parts[0], &b = parts[1];
  Tensor table(DType::I64, {4});
  const std::array<int64_t, 4> next{1, 2, 3, 9};
  std::copy(next.begin(), next.end(), table.as<int64_t>().begin());
  const auto index = [](PartPlan& part) { return part.buffer(0, {1}, "plain", DType::I64); };
  const BufferId given = index(a), found = index(a), there = index(b), result = index(b);
  const BufferId rows = b.constant(0, table);
  a.plan.inputs.push_back({"index", given});
  a.send(given, 1);
  b.receive(0, there);
  b.host({op("Gather", {rows, there}, {result})});
  b.send(result, 0);
  a.receive(1, found);
  a.output(found);
  return parts;
}

std::unique_ptr<RecoveringExecution> execution_of(const std::shared_ptr<Recovery>& recovery) {
  auto execution = RecoveringExecution::create(recovery);
  EXPECT_TRUE(execution) << execution.message();
  return execution ? std::move(*execution) : nullptr;
}

void expect_found(RecoveringExecution& execution, int64_t index, int64_t found) {
  const auto outputs = execution.run({index_of(index)});
  ASSERT_TRUE(outputs) << outputs.message();
  EXPECT_EQ((*outputs)[0].as<int64_t>()[0], found);
}

TEST(LocalEnsemble, AFailureIsThatOfOneRunAndNamesItsHost) {
  const auto recovery = open_local_hosts(host_parts(lookup_elsewhere()), 1, {});
  ASSERT_TRUE(recovery) << recovery.message();
  const auto one = execution_of(*recovery), other = execution_of(*recovery);
  ASSERT_TRUE(one && other);
  for (int round = 0; round < 3; ++round) {
    expect_found(*one, 2, 3);
    const auto wrong = one->run({index_of(4)});
    ASSERT_FALSE(wrong);
    EXPECT_TRUE(wrong.message().starts_with("host[1]: ")) << wrong.message();
    EXPECT_NE(wrong.message().find("out of range"), std::string::npos) << wrong.message();
    expect_found(*other, 1, 2);
    expect_found(*one, 0, 1);
  }
}

TEST(LocalEnsemble, InputsThatDoNotFitBeginNowhere) {
  const auto recovery = open_local_hosts(host_parts(lookup_elsewhere()), 1, {});
  ASSERT_TRUE(recovery) << recovery.message();
  const auto execution = execution_of(*recovery);
  ASSERT_TRUE(execution);
  const Execution* before = &execution->current();
  EXPECT_FALSE(execution->run({counting({1})}));
  EXPECT_EQ(&execution->current(), before) << "no host heard of it";
  expect_found(*execution, 3, 9);
}

TEST(LocalEnsemble, RequestsAreAnsweredSideBySide) {
  auto recovery = open_local_hosts(host_parts(lookup_elsewhere()), 1, {});
  ASSERT_TRUE(recovery) << recovery.message();
  const auto requests = Requests::open({std::move(*recovery)}, {.threads = 3, .capacity = 8});
  ASSERT_TRUE(requests) << requests.message();
  std::vector<std::future<Requests::Answer>> answers;
  for (int64_t r = 0; r < 40; ++r) answers.push_back((*requests)->submit({index_of(r % 5)}));
  const std::array<int64_t, 4> next{1, 2, 3, 9};
  for (size_t r = 0; r < answers.size(); ++r) {
    const Requests::Answer answer = answers[r].get();
    ASSERT_EQ(static_cast<bool>(answer), r % 5 < 4) << answer.message();
    if (answer) {
      EXPECT_EQ((*answer)[0].as<int64_t>()[0], next[r % 5]);
    }
  }
}

TEST(LocalEnsemble, AKeptValueIsSentWithEveryRun) {
  const auto recovery = open_local_hosts(host_parts(lookup_elsewhere()), 1, {});
  ASSERT_TRUE(recovery) << recovery.message();
  const auto execution = execution_of(*recovery);
  ASSERT_TRUE(execution);
  ASSERT_TRUE(execution->keep(0, 0));
  const Tensor start = index_of(0);
  const auto run = [&](const Tensor* from) {
    const std::array<const std::byte*, 1> inputs{from == nullptr ? nullptr : from->data()};
    const std::array<std::byte*, 1> outputs{nullptr};
    return execution->run(inputs, outputs);
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(execution->current().kept()[0]->device(), nullptr) << "another host keeps nothing for this one";
    for (const int64_t expected : {1, 2, 3, 9}) {
      const Status status = run(expected == 1 ? &start : nullptr);
      ASSERT_TRUE(status) << status.message();
      Tensor kept = index_of(0);
      ASSERT_TRUE(execution->current().read_kept(0, kept.data()));
      EXPECT_EQ(kept.as<int64_t>()[0], expected);
    }
    const Status status = run(nullptr);
    ASSERT_FALSE(status);
    EXPECT_TRUE(status.message().ends_with("; values that were kept from run to run are lost with it"))
        << status.message();
  }
}

/// Host 0 sends x to hosts 1 and 2; these send it to each other, and their sums to host 0: six messages of 16 bytes.
TEST(LocalEnsemble, BytesBetweenHostsCountOnce) {
  std::vector<PartPlan> parts{{0, 3}, {1, 3}, {2, 3}};
  PartPlan& a = parts[0];
  const Shape shape{4};
  const BufferId x = a.input(shape);
  std::array<BufferId, 3> own{}, of_other{}, sum{}, result{};
  for (const int host : {1, 2}) {
    PartPlan& part = parts[static_cast<size_t>(host)];
    const auto h = static_cast<size_t>(host);
    own[h] = part.here(shape), of_other[h] = part.here(shape), sum[h] = part.here(shape), result[h] = a.here(shape);
    a.send(x, host);
    part.receive(0, own[h]);
  }
  parts[1].send(own[1], 2);
  parts[2].receive(1, of_other[2]);
  parts[2].send(own[2], 1);
  parts[1].receive(2, of_other[1]);
  for (const int host : {1, 2}) {
    PartPlan& part = parts[static_cast<size_t>(host)];
    const auto h = static_cast<size_t>(host);
    part.host({op("Add", {own[h], of_other[h]}, {sum[h]})});
    part.send(sum[h], 0);
    a.receive(host, result[h]);
    a.output(result[h]);
  }
  const auto recovery = open_local_hosts(host_parts(parts), 1, {});
  ASSERT_TRUE(recovery) << recovery.message();
  const auto execution = execution_of(*recovery);
  ASSERT_TRUE(execution);
  for (size_t run = 1; run <= 3; ++run) {
    const auto outputs = execution->run({counting(shape, 1)});
    ASSERT_TRUE(outputs) << outputs.message();
    for (const Tensor& output : *outputs) EXPECT_EQ(values(output), (std::vector<float>{2, 4, 6, 8}));
    EXPECT_EQ(execution->link_bytes(), run * 96);
  }
}

TEST(LocalEnsemble, APartThatCannotBeLoadedIsNamed) {
  std::vector<PartPlan> parts{{0, 2}, {1, 3}};
  const auto recovery = open_local_hosts(host_parts(parts), 1, {});
  ASSERT_FALSE(recovery);
  EXPECT_TRUE(recovery.message().starts_with("the part of `host[1]`: ")) << recovery.message();
}

}  // namespace
}  // namespace collage::runtime
