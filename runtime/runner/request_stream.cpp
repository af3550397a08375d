// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/request_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include "runtime/core/duration.h"
#include "runtime/runner/time_plan.h"

namespace collage::runner {
namespace {

using RequestClock = std::chrono::steady_clock;
using runtime::Result;
using runtime::Status;
using runtime::Tensor;

double seconds_between(RequestClock::time_point from, RequestClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool are_identical(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return runtime::identical(x, y); });
}

}  // namespace

Result<RequestStream> RequestStream::open(Submit submit, std::vector<Tensor> inputs) {
  Answer expected = submit(inputs).get();
  if (!expected) return expected.status();
  return RequestStream(std::move(submit), std::move(inputs), std::move(*expected));
}

Result<double> RequestStream::run(int runs, size_t in_flight, std::vector<double>* seconds) {
  std::deque<std::pair<RequestClock::time_point, std::future<Answer>>> waiting;
  const auto submit = [&] { waiting.emplace_back(RequestClock::now(), submit_(inputs_)); };
  for (size_t i = 0; i < in_flight; ++i) submit();
  const size_t first = in_flight, last = in_flight + static_cast<size_t>(runs);
  RequestClock::time_point start, end;
  for (size_t answered = 1; !waiting.empty(); ++answered) {
    auto [begin, answer] = std::move(waiting.front());
    waiting.pop_front();
    const Answer outputs = answer.get();
    const RequestClock::time_point now = RequestClock::now();
    if (!outputs) return outputs.status();
    if (answered < last) submit();
    if (answered == first) start = now;
    if (answered == last) end = now;
    if (seconds != nullptr && answered > first && answered <= last) seconds->push_back(seconds_between(begin, now));
    if (!are_identical(*outputs, expected_)) return Status::error("an answer differs from that of a run alone");
  }
  constexpr double kClockTick = 1e-9;
  return runs / std::max(seconds_between(start, end), kClockTick);
}

double RequestTimes::median() const {
  return runner::median(seconds);
}

std::string print(const RequestTimes& times, const std::string& by) {
  return fmt::format("{:<12}{} in flight: {:.4g} a second{}; answers after {}\n", "requests", times.in_flight,
                     times.per_second, by, human(runtime::Duration::seconds(times.median()))) +
         fmt::format("{:<12}one at a time: {:.4g} a second, {:.2f} times fewer\n", "", times.alone_per_second,
                     times.per_second / times.alone_per_second);
}

Result<RequestTimes> time_requests(RequestStream& several, RequestStream& alone, int runs, size_t in_flight) {
  RequestTimes times;
  times.in_flight = in_flight;
  for (const auto& [stream, count] : {std::pair(&several, in_flight), {&alone, size_t{1}}}) {
    if (auto rate = stream->run(kWarmUpRuns, count, nullptr); !rate) return rate.status();
  }
  for (int round = 0; round < 2; ++round) {
    const Result<double> rate = several.run(runs, in_flight, &times.seconds);
    if (!rate) return rate.status();
    const Result<double> rate_alone = alone.run(runs, 1, nullptr);
    if (!rate_alone) return rate_alone.status();
    times.per_second = std::max(times.per_second, *rate);
    times.alone_per_second = std::max(times.alone_per_second, *rate_alone);
  }
  return times;
}

}  // namespace collage::runner
