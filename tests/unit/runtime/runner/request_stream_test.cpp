// SPDX-License-Identifier: Apache-2.0
// Streams of requests: how many are in flight, which of them are timed, wrong answers.
#include "runtime/runner/request_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/runtime/cluster/part_plan.h"

namespace collage::runner {
namespace {

using runtime::Status;
using runtime::Tensor;

/// Answers when it is asked for the answer, with the input.
struct Server {
  int submitted = 0, answered = 0, most_in_flight = 0;
  int wrong = -1;                      ///< the answer with this number is another one
  int fails = -1;                      ///< the answer with this number is an error
  std::chrono::milliseconds first{0};  ///< what the first request after that of `open` takes

  RequestStream::Submit submit() {
    return [this](std::vector<Tensor> inputs) {
      const int number = submitted++;
      most_in_flight = std::max(most_in_flight, submitted - answered);
      return std::async(std::launch::deferred, [this, number, inputs]() -> RequestStream::Answer {
        ++answered;
        if (number == 1) std::this_thread::sleep_for(first);
        if (number == fails) return Status::error("out of memory");
        if (number == wrong) return std::vector<Tensor>{runtime::test::counting({2}, 7)};
        return inputs;
      });
    };
  }
};

TEST(RequestStream, KeepsRequestsInFlightAndTimesThoseOfAFullPipeline) {
  Server server;
  auto stream = RequestStream::open(server.submit(), {runtime::test::counting({2})});
  ASSERT_TRUE(stream) << stream.message();
  EXPECT_EQ(server.answered, 1);
  std::vector<double> seconds;
  const auto rate = stream->run(10, 3, &seconds);
  ASSERT_TRUE(rate) << rate.message();
  EXPECT_GT(*rate, 0);
  EXPECT_EQ(server.most_in_flight, 3);
  EXPECT_EQ(seconds.size(), 10U);
  // 3 fill the pipeline, 10 are timed, and 2 are still in flight when the last of them is answered.
  EXPECT_EQ(server.submitted, 1 + 3 + 10 + 2);
  EXPECT_EQ(server.answered, server.submitted);
}

TEST(RequestStream, FillingThePipelineDoesNotCount) {
  Server server;
  server.first = std::chrono::milliseconds(300);
  auto stream = RequestStream::open(server.submit(), {runtime::test::counting({2})});
  ASSERT_TRUE(stream) << stream.message();
  const auto rate = stream->run(2, 1, nullptr);
  ASSERT_TRUE(rate) << rate.message();
  EXPECT_GT(*rate, 2 / 0.3);
}

TEST(RequestStream, AWrongAnswerIsAnError) {
  Server server;
  server.wrong = 4;
  auto stream = RequestStream::open(server.submit(), {runtime::test::counting({2})});
  ASSERT_TRUE(stream) << stream.message();
  const auto rate = stream->run(10, 2, nullptr);
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.message(), "an answer differs from that of a run alone");
}

TEST(RequestStream, AFailureEndsTheStream) {
  Server server;
  server.fails = 5;
  auto stream = RequestStream::open(server.submit(), {runtime::test::counting({2})});
  ASSERT_TRUE(stream) << stream.message();
  EXPECT_EQ(stream->run(10, 2, nullptr).message(), "out of memory");
  Server broken;
  broken.fails = 0;
  EXPECT_EQ(RequestStream::open(broken.submit(), {runtime::test::counting({2})}).message(), "out of memory");
}

TEST(RequestStream, SeveralInFlightBesideOneAtATime) {
  Server server, alone;
  auto several = RequestStream::open(server.submit(), {runtime::test::counting({2})});
  auto one = RequestStream::open(alone.submit(), {runtime::test::counting({2})});
  ASSERT_TRUE(several && one);
  const auto times = time_requests(*several, *one, 6, 4);
  ASSERT_TRUE(times) << times.message();
  EXPECT_EQ(times->in_flight, 4U);
  EXPECT_EQ(times->seconds.size(), 12U) << "of both rounds";
  EXPECT_EQ(server.most_in_flight, 4);
  EXPECT_EQ(alone.most_in_flight, 1);
}

}  // namespace
}  // namespace collage::runner
