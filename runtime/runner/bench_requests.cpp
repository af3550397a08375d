// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/bench_requests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/core/text.h"
#include "runtime/exec/requests.h"

namespace collage::runner {
namespace {

using runtime::Result;
using runtime::Tensor;

RequestStream::Submit submit_to(runtime::Requests& requests) {
  return [&requests](std::vector<Tensor> inputs) { return requests.submit(std::move(inputs)); };
}

Result<RequestsReport> measure(const runtime::Plan& plan, const std::shared_ptr<const runtime::Code>& code, int threads,
                               const RequestsRequest& request, int runs, const std::vector<Tensor>& inputs,
                               const runtime::LoadOptions& options) {
  RequestsReport report;
  const auto in_flight = static_cast<size_t>(request.in_flight);
  report.threads_of_each = std::max(1, threads / request.in_flight);
  auto sets = runtime::open_device_sets(plan, code, report.threads_of_each, request.instances, options);
  if (!sets) return sets.status();
  auto several = runtime::Requests::open(std::move(*sets), {threads, in_flight});
  if (!several) return several.status();
  auto whole = runtime::open_device_sets(plan, code, threads, "", options);
  if (!whole) return whole.status();
  auto alone = runtime::Requests::open(std::move(*whole), {threads, 1});
  if (!alone) return alone.status();
  report.workers = (*several)->worker_count();
  // Sums may be divided among other numbers of threads: each is held against itself.
  Result<RequestStream> stream = RequestStream::open(submit_to(**several), inputs);
  if (!stream) return stream.status();
  Result<RequestStream> in_turn = RequestStream::open(submit_to(**alone), inputs);
  if (!in_turn) return in_turn.status();
  Result<RequestTimes> times = time_requests(*stream, *in_turn, runs, in_flight);
  if (!times) return times.status();
  report.times = std::move(*times);
  report.served = (*several)->served();
  return report;
}

}  // namespace

std::optional<RequestsReport> bench_requests(const runtime::Plan& plan, std::shared_ptr<const runtime::Code> code,
                                             int threads, const RequestsRequest& request, int runs,
                                             const std::vector<Tensor>& inputs, const runtime::LoadOptions& options,
                                             support::Diagnostics& diags) {
  Result<RequestsReport> report = measure(plan, code, threads, request, runs, inputs, options);
  if (!report) return diags.error_at(support::Code::RunFailed, plan.model, "{}", report.message());
  return std::move(*report);
}

std::string print(const RequestsReport& report) {
  const std::string by = fmt::format(", {} with {} each", runtime::counted(report.workers, "worker"),
                                     runtime::counted(report.threads_of_each, "thread"));
  std::string text = print(report.times, by);
  if (report.served.size() > 1) {
    text += fmt::format("{:<12}served by each set of devices: {}\n", "", fmt::join(report.served, ", "));
  }
  return text;
}

nlohmann::ordered_json requests_json(const RequestsReport& report) {
  return {{"in_flight", report.times.in_flight},
          {"workers", report.workers},
          {"threads_of_each", report.threads_of_each},
          {"per_second", report.times.per_second},
          {"median_s", report.times.median()},
          {"one_at_a_time_per_second", report.times.alone_per_second},
          {"served", report.served}};
}

}  // namespace collage::runner
