// SPDX-License-Identifier: Apache-2.0
#include "runtime/tools/command_line/short_waits.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "runtime/pool/short_waits.h"

namespace collage::tools {

void restart_with_short_waits(char** argv) {
  if (!runtime::wants_short_waits() || argv[0] == nullptr) return;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || program.filename() != std::filesystem::path(argv[0]).filename()) return;
  if (setenv(runtime::kSpinVariable, runtime::kSpins, 0) == 0) execv(program.c_str(), argv);
}

}  // namespace collage::tools
