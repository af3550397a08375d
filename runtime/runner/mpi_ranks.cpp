// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner/mpi_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "runtime/cluster/collectives.h"
#include "runtime/core/text.h"

namespace collage::runner {

using support::Code;

int MpiRanks::of_environment() {
  const std::optional<runtime::MpiLaunch> launch = runtime::find_mpi_launch();
  return launch ? launch->size : 1;
}

bool MpiRanks::start(runtime::TimeLimit limit, support::Diagnostics& diags) {
  const std::optional<runtime::MpiLaunch> launch = runtime::find_mpi_launch();
  if (!launch) return diags.error_at(Code::RunFailed, "mpirun", "{}", "did not start this process");
  runtime::MpiOptions options;
  options.start = limit;
  const auto begin = std::chrono::steady_clock::now();
  runtime::Result<std::shared_ptr<runtime::MpiTransport>> transport = runtime::MpiTransport::start(*launch, options);
  if (!transport) {
    auto error = diags.error_at(Code::RunFailed, "mpirun", "{}", transport.message());
    const bool was_short = limit > runtime::TimeLimit::zero() && std::chrono::steady_clock::now() - begin >= limit;
    if (was_short) error.note("`--start-timeout SECONDS` waits longer, for many or busy machines");
    return false;
  }
  transport_ = std::move(*transport);
  return true;
}

bool MpiRanks::agree(const runtime::Status& status, const std::string& key, runtime::TimeLimit limit, Code code,
                     const std::string& where, support::Diagnostics& diags) {
  const runtime::Status agreed = has_started() ? runtime::agree(*transport_, status, key, limit) : status;
  if (agreed) return true;
  for (const std::string& line : runtime::split(agreed.message(), '\n')) diags.error_at(code, where, "{}", line);
  return false;
}

bool MpiRanks::check_count(int hosts, const std::string& owner, const std::string& command, const std::string& where,
                           support::Diagnostics& diags) const {
  if (has_started() && count() == hosts) return true;
  const std::string ranks = has_started() ? fmt::format("mpirun started {}", count()) : "this is one process";
  return diags.error_at(Code::RunFailed, where, "{} {} hosts, and {}: `mpirun -n {} {}`", owner, hosts, ranks, hosts,
                        command);
}

bool MpiRanks::prints_errors() const {
  return is_first() || !transport_->failure();
}

void MpiRanks::leave(int code) {
  if (has_started()) (void)transport_->leave(code);
  transport_.reset();
}

}  // namespace collage::runner
