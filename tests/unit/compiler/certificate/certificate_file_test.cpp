// SPDX-License-Identifier: Apache-2.0
// The text of a certificate: what is written reads back as it was, and what text is refused for.
#include <gtest/gtest.h>

#include "tests/unit/compiler/certificate/certificate_sketch.h"

namespace collage::certificate {
namespace {

using place::ConstantId;
using place::NodeId;
using place::OwnerId;
using place::ProblemValueId;

/// What reading says of the text after one change in it.
std::string changed(const std::string& before, const std::string& after) {
  std::string text = to_json(chain_certificate());
  const size_t at = text.find(before);
  if (at == std::string::npos) return "`" + before + "` is not there";
  text.replace(at, before.size(), after);
  return fault(read_certificate(text));
}

TEST(CertificateFile, ReadsBackAsItWasWritten) {
  const CertificateFile file = chain_certificate();
  const runtime::Result<CertificateFile> read = read_certificate(to_json(file));
  ASSERT_EQ(fault(read), "");
  EXPECT_EQ(to_json(*read), to_json(file));
  EXPECT_EQ(read->names.nodes, file.names.nodes);
  EXPECT_EQ(read->names.values, file.names.values);
  EXPECT_EQ(read->problem.node_count, 3u);
  EXPECT_EQ(read->problem.owners[1].instance, "npu[0]");
  EXPECT_EQ(read->problem.formats[1].space, "npu[0]");
  EXPECT_EQ(read->problem.candidates[4].nodes, (std::vector<NodeId>{1}));
  EXPECT_EQ(read->problem.candidates[4].cost, place::ps(3));
  EXPECT_EQ(read->problem.candidates[4].reads, file.problem.candidates[4].reads);
  EXPECT_EQ(read->problem.candidates[4].writes, file.problem.candidates[4].writes);
  EXPECT_EQ(read->problem.values[3].conversions.size(), 2u);
  EXPECT_TRUE(read->problem.values[3].is_output);
  EXPECT_EQ(read->solution.chosen, file.solution.chosen);
  EXPECT_EQ(read->solution.cost, place::ps(18));
  EXPECT_TRUE(read->solution.optimal);
  EXPECT_EQ(read->proof.order, file.proof.order);
  EXPECT_EQ(read->proof.bound, place::ps(18));
}

TEST(CertificateFile, LimitsReadBack) {
  CertificateFile file = chain_certificate();
  file.proof = {};
  place::Owner& owner = file.problem.owners[1];
  owner.max_partitions = 7;
  owner.memory = 4096;
  owner.conflicts = {0};
  file.problem.owners[0].joins = place::ps(2);
  file.problem.constant_bytes = {100, 200};
  file.problem.values[2].bytes = 64;
  file.problem.candidates[0].constants = {0, 1};
  file.problem.candidates[0].may_join = true;
  file.problem.candidates[1].cost = place::Cost::max();
  file.problem.candidates[2].kept = {3};
  file.solution.region = {1, 1, 2};
  const runtime::Result<CertificateFile> read = read_certificate(to_json(file));
  ASSERT_EQ(fault(read), "");
  EXPECT_EQ(read->problem.owners[1].max_partitions, 7);
  EXPECT_EQ(read->problem.owners[1].memory, 4096);
  EXPECT_EQ(read->problem.owners[1].conflicts, (std::vector<OwnerId>{0}));
  EXPECT_EQ(read->problem.owners[0].joins, place::ps(2));
  EXPECT_FALSE(read->problem.owners[1].joins.has_value());
  EXPECT_EQ(read->problem.constant_bytes, file.problem.constant_bytes);
  EXPECT_EQ(read->problem.values[2].bytes, 64);
  EXPECT_EQ(read->problem.candidates[0].constants, (std::vector<ConstantId>{0, 1}));
  EXPECT_TRUE(read->problem.candidates[0].may_join);
  EXPECT_GE(read->problem.candidates[1].cost, place::Cost::max());
  EXPECT_EQ(read->problem.candidates[2].kept, (std::vector<ProblemValueId>{3}));
  EXPECT_EQ(read->solution.region, file.solution.region);
  EXPECT_FALSE(read->proof.exists());
}

TEST(CertificateFile, WhatItIsAboutReadsBack) {
  CertificateFile file = chain_certificate();
  file.about = {"11", {{"npu.rules", "22"}}, {{"--forbid", {"a", "b"}}}, {"nodes do not run there"}, true, "33"};
  const runtime::Result<CertificateFile> read = read_certificate(to_json(file));
  ASSERT_EQ(fault(read), "");
  EXPECT_EQ(read->about.model, "11");
  EXPECT_EQ(read->about.files, file.about.files);
  EXPECT_EQ(read->about.options, file.about.options);
  EXPECT_EQ(read->about.words, file.about.words);
  EXPECT_TRUE(read->about.is_measured);
  EXPECT_EQ(read->about.problem, "33");
}

TEST(CertificateFile, OddNamesReadBack) {
  CertificateFile file = chain_certificate();
  file.names.nodes[0] = "a \"quoted\" \\ line\n";
  const runtime::Result<CertificateFile> read = read_certificate(to_json(file));
  ASSERT_EQ(fault(read), "");
  EXPECT_EQ(read->names.nodes[0], file.names.nodes[0]);
}

TEST(CertificateFile, TheHashOfAProblemIsNotThatOfItsPlan) {
  CertificateFile file = chain_certificate();
  const std::string before = problem_hash(file);
  file.solution.chosen = {0, 1, 2};
  EXPECT_EQ(problem_hash(file), before);
  file.problem.candidates[0].cost = place::ps(11);
  EXPECT_NE(problem_hash(file), before);
}

TEST(CertificateFile, OtherTextsAreNone) {
  EXPECT_EQ(fault(read_certificate("")), "it is not JSON");
  EXPECT_EQ(fault(read_certificate("{")), "it is not JSON");
  EXPECT_EQ(fault(read_certificate("[]")), "it is no certificate of `collagec --certificate`");
  EXPECT_EQ(fault(read_certificate("{\"cost\":3}")), "it is no certificate of `collagec --certificate`");
}

TEST(CertificateFile, OneVersionIsRead) {
  EXPECT_EQ(changed("certificate\": 5", "certificate\": 4"), "it is of version 4, only 5 can be read");
  EXPECT_EQ(changed("certificate\": 5", "certificate\": 6"), "it is of version 6, only 5 can be read");
}

TEST(CertificateFile, IndicesPointAtSomething) {
  EXPECT_EQ(changed("\"chosen\":[3,4,5]", "\"chosen\":[3,4,6]"), "plan: `chosen` has 6, need 0 to 5");
  EXPECT_EQ(changed("\"chosen\":[3,4,5]", "\"chosen\":[-1]"), "plan: `chosen` has -1, need 0 to 5");
  EXPECT_EQ(changed("\"writer\":2", "\"writer\":3"), "values[3]: `writer` has 3, need -1 to 2");
  EXPECT_EQ(changed("\"host_plain\": 0", "\"host_plain\": 2"), "the file: `host_plain` has 2, need 0 to 1");
  EXPECT_EQ(changed("\"constants\": []", "\"constants\": [], \"constants\": [-1]"),
            "the file: `constants` has -1, need 0 to 1152921504606846976");
}

TEST(CertificateFile, NumbersAreWholeAndCanBeAddedUp) {
  EXPECT_EQ(changed("\"cost\":18", "\"cost\":18.5"), "plan: `cost` is not a number that can stand there");
  EXPECT_EQ(changed("\"cost\":18", "\"cost\":\"18\""), "plan: `cost` is not a number that can stand there");
  EXPECT_EQ(changed("\"cost\":18", "\"cost\":18446744073709551615"),
            "plan: `cost` is not a number that can stand there");
  EXPECT_EQ(changed("\"cost\":18", "\"cost\":1152921504606846977"),
            "plan: `cost` is not a number that can stand there");
  EXPECT_EQ(changed("\"cost\":18", "\"cost\":1152921504606846976"), "");
}

TEST(CertificateFile, PartsThatAreMissingOrOfAnotherKind) {
  EXPECT_EQ(changed("\"plan\":", "\"plans\":"), "the file: `plan` is missing");
  EXPECT_EQ(changed("\"optimal\":true", "\"optimal\":1"), "claim: `optimal` is neither true nor false");
  EXPECT_EQ(changed("\"backend\":\"host\"", "\"backend\":5"), "owners[0]: `backend` is not a text");
  EXPECT_EQ(changed("\"chosen\":[3,4,5]", "\"chosen\":3"), "plan: `chosen` is not a list");
}

}  // namespace
}  // namespace collage::certificate
