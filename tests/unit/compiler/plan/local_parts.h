// SPDX-License-Identifier: Apache-2.0
// The parts of a plan for several hosts, each run by a thread of this process, for tests.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compiler/plan/part_plan.h"
#include "runtime/cluster/local_transport.h"
#include "runtime/cluster/remote_device.h"
#include "runtime/exec/executor.h"

namespace collage::plan::test {

class LocalParts {
 public:
  /// `code` outlives it.
  LocalParts(const std::vector<BuiltPlan>& parts, const runtime::Code& code, int threads)
      : transports_(runtime::make_local_transports(static_cast<int>(parts.size()))) {
    for (size_t host = 0; host < parts.size() && failure_.empty(); ++host) {
      auto executor = runtime::Executor::load(parts[host].plan, code, threads, options_of(transports_[host]));
      if (!executor) {
        failure_ = executor.message();
      } else {
        executors_.push_back(std::move(*executor));
      }
    }
  }

  /// Why they cannot be loaded; empty if they are.
  const std::string& failure() const { return failure_; }
  runtime::Executor& executor(size_t host) { return *executors_[host]; }

  runtime::Result<std::vector<runtime::Tensor>> run(const std::vector<runtime::Tensor>& inputs) {
    std::vector<std::thread> others;
    for (size_t host = 1; host < executors_.size(); ++host) {
      others.emplace_back([this, host] {
        if (auto outputs = executors_[host]->run({}); !outputs) transports_[host]->abort(outputs.message());
      });
    }
    auto outputs = executors_[0]->run(inputs);
    if (!outputs) transports_[0]->abort(outputs.message());
    for (std::thread& other : others) other.join();
    if (runtime::Status failure = transports_[0]->failure(); !failure) return failure;
    return outputs;
  }

 private:
  static runtime::LoadOptions options_of(std::shared_ptr<runtime::Transport> transport) {
    runtime::LoadOptions options;
    options.make_remote = [transport = std::move(transport)](
                              const runtime::DeviceSpec& spec) -> runtime::Result<std::unique_ptr<runtime::Device>> {
      auto device = runtime::make_remote_device(spec, transport, runtime::TimeLimit(60));
      if (!device) return device.status();
      (*device)->use_channel(1);
      return std::unique_ptr<runtime::Device>(std::move(*device));
    };
    return options;
  }

  std::vector<std::shared_ptr<runtime::Transport>> transports_;
  std::vector<std::unique_ptr<runtime::Executor>> executors_;
  std::string failure_;
};

}  // namespace collage::plan::test
