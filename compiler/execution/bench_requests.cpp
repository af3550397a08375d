// SPDX-License-Identifier: Apache-2.0
#include "compiler/execution/bench_requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "compiler/execution/time_plan.h"
#include "runtime/exec/requests.h"

namespace collage::execution {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::Result;
using runtime::Status;
using runtime::Tensor;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool are_equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.bytes() == y.bytes() && (x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  });
}

/// Keeps so many requests in flight until `runs` are answered.
class Stream {
 public:
  Stream(runtime::Requests& requests, const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected)
      : requests_(requests), inputs_(inputs), expected_(expected) {}

  /// Requests a second. `seconds`: of each request, added.
  Result<double> run(int runs, size_t in_flight, std::vector<double>* seconds) {
    const Clock::time_point start = Clock::now();
    std::deque<std::pair<Clock::time_point, std::future<runtime::Requests::Answer>>> waiting;
    for (int submitted = 0, answered = 0; answered < runs;) {
      while (submitted < runs && waiting.size() < in_flight) {
        waiting.emplace_back(Clock::now(), requests_.submit(inputs_));
        ++submitted;
      }
      auto [begin, answer] = std::move(waiting.front());
      waiting.pop_front();
      const runtime::Requests::Answer outputs = answer.get();
      seconds->push_back(seconds_since(begin));
      if (!outputs) return outputs.status();
      if (!are_equal(*outputs, expected_)) return Status::error("an answer differs from that of a run alone");
      ++answered;
    }
    return runs / seconds_since(start);
  }

 private:
  runtime::Requests& requests_;
  const std::vector<Tensor>& inputs_;
  const std::vector<Tensor>& expected_;
};

Result<RequestsReport> measure(const runtime::Plan& plan, const std::shared_ptr<const runtime::Code>& code, int threads,
                               const RequestsRequest& request, int runs, const std::vector<Tensor>& inputs,
                               const runtime::LoadOptions& options) {
  RequestsReport report;
  report.in_flight = static_cast<size_t>(request.in_flight);
  report.threads_of_each = std::max(1, threads / request.in_flight);
  auto sets = runtime::open_device_sets(plan, code, report.threads_of_each, request.instances, options);
  if (!sets) return sets.status();
  auto several = runtime::Requests::open(std::move(*sets), {threads, report.in_flight});
  if (!several) return several.status();
  auto whole = runtime::open_device_sets(plan, code, threads, "", options);
  if (!whole) return whole.status();
  auto alone = runtime::Requests::open(std::move(*whole), {threads, 1});
  if (!alone) return alone.status();
  runtime::Requests::Answer expected = (*several)->submit(inputs).get();
  if (!expected) return expected.status();
  // Sums may be divided among other numbers of threads: each is held against itself.
  runtime::Requests::Answer expected_alone = (*alone)->submit(inputs).get();
  if (!expected_alone) return expected_alone.status();
  Stream stream(**several, inputs, *expected), in_turn(**alone, inputs, *expected_alone);
  report.workers = (*several)->worker_count();
  std::vector<double> unused;
  for (Stream* warm_up : {&stream, &in_turn}) {
    if (auto rate = warm_up->run(kWarmUpRuns, 1, &unused); !rate) return rate.status();
  }
  for (int round = 0; round < 2; ++round) {
    const auto rate = stream.run(runs, report.in_flight, &report.seconds);
    if (!rate) return rate.status();
    const auto rate_alone = in_turn.run(runs, 1, &unused);
    if (!rate_alone) return rate_alone.status();
    report.per_second = std::max(report.per_second, *rate);
    report.alone_per_second = std::max(report.alone_per_second, *rate_alone);
  }
  report.served = (*several)->served();
  return report;
}

}  // namespace

double RequestsReport::median() const {
  return execution::median(seconds);
}

std::optional<RequestsReport> bench_requests(const runtime::Plan& plan, std::shared_ptr<const runtime::Code> code,
                                             int threads, const RequestsRequest& request, int runs,
                                             const std::vector<Tensor>& inputs, const runtime::LoadOptions& options,
                                             support::Diagnostics& diags) {
  Result<RequestsReport> report = measure(plan, code, threads, request, runs, inputs, options);
  if (!report) return diags.error_at(support::Code::RunFailed, plan.model, "{}", report.message());
  return std::move(*report);
}

std::string print(const RequestsReport& report) {
  std::string text = fmt::format(
      "{:<12}{} in flight: {:.4g} a second, {} with {} each; answers after {:.4g} ms\n", "requests", report.in_flight,
      report.per_second, report.workers == 1 ? "1 worker" : fmt::format("{} workers", report.workers),
      report.threads_of_each == 1 ? "1 thread" : fmt::format("{} threads", report.threads_of_each),
      report.median() * 1e3);
  text += fmt::format("{:<12}one at a time: {:.4g} a second, {:.2f} times fewer\n", "", report.alone_per_second,
                      report.per_second / report.alone_per_second);
  if (report.served.size() > 1) {
    text += fmt::format("{:<12}served by each set of devices: {}\n", "", fmt::join(report.served, ", "));
  }
  return text;
}

nlohmann::ordered_json requests_json(const RequestsReport& report) {
  return {{"in_flight", report.in_flight},
          {"workers", report.workers},
          {"threads_of_each", report.threads_of_each},
          {"per_second", report.per_second},
          {"median_s", report.median()},
          {"one_at_a_time_per_second", report.alone_per_second},
          {"served", report.served}};
}

}  // namespace collage::execution
