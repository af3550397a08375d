// SPDX-License-Identifier: Apache-2.0
// The command line of `collage-measure`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/target/code_target.h"

namespace collage::tools {

struct MeasureOptions {
  std::vector<std::string> rules;
  std::vector<std::string> targets;
  bool allow_code = false;
  bool allow_outside = false;
  int threads = 1;
  double timeout = 10;
  std::string numerics{codegen::row_of(codegen::Numerics::F32).name};
  std::string cpu;
  std::string cache;
  int64_t reference = 0;  ///< picoseconds

  // Options of a worker for other programs.
  std::string serve;                  ///< address of a server; empty: it measures for the program that started it
  std::vector<std::string> backends;  ///< that it measures; empty: all
  std::string name;                   ///< empty: the host's
  double lease = 15;                  ///< seconds
  bool once = false;                  ///< it ends when nothing waits
  bool quiet = false;
};

}  // namespace collage::tools
