// SPDX-License-Identifier: Apache-2.0
// The queue on the server of the test program. Its functions are expected to succeed.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/unit/compiler/measure/fleet/fleet_server.h"

namespace collage::measure::fleet {

class FleetQueue : public FleetServer {
 protected:
  static void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  int64_t put_one(const Wanted& one) { return put_one(one, asker_); }
  int64_t put_one(const Wanted& one, Asker& asker) {
    const auto ids = queue_->put({one}, &asker);
    EXPECT_TRUE(ids) << ids.message();
    return ids ? ids->at(0) : 0;
  }
  std::optional<Job> claim(int64_t worker, const Wanted& one, double lease = 15) {
    const auto needs = queue_->need_ids({need_of(one.environment)});
    EXPECT_TRUE(needs) << needs.message();
    const auto job = queue_->claim(*needs, worker, lease);
    EXPECT_TRUE(job) << job.message();
    return job ? *job : std::nullopt;
  }
  JobState look(int64_t job, const Wanted& one) { return look(job, one, asker_); }
  JobState look(int64_t job, const Wanted& one, const Asker& asker) {
    const auto state = queue_->look(job, one, asker);
    EXPECT_TRUE(state) << state.message();
    return state ? *state : JobState();
  }
  Begun begin(Job& job, int64_t worker) {
    const auto begun = queue_->begin(&job, worker);
    EXPECT_TRUE(begun) << begun.message();
    return begun ? *begun : Begun{Begun::Kind::LeaseLost};
  }
  Finished finish(const Job& job, int64_t worker, Measurement measured) {
    const auto finished = queue_->finish(job, worker, 0.1, &measured);
    EXPECT_TRUE(finished) << finished.message();
    return finished ? *finished : Finished::Stored;
  }
};

}  // namespace collage::measure::fleet
