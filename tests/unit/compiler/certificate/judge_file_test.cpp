// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/judge_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using Verdict = FileJudgement::Verdict;

/// A file with this text, judged.
FileJudgement judged(const std::string& text) {
  const std::string path = ::testing::TempDir() + "judge_file_test.certificate";
  std::ofstream(path) << text;
  return judge_file(path);
}

TEST(JudgeFile, WhatIsShownIsProven) {
  const FileJudgement judgement = judged(to_json(chain_certificate()));
  EXPECT_EQ(judgement.verdict, Verdict::Proven);
  EXPECT_EQ(judgement.diagnostics, "");
  EXPECT_NE(judgement.report.find("cost        18 ps\nbound       18 ps, which is the cost: proven here"),
            std::string::npos)
      << judgement.report;
}

TEST(JudgeFile, AClaimWithoutAProofHoldsAndIsNotProven) {
  CertificateFile file = chain_certificate();
  file.proof = {};
  const FileJudgement judgement = judged(to_json(file));
  EXPECT_EQ(judgement.verdict, Verdict::NotProven);
  EXPECT_NE(judgement.report.find("bound       none: there is no proof\nclaimed     18 ps"), std::string::npos)
      << judgement.report;
}

TEST(JudgeFile, WhatIsWrongIsRefused) {
  CertificateFile file = chain_certificate();
  file.solution.cost = file.solution.bound = place::ps(17);
  const FileJudgement judgement = judged(to_json(file));
  EXPECT_EQ(judgement.verdict, Verdict::Refused);
  EXPECT_NE(judgement.diagnostics.find("error: the plan costs 18ps, the file says 17ps"), std::string::npos)
      << judgement.diagnostics;
}

TEST(JudgeFile, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(judged("{}").verdict, Verdict::Refused);
  const FileJudgement missing = judge_file("/nowhere/at/all");
  EXPECT_EQ(missing.verdict, Verdict::Refused);
  EXPECT_NE(missing.diagnostics.find("cannot read"), std::string::npos) << missing.diagnostics;
}

}  // namespace
}  // namespace collage::certificate
