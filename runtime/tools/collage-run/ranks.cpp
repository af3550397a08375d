// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/collage-run/ranks.h"

#include <algorithm>
#include <utility>

#include "runtime/core/text.h"

namespace collage::tools {

using support::Code;

runtime::ClusterProgram* Ranks::open(const std::string& file, const runtime::PackageSet& set, const RunOptions& options,
                                     support::Diagnostics& diags) {
  const bool is_started =
      mpi_.has_started() || !runtime::find_mpi_launch() || mpi_.start(runtime::TimeLimit(options.start_timeout), diags);
  if (!is_started) return nullptr;
  if (!mpi_.check_count(static_cast<int>(set.hosts()), "is for", "collage-run " + file, file, diags)) return nullptr;

  const int in_flight = std::max(options.requests.in_flight, 1);
  threads_ = options.threads > 0 ? options.threads : set.threads();
  runtime::ClusterOptions cluster;
  cluster.threads = threads_;
  cluster.channels = in_flight;
  cluster.limit = runtime::TimeLimit(options.timeout);
  cluster.package = set.digest();
  const std::shared_ptr<runtime::MpiTransport>& transport = mpi_.transport();
  runtime::Result<runtime::Package> package = set.load(static_cast<size_t>(transport->rank()));
  if (!mpi_.agree(package.status(), "package " + set.digest(), cluster.limit, Code::CannotRead, file, diags))
    return nullptr;
  known_ = package->plan;
  known_.constants.clear();
  known_.host_constants = {};
  auto program = runtime::ClusterProgram::open(std::move(package->plan), package->code, transport, cluster);
  if (!program) {
    for (const std::string& line : runtime::split(program.message(), '\n')) {
      diags.error_at(Code::RunFailed, file, "{}", line);
    }
    return nullptr;
  }
  program_ = std::move(*program);
  return program_.get();
}

void Ranks::leave(int code) {
  program_.reset();
  mpi_.leave(code);
}

}  // namespace collage::tools
