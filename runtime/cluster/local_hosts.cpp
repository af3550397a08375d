// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/local_hosts.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "runtime/cluster/local_transport.h"
#include "runtime/cluster/remote_device.h"
#include "runtime/core/host_space.h"

namespace collage::runtime {
namespace {

/// Values of all runs: these follow each other.
constexpr int kValueChannel = kCollectiveChannel + 1;
/// A part computes as long as it takes; one that fails aborts the others.
constexpr TimeLimit kNoTimeLimit{0};

using Transports = std::vector<std::shared_ptr<Transport>>;

LoadOptions with_remotes(LoadOptions options, std::shared_ptr<Transport> transport) {
  options.make_remote = [transport = std::move(transport)](const DeviceSpec& spec) -> Result<std::unique_ptr<Device>> {
    Result<std::unique_ptr<RemoteDevice>> device = make_remote_device(spec, transport, kNoTimeLimit);
    if (!device) return device.status();
    (*device)->use_channel(kValueChannel);
    return std::unique_ptr<Device>(std::move(*device));
  };
  return options;
}

/// A part by `load`, which gets it with the options of its host; a failure names the host.
template <typename Load>
auto load_part(const HostPart& part, const std::shared_ptr<Transport>& transport, const LoadOptions& options,
               const Load& load) {
  auto loaded = load(part, with_remotes(options, transport));
  if (!loaded) {
    loaded = Status::error("the part of `" + host_space(part.plan.part.host) + "`: " + loaded.message());
  }
  return loaded;
}

/// Loads a part with which lost devices are final.
auto load_finally(int threads) {
  return [threads](const HostPart& part, const LoadOptions& options) -> Result<std::unique_ptr<RecoveringExecution>> {
    Result<std::shared_ptr<Recovery>> recovery = Recovery::open(part.plan, part.code, threads, options, nullptr);
    if (!recovery) return recovery.status();
    return RecoveringExecution::create(std::move(*recovery));
  };
}

Result<std::shared_ptr<LocalHosts>> load_others(const std::vector<HostPart>& parts, const Transports& transports,
                                                int threads, const LoadOptions& options) {
  auto others = std::make_shared<LocalHosts>(transports.front());
  for (size_t host = 1; host < parts.size(); ++host) {
    auto execution = load_part(parts[host], transports[host], options, load_finally(threads));
    if (!execution) return execution.status();
    others->add(std::make_unique<Executor>(std::move(*execution)), transports[host]);
  }
  if (Status status = others->start(); !status) return status;
  return others;
}

template <typename First>
struct LoadedParts {
  First first;
  std::shared_ptr<LocalHosts> others;  ///< shall accompany it
};

/// The first part by `load`, then the others.
template <typename First, typename Load>
Result<LoadedParts<First>> load_all(const std::vector<HostPart>& parts, int threads, const LoadOptions& options,
                                    const Load& load) {
  const Transports transports = make_local_transports(static_cast<int>(parts.size()), host_space);
  Result<First> first = load_part(parts.front(), transports.front(), options, load);
  if (!first) return first.status();
  Result<std::shared_ptr<LocalHosts>> others = load_others(parts, transports, threads, options);
  if (!others) return others.status();
  return LoadedParts<First>{std::move(*first), std::move(*others)};
}

class LocalEnsemble : public Ensemble {
 public:
  LocalEnsemble(std::vector<HostPart> parts, int threads, LoadOptions options)
      : parts_(std::move(parts)), threads_(threads), options_(std::move(options)) {}

  /// Makes the first member, which the first call of `make` returns. Returns the program of its first part.
  Result<std::shared_ptr<const Program>> open() {
    Result<Member> member = load();
    if (!member) return member.status();
    std::shared_ptr<const Program> program = member->first->shared_program();
    ready_ = std::move(*member);
    return program;
  }

  Result<Member> make() override {
    {
      const std::lock_guard lock(mutex_);
      if (ready_.first != nullptr) return std::exchange(ready_, Member());
    }
    return load();
  }

 private:
  Result<Member> load() const {
    try {
      return load_parts();
    } catch (const std::exception& exception) {  // no memory for the plans
      return Status::error(exception.what());
    }
  }

  Result<Member> load_parts() const {
    using First = std::unique_ptr<Execution>;
    Result<LoadedParts<First>> loaded = load_all<First>(
        parts_, threads_, options_, [&](const HostPart& part, const LoadOptions& options) -> Result<First> {
          Result<std::shared_ptr<const Program>> program = Program::load(part.plan, part.code, threads_, options);
          if (!program) return program.status();
          return Execution::create(std::move(*program));
        });
    if (!loaded) return loaded.status();
    return Member{std::move(loaded->first), std::move(loaded->others)};
  }

  const std::vector<HostPart> parts_;
  const int threads_;
  const LoadOptions options_;
  std::mutex mutex_;
  Member ready_;
};

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
  // The first failure of all, which the others only received.
  return transport_->failure();
}

void LocalHosts::serve(Part& part) {
  for (size_t done = 0;; ++done) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_closed_ || run_ > done; });
    if (run_ == done) return;
    lock.unlock();
    if (auto outputs = part.executor->run({}); !outputs) part.transport->abort(outputs.message());
    lock.lock();
    --running_;
    lock.unlock();
    changed_.notify_all();
  }
}

Duration LocalHosts::device_time() const {
  Duration all;
  for (const Part& part : parts_) all += part.executor->device_time();
  return all;
}

size_t LocalHosts::link_bytes() const {
  size_t all = 0;
  for (const Part& part : parts_) {
    const Execution& execution = part.executor->execution();
    const std::vector<DeviceSpec>& specs = execution.program().plan().devices;
    size_t counted_elsewhere = 0;
    for (size_t d = 0; d < specs.size(); ++d) {
      if (specs[d].kind != kRemoteKind) continue;
      const Traffic messages = execution.program().device(static_cast<int>(d)).traffic();
      counted_elsewhere += messages.out + (host_number(specs[d].space) == 0 ? messages.in : 0);
    }
    // After a failed run, messages that arrived do not count as bytes of its steps.
    const size_t own = execution.runner().link_bytes().all();
    all += own - std::min(own, counted_elsewhere);
  }
  return all;
}

Result<LoadedHosts> load_local_hosts(const std::vector<HostPart>& parts, int threads, const LoadOptions& options) {
  auto all = load_all<std::unique_ptr<RecoveringExecution>>(parts, threads, options, load_finally(threads));
  if (!all) return all.status();
  LoadedHosts loaded{std::make_unique<Executor>(std::move(all->first)), std::move(all->others)};
  loaded.first->accompany(loaded.others);
  return loaded;
}

Result<std::shared_ptr<Recovery>> open_local_hosts(std::vector<HostPart> parts, int threads, LoadOptions options) {
  auto ensemble = std::make_shared<LocalEnsemble>(std::move(parts), threads, std::move(options));
  Result<std::shared_ptr<const Program>> program = ensemble->open();
  if (!program) return program.status();
  return Recovery::of_ensemble(std::move(*program), std::move(ensemble));
}

}  // namespace collage::runtime
