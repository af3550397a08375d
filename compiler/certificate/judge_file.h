// SPDX-License-Identifier: Apache-2.0
// A certificate file, read and judged.
#pragma once

#include <string>

namespace collage::certificate {

struct FileJudgement {
  enum class Verdict {
    Refused,
    NotProven,  ///< it holds, and claims more than it proves
    Proven,
  };
  Verdict verdict = Verdict::Refused;
  std::string report;       ///< what holds
  std::string diagnostics;  ///< why it is refused
};

FileJudgement judge_file(const std::string& path);

}  // namespace collage::certificate
