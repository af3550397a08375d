// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/executor.h"

namespace collage::runtime {

Result<std::unique_ptr<Executor>> Executor::load(const Plan& plan, const Code& code, int threads) {
  const std::shared_ptr<const Code> borrowed(std::shared_ptr<void>(), &code);
  Result<std::shared_ptr<const Program>> program = Program::load(plan, borrowed, threads);
  if (!program) return program.status();
  Result<std::unique_ptr<Execution>> execution = Execution::create(std::move(*program));
  if (!execution) return execution.status();
  return std::make_unique<Executor>(std::move(*execution));
}

std::vector<std::string> Executor::device_log() const {
  std::vector<std::string> lines;
  const Program& program = execution_->program();
  for (size_t d = 0; d < program.device_count(); ++d) {
    for (std::string& line : program.device(static_cast<int>(d)).log()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace collage::runtime
