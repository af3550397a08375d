// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/cluster_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/cluster/collectives.h"
#include "runtime/core/duration.h"
#include "runtime/core/host_space.h"
#include "runtime/plan/plan_schedule.h"
#include "runtime/support/size_text.h"

namespace collage::runner {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using runtime::Result;
using runtime::Status;
using runtime::Tensor;

RankReport report_of(const runtime::ClusterProgram& program) {
  const runtime::Plan& plan = program.program().plan();
  const runtime::StepRunner& runner = program.executor(0).execution().runner();
  RankReport report;
  report.space = runtime::host_space(plan.part.host);
  report.machine = program.transport().machine();
  runtime::Machine machine = runtime::machine_of(plan.devices);
  const std::vector<runtime::Task> tasks = runtime::tasks_of(plan, machine);
  const auto moves_between_hosts = [&](size_t step) {
    const int queue = program.program().graph().nodes[step].queue;
    if (queue < 0) return false;
    const int device = program.program().graph().queues[static_cast<size_t>(queue)].device;
    return plan.devices[static_cast<size_t>(device)].kind == runtime::kRemoteKind;
  };
  for (size_t s = 0; s < tasks.size(); ++s) {
    if (moves_between_hosts(s)) continue;
    report.predicted += tasks[s].length.seconds();
    if (s >= runner.wall_slots().size()) continue;
    const runtime::WallSlot& slot = runner.wall_slots()[s];
    report.seconds += std::chrono::duration<double>(slot.finish - slot.start).count();
  }
  for (runtime::Duration busy : runtime::busy_times(tasks)) report.busiest = std::max(report.busiest, busy.seconds());
  for (size_t d = 0; d < program.program().device_count(); ++d) {
    if (plan.devices[d].kind != runtime::kRemoteKind) continue;
    const runtime::Traffic traffic = program.program().device(static_cast<int>(d)).innermost().traffic();
    report.sent += traffic.in;
    report.received += traffic.out;
  }
  return report;
}

std::string rank_text(const RankReport& report) {
  const json whole = {report.space,   report.machine, report.seconds, report.predicted,
                      report.busiest, report.sent,    report.received};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RankReport> rank_from_text(const std::string& text) {
  try {
    const json whole = json::parse(text);
    return RankReport{whole.at(0), whole.at(1), whole.at(2), whole.at(3), whole.at(4), whole.at(5), whole.at(6)};
  } catch (const std::exception& exception) {
    return Status::error(std::string("the report of another rank cannot be read: ") + exception.what());
  }
}

/// Requests a second that the plan predicts, where they follow each other without end: the busiest resource decides.
double predicted_rate(const std::vector<RankReport>& ranks) {
  double busiest = 0;
  for (const RankReport& rank : ranks) busiest = std::max(busiest, rank.busiest);
  return busiest > 0 ? 1 / busiest : 0;
}

}  // namespace

Result<std::vector<RankReport>> gather_reports(const runtime::ClusterProgram& program) {
  const Result<std::vector<std::string>> texts = runtime::gather(program.transport(), rank_text(report_of(program)));
  if (!texts) return texts.status();
  std::vector<RankReport> reports;
  for (const std::string& text : *texts) {
    Result<RankReport> report = rank_from_text(text);
    if (!report) return report.status();
    reports.push_back(std::move(*report));
  }
  return reports;
}

std::optional<RequestTimes> bench_cluster(runtime::ClusterProgram& program, int runs, const std::vector<Tensor>& inputs,
                                          support::Diagnostics& diags) {
  const auto fail = [&](const std::string& why) {
    return diags.error_at(support::Code::RunFailed, program.program().plan().model, "{}", why);
  };
  Result<RequestStream> stream =
      RequestStream::open([&program](std::vector<Tensor> one) { return program.submit(std::move(one)); }, inputs);
  if (!stream) return fail(stream.message());
  Result<RequestTimes> times = time_requests(*stream, *stream, runs, static_cast<size_t>(program.channels()));
  if (!times) return fail(times.message());
  return std::move(*times);
}

std::string print(const std::vector<RankReport>& ranks, runtime::Duration predicted) {
  std::string text;
  for (const RankReport& rank : ranks) {
    text += fmt::format("{:<12}{} on {}: {} of work, predicted {}; {} sent, {} received\n", text.empty() ? "hosts" : "",
                        rank.space, rank.machine, human(runtime::Duration::seconds(rank.seconds)),
                        human(runtime::Duration::seconds(rank.predicted)), support::size_text(rank.sent),
                        support::size_text(rank.received));
  }
  return text + fmt::format("{:<12}predicted {} a run, {:.4g} runs a second in a stream\n", "",
                            runtime::human(predicted), predicted_rate(ranks));
}

ordered_json cluster_json(const std::vector<RankReport>& ranks, runtime::Duration predicted) {
  ordered_json rows = ordered_json::array();
  for (const RankReport& rank : ranks) {
    rows.push_back({{"host", rank.space},
                    {"machine", rank.machine},
                    {"work_s", rank.seconds},
                    {"predicted_work_s", rank.predicted},
                    {"sent_bytes", rank.sent},
                    {"received_bytes", rank.received}});
  }
  return {{"ranks", std::move(rows)},
          {"predicted_s", predicted.seconds()},
          {"predicted_per_second", predicted_rate(ranks)}};
}

ordered_json cluster_json(const RequestTimes& requests) {
  return {{"in_flight", requests.in_flight},
          {"per_second", requests.per_second},
          {"median_s", requests.median()},
          {"one_at_a_time_per_second", requests.alone_per_second}};
}

}  // namespace collage::runner
