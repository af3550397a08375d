// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/recovery.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/core/text.h"
#include "runtime/exec/relocate.h"

namespace collage::runtime {
namespace {

constexpr const char* kKeptAreLost = "; values that were kept from run to run are lost with it";

/// `host`, `host and npu[1]`, `host, npu[1] and npu[2]`
std::string listed(const std::set<std::string>& names) {
  std::string text;
  size_t left = names.size();
  for (const std::string& name : names) {
    text += name;
    --left;
    if (left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

/// True if the two have work in common: nodes, or where these are not known the name.
bool share_work(const PlanPartition& a, const PlanPartition& b) {
  if (a.nodes.empty() || b.nodes.empty()) return a.name == b.name;
  return std::any_of(a.nodes.begin(), a.nodes.end(), [&](const std::string& node) {
    return std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end();
  });
}

}  // namespace

std::string DeviceLoss::text() const {
  const std::string when = step ? "in step " + std::to_string(*step) : "before the run";
  return "device " + device + " was lost " + when + ": " + counted(partitions, "partition") +
         (partitions == 1 ? " runs on " : " run on ") + now_on + " from now on";
}

Result<std::shared_ptr<const Program>> PlanMover::replan(const std::vector<std::string>& lost) {
  Result<Plan> plan = without_devices(plan_, lost);
  if (!plan) return plan.status();
  return Program::load(std::move(*plan), code_, threads_, options_);
}

std::vector<DeviceLoss> describe_losses(const Plan& before, const Plan& after, const std::vector<std::string>& lost,
                                        std::optional<size_t> step) {
  std::vector<DeviceLoss> losses;
  for (const std::string& device : lost) {
    DeviceLoss loss{device, step};
    std::set<std::string> now_on;
    for (const PlanPartition& partition : before.partitions) {
      if (partition.instance != device) continue;
      ++loss.partitions;
      for (const PlanPartition& other : after.partitions) {
        if (share_work(partition, other)) now_on.insert(other.instance);
      }
    }
    loss.now_on = now_on.empty() ? "host" : listed(now_on);
    losses.push_back(std::move(loss));
  }
  return losses;
}

std::shared_ptr<const Program> Recovery::program() const {
  std::lock_guard lock(mutex_);
  return program_;
}

std::vector<DeviceLoss> Recovery::losses() const {
  std::lock_guard lock(mutex_);
  return losses_;
}

Result<std::shared_ptr<Recovery>> Recovery::open(const Plan& plan, std::shared_ptr<const Code> code, int threads,
                                                 LoadOptions options, std::shared_ptr<Replanner> replanner) {
  std::shared_ptr<Recovery> recovery(new Recovery(options.faults, std::move(replanner)));
  Result<std::shared_ptr<const Program>> program = Program::load(plan, std::move(code), threads, options);
  if (program) {
    recovery->program_ = std::move(*program);
    return recovery;
  }
  std::vector<std::string> lost = options.faults == nullptr ? std::vector<std::string>() : options.faults->lost();
  if (lost.empty()) return program.status();
  if (Status status = recovery->take_over(plan, std::move(lost), std::nullopt); !status) {
    return Status::error(program.message() + "; " + status.message());
  }
  return recovery;
}

std::shared_ptr<Recovery> Recovery::of_ensemble(std::shared_ptr<const Program> program,
                                                std::shared_ptr<Ensemble> ensemble) {
  auto recovery = std::make_shared<Recovery>(std::move(program), nullptr);
  recovery->ensemble_ = std::move(ensemble);
  return recovery;
}

Result<std::shared_ptr<const Program>> Recovery::replace(const std::shared_ptr<const Program>& failed,
                                                         std::optional<size_t> step) {
  std::lock_guard lock(mutex_);
  if (failed != program_) return program_;  // another execution was first
  if (Status status = take_over(failed->plan(), failed->lost_devices(), step); !status) return status;
  return program_;
}

/// More devices may be lost while the replacement is loaded.
Status Recovery::take_over(const Plan& before, std::vector<std::string> lost, std::optional<size_t> step) {
  const auto cannot = [&](const std::string& why) {
    return Status::error("nothing can take over from " + lost.front() + why);
  };
  if (lost.empty()) return Status::error("no device is lost");
  if (replanner_ == nullptr) return cannot("");
  while (true) {
    std::set<std::string> all(lost_.begin(), lost_.end());
    all.insert(lost.begin(), lost.end());
    Result<std::shared_ptr<const Program>> next = replanner_->replan({all.begin(), all.end()});
    if (next) {
      for (DeviceLoss& loss : describe_losses(before, (*next)->plan(), lost, step)) losses_.push_back(std::move(loss));
      lost_.assign(all.begin(), all.end());
      program_ = std::move(*next);
      return Status::ok();
    }
    const size_t known = lost.size();
    for (const std::string& device : faults_ == nullptr ? std::vector<std::string>() : faults_->lost()) {
      if (all.insert(device).second) lost.push_back(device);
    }
    if (lost.size() == known) return cannot(": " + next.message());
  }
}

Result<std::unique_ptr<RecoveringExecution>> RecoveringExecution::create(std::shared_ptr<Recovery> recovery,
                                                                         ArenaUse use) {
  std::unique_ptr<RecoveringExecution> made(new RecoveringExecution(std::move(recovery), use));
  if (Status status = made->prepare(made->recovery_->program()); !status) return status;
  return made;
}

/// Runs the execution from now on, with what was asked of the one before.
Status RecoveringExecution::take(std::unique_ptr<Execution> execution) {
  for (const auto& [output, input] : kept_) {
    if (Status status = execution->keep(output, input); !status) return status;
  }
  if (execution_ != nullptr) count_past();
  execution_ = std::move(execution);
  execution_->observe(observer_);
  return Status::ok();
}

Status RecoveringExecution::join_ensemble() {
  Result<Ensemble::Member> member = recovery_->ensemble()->make();
  if (!member) return member.status();
  if (Status status = take(std::move(member->first)); !status) return status;
  others_ = std::move(member->others);
  return Status::ok();
}

/// Ends: each round has fewer devices.
Status RecoveringExecution::prepare(std::shared_ptr<const Program> program) {
  if (recovery_->ensemble() != nullptr) return join_ensemble();
  while (true) {
    Result<std::unique_ptr<Execution>> execution = Execution::create(program, use_);
    const Status status = execution ? take(std::move(*execution)) : execution.status();
    if (status) return status;
    if (program->lost_devices().empty()) return status;
    Result<std::shared_ptr<const Program>> next = recovery_->replace(program, std::nullopt);
    if (!next) return Status::error(status.message() + "; " + next.message());
    program = std::move(*next);
  }
}

Status RecoveringExecution::recover(const Status& failure) {
  const std::shared_ptr<const Program> failed = execution_->shared_program();
  if (!execution_->runner().device_failure() || failed->lost_devices().empty()) return failure;
  // An observer knows only the steps of this program.
  if (observer_) return failure;
  const size_t step = execution_->runner().device_failure()->step;
  const bool had_values = has_kept_values();
  Result<std::shared_ptr<const Program>> next = recovery_->replace(failed, step);
  if (!next) return Status::error(failure.message() + "; " + next.message());
  if (Status status = prepare(std::move(*next)); !status)
    return Status::error(failure.message() + "; " + status.message());
  if (had_values) return Status::error(failure.message() + kKeptAreLost);
  return Status::ok();
}

bool RecoveringExecution::has_kept_values() const {
  return std::any_of(execution_->kept().begin(), execution_->kept().end(),
                     [](const auto& kept) { return kept->has_value(); });
}

/// Before another execution takes over: what this one did still counts.
void RecoveringExecution::count_past() {
  past_retries_ = retries();
  past_link_bytes_ = link_bytes();
  past_device_time_ = device_time();
  past_retried_ = last_retried();
}

size_t RecoveringExecution::link_bytes() const {
  const size_t beside = others_ == nullptr ? 0 : others_->link_bytes();
  return past_link_bytes_ + execution_->runner().link_bytes().all() + beside;
}

Duration RecoveringExecution::device_time() const {
  const Duration beside = others_ == nullptr ? Duration() : others_->device_time();
  return past_device_time_ + execution_->device_time() + beside;
}

/// A failure is the end of all parts as they are.
template <typename Run>
Status RecoveringExecution::run_with_others(const Run& run) {
  others_->begin();
  const Status status = others_->end(run());
  if (status) return status;
  const bool had_values = has_kept_values();
  if (Status again = join_ensemble(); !again) return Status::error(status.message() + "; " + again.message());
  return had_values ? Status::error(status.message() + kKeptAreLost) : status;
}

Status RecoveringExecution::run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  if (others_ != nullptr) {
    return run_with_others([&] { return execution_->run(inputs, outputs); });
  }
  while (true) {
    const Status status = execution_->run(inputs, outputs);
    if (status) return status;
    if (Status recovered = recover(status); !recovered) return recovered;
  }
}

Result<std::vector<Tensor>> RecoveringExecution::run(const std::vector<Tensor>& inputs) {
  if (others_ != nullptr) {
    // Refuses invalid inputs before any part begins.
    if (Status status = execution_->check_inputs(inputs); !status) return status;
    Result<std::vector<Tensor>> outputs = std::vector<Tensor>();
    const Status status = run_with_others([&] {
      outputs = execution_->run(inputs);
      return outputs.status();
    });
    if (!status) return status;
    return outputs;
  }
  while (true) {
    Result<std::vector<Tensor>> outputs = execution_->run(inputs);
    if (outputs) return outputs;
    if (Status recovered = recover(outputs.status()); !recovered) return recovered;
  }
}

Status RecoveringExecution::keep(size_t output, size_t input) {
  Status status = execution_->keep(output, input);
  if (status) kept_.emplace_back(output, input);
  return status;
}

void RecoveringExecution::observe(StepRunner::Observer observer) {
  observer_ = std::move(observer);
  execution_->observe(observer_);
}

const std::string& RecoveringExecution::last_retried() const {
  const std::string& now = execution_->runner().last_retried();
  return now.empty() ? past_retried_ : now;
}

}  // namespace collage::runtime
