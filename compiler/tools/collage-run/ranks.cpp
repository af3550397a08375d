// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collage-run/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cluster/collectives.h"

namespace collage::tools {
namespace {

using support::Code;

}  // namespace

int ranks_of_environment() {
  const std::optional<runtime::MpiLaunch> launch = runtime::find_mpi_launch();
  return launch ? launch->size : 1;
}

runtime::ClusterProgram* Ranks::open(const std::string& file, const runtime::PackageSet& set, const RunOptions& options,
                                     support::Diagnostics& diags) {
  const int hosts = static_cast<int>(set.hosts());
  const auto fail = [&](const std::string& message) -> runtime::ClusterProgram* {
    diags.error_at(Code::RunFailed, file, "{}", message);
    return nullptr;
  };
  const auto wrong_number = [&](const std::string& ranks) {
    return fail(fmt::format("is for {} hosts, and {}: `mpirun -n {} collage-run {}`", hosts, ranks, hosts, file));
  };
  const std::optional<runtime::MpiLaunch> launch = runtime::find_mpi_launch();
  if (!launch) return wrong_number("this is one process");
  if (launch->size > 0 && launch->size != hosts) return wrong_number(fmt::format("mpirun started {}", launch->size));
  runtime::Result<std::shared_ptr<runtime::MpiTransport>> transport = runtime::MpiTransport::start(*launch);
  if (!transport) return fail(transport.message());
  transport_ = std::move(*transport);
  if (transport_->size() != hosts) return wrong_number(fmt::format("mpirun started {}", transport_->size()));

  const int in_flight = std::max(options.requests.in_flight, 1);
  threads_ = std::max(1, (options.threads > 0 ? options.threads : set.threads()) / in_flight);
  runtime::Result<runtime::Package> package = set.load(static_cast<size_t>(transport_->rank()));
  if (runtime::Status status = runtime::agree(*transport_, package.status(), "package " + set.digest()); !status) {
    return fail(status.message());
  }
  known_ = package->plan;
  known_.constants.clear();
  known_.host_constants = {};
  runtime::ClusterOptions cluster;
  cluster.threads = threads_;
  cluster.channels = in_flight;
  cluster.limit = runtime::TimeLimit(options.timeout);
  cluster.package = set.digest();
  auto program = runtime::ClusterProgram::open(std::move(package->plan), package->code, transport_, cluster);
  if (!program) return fail(program.message());
  program_ = std::move(*program);
  return program_.get();
}

void Ranks::leave(int code) {
  program_.reset();
  if (transport_ != nullptr) (void)transport_->leave(code);
  transport_.reset();
}

}  // namespace collage::tools
