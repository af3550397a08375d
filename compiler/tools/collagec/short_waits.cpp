// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/short_waits.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace collage::tools {

void restart_with_short_waits(char** argv) {
  constexpr const char* kSpins = "GOMP_SPINCOUNT";
  if (getenv(kSpins) != nullptr || getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && setenv(kSpins, "1000", 0) == 0) execv(program.c_str(), argv);
}

}  // namespace collage::tools
