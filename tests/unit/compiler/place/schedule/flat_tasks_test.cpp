// SPDX-License-Identifier: Apache-2.0
#include "compiler/place/schedule/flat_tasks.h"

#include <gtest/gtest.h>

namespace collage::place {
namespace {

using runtime::Duration;

const std::vector<int> kHost = {0};
const std::vector<int> kDevice = {1};
const std::vector<int> kBoth = {0, 1};

Duration picoseconds(int64_t count) {
  return Duration::picoseconds(count);
}

TEST(FlatTasks, NoTasksTakeNoTime) {
  FlatTasks tasks(2);
  EXPECT_EQ(tasks.makespan(), picoseconds(0));
  EXPECT_EQ(tasks.busiest(), picoseconds(0));
  EXPECT_EQ(tasks.total(), picoseconds(0));
}

TEST(FlatTasks, WhatWaitsStartsAfterWhatItWaitsForAndWhenItsResourceIsFree) {
  // host  [0 a 2]   [3 c 7]
  // device[0 b   3]
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(2), kHost);
  tasks.begin_task(picoseconds(3), kDevice);
  tasks.begin_task(picoseconds(4), kHost);
  tasks.wait_for(1);
  EXPECT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks.makespan(), picoseconds(7));
  EXPECT_EQ(tasks.busiest(), picoseconds(6));
  EXPECT_EQ(tasks.total(), picoseconds(9));
}

TEST(FlatTasks, ATaskHoldsAllItsResources) {
  // A copy of 5 between work of 2 on each side: nothing runs beside it.
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(2), kHost);
  tasks.begin_task(picoseconds(5), kBoth);
  tasks.wait_for(0);
  tasks.begin_task(picoseconds(2), kDevice);
  tasks.wait_for(1);
  EXPECT_EQ(tasks.makespan(), picoseconds(9));
  EXPECT_EQ(tasks.busiest(), picoseconds(7));
}

TEST(FlatTasks, TheOneThatMostWaitsForMayGoFirst) {
  // In the given order 1 + 5 + 10; with the second first, the first one runs beside the third.
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(1), kHost);
  tasks.begin_task(picoseconds(5), kHost);
  tasks.begin_task(picoseconds(10), kDevice);
  tasks.wait_for(1);
  EXPECT_EQ(tasks.makespan(), picoseconds(15));
}

TEST(FlatTasks, TheGivenOrderCountsWhereItIsBetter) {
  // At 0 the host could start the long task: but then the short one, which the device waits for, comes late.
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(1), kDevice);
  tasks.begin_task(picoseconds(2), kHost);
  tasks.wait_for(0);
  tasks.begin_task(picoseconds(10), kDevice);
  tasks.wait_for(1);
  tasks.begin_task(picoseconds(9), kHost);
  // Given: 1, then host [1, 3], device [3, 13], host [3, 12].
  EXPECT_EQ(tasks.makespan(), picoseconds(13));
}

TEST(FlatTasks, WaitingTwiceForOneTaskIsWaitingOnce) {
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(3), kHost);
  tasks.begin_task(picoseconds(4), kDevice);
  tasks.wait_for(0);
  tasks.wait_for(0);
  EXPECT_EQ(tasks.makespan(), picoseconds(7));
}

TEST(FlatTasks, AClearedListForgetsTheTasksBefore) {
  FlatTasks tasks(2);
  tasks.begin_task(picoseconds(100), kHost);
  tasks.begin_task(picoseconds(100), kHost);
  tasks.wait_for(0);
  EXPECT_EQ(tasks.makespan(), picoseconds(200));
  tasks.clear();
  tasks.begin_task(picoseconds(2), kHost);
  tasks.begin_task(picoseconds(3), kDevice);
  EXPECT_EQ(tasks.makespan(), picoseconds(3));
  EXPECT_EQ(tasks.busiest(), picoseconds(3));
  EXPECT_EQ(tasks.total(), picoseconds(5));
}

TEST(FlatTasks, EndlessTasksDoNotOverflow) {
  FlatTasks tasks(2);
  for (int task = 0; task < 6; ++task) tasks.begin_task(Duration::max(), kHost);
  EXPECT_EQ(tasks.makespan(), Duration::max());
  EXPECT_EQ(tasks.busiest(), Duration::max());
  EXPECT_EQ(tasks.total(), Duration::max());
}

}  // namespace
}  // namespace collage::place
