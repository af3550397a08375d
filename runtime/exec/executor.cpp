// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/executor.h"

namespace collage::runtime {

Result<std::unique_ptr<Executor>> Executor::load(const Plan& plan, const Code& code, int threads, LoadOptions options,
                                                 std::shared_ptr<Replanner> replanner) {
  const std::shared_ptr<const Code> borrowed(std::shared_ptr<void>(), &code);
  Result<std::shared_ptr<Recovery>> recovery =
      Recovery::open(plan, borrowed, threads, std::move(options), std::move(replanner));
  if (!recovery) return recovery.status();
  Result<std::unique_ptr<RecoveringExecution>> execution = RecoveringExecution::create(std::move(*recovery));
  if (!execution) return execution.status();
  return std::make_unique<Executor>(std::move(*execution));
}

Result<std::vector<Tensor>> Executor::run(const std::vector<Tensor>& inputs) {
  if (companion_ == nullptr) return execution_->run(inputs);
  // Refuses invalid inputs before any part begins.
  if (Status status = execution_->current().check_inputs(inputs); !status) return status;
  companion_->begin();
  Result<std::vector<Tensor>> outputs = execution_->run(inputs);
  if (Status status = companion_->end(outputs.status()); !status) return status;
  return outputs;
}

std::vector<std::string> Executor::device_log() const {
  std::vector<std::string> lines;
  const Program& program = execution_->current().program();
  for (size_t d = 0; d < program.device_count(); ++d) {
    for (std::string& line : program.device(static_cast<int>(d)).log()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace collage::runtime
