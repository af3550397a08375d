// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/run/local_hosts.h"

#include <exception>

#include "runtime/cluster/local_transport.h"
#include "runtime/cluster/remote_device.h"
#include "runtime/core/host_space.h"
#include "runtime/exec/host_constants.h"

namespace collage::driver {
namespace {

using runtime::Result;
using runtime::Status;

/// Values of all runs: these follow each other.
constexpr int kValueChannel = runtime::kCollectiveChannel + 1;
/// A part computes as long as it takes; what fails tells the others.
constexpr runtime::TimeLimit kNoTimeLimit{0};

runtime::LoadOptions with_remotes(runtime::LoadOptions options, std::shared_ptr<runtime::Transport> transport) {
  options.make_remote =
      [transport = std::move(transport)](const runtime::DeviceSpec& spec) -> Result<std::unique_ptr<runtime::Device>> {
    Result<std::unique_ptr<runtime::RemoteDevice>> device = runtime::make_remote_device(spec, transport, kNoTimeLimit);
    if (!device) return device.status();
    (*device)->use_channel(kValueChannel);
    return std::unique_ptr<runtime::Device>(std::move(*device));
  };
  return options;
}

}  // namespace

LocalHosts::~LocalHosts() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  changed_.notify_all();
  for (Part& part : parts_) {
    if (part.thread.joinable()) part.thread.join();
  }
}

Status LocalHosts::start() {
  try {
    for (Part& part : parts_) part.thread = std::thread([this, &part] { serve(part); });
  } catch (const std::exception& exception) {
    return Status::error(exception.what());
  }
  return Status::ok();
}

void LocalHosts::begin() {
  {
    const std::lock_guard lock(mutex_);
    ++run_;
    running_ = parts_.size();
  }
  changed_.notify_all();
}

Status LocalHosts::end(Status status) {
  if (!status) transport_->abort(status.message());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return running_ == 0; });
  lock.unlock();
  // The first failure of all, which the others only heard of.
  return transport_->failure();
}

void LocalHosts::serve(Part& part) {
  for (size_t done = 0;; ++done) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || run_ > done; });
    if (run_ == done) return;
    lock.unlock();
    if (auto outputs = part.executor->run({}); !outputs) transport_->abort(outputs.message());
    lock.lock();
    --running_;
    lock.unlock();
    changed_.notify_all();
  }
}

std::optional<LoadedHosts> load_hosts(Program& program, int threads, support::Diagnostics& diags,
                                      runtime::LoadOptions options) {
  const auto transports = runtime::make_local_transports(static_cast<int>(program.parts.size()));
  LoadedHosts loaded;
  loaded.others = std::make_shared<LocalHosts>(transports.front());
  for (size_t host = 0; host < program.parts.size(); ++host) {
    runtime::Plan& plan = program.parts[host].plan;
    runtime::join_host_constants(plan);
    auto executor = runtime::Executor::load(plan, *program.jit, threads, with_remotes(options, transports[host]));
    if (!executor) {
      return diags.error_at(support::Code::RunFailed, plan.model, "the part of `{}`: {}",
                            runtime::host_space(plan.part.host), executor.message());
    }
    if (host == 0) {
      loaded.first = std::move(*executor);
    } else {
      loaded.others->add(std::move(*executor));
    }
  }
  if (Status status = loaded.others->start(); !status) {
    return diags.error_at(support::Code::RunFailed, program.built.plan.model, "{}", status.message());
  }
  loaded.first->accompany(loaded.others);
  return loaded;
}

}  // namespace collage::driver
