// SPDX-License-Identifier: Apache-2.0
#include "compiler/search/learned_constants.h"

#include <map>
#include <string>

#include "tests/unit/compiler/match/fixture.h"

namespace collage::search {
namespace {

using place::BuiltProblem;
using place::CandidateId;
using runtime::BufferId;

/// A product on each of two hosts: its weights take 256 bytes.
struct Products {
  Products() {
    setup.model("(%x: f32[1, 8]) -> (%y: f32[1, 8])",
                "%w = const random seed 1 : f32[8, 8]\n%a = MatMul(%x, %w)\n%y = Relu(%a)");
    setup.add_rules("cluster lab { host count 2 { memory 1 MiB link host bandwidth 1 GB/s latency 1 us } }\n");
    built = setup.problem();
  }

  CandidateId candidate(const std::string& node, const std::string& instance) const {
    for (CandidateId c : built->problem.candidates.ids()) {
      const place::Candidate& candidate = built->problem.candidates[c];
      const bool is_there = built->problem.owners[candidate.owner].instance == instance;
      if (is_there && setup.names(candidate.nodes) == node) return c;
    }
    ADD_FAILURE() << "nothing for " << node << " on " << instance;
    return {};
  }

  /// What a candidate keeps by the figures of a problem.
  static int64_t kept(const BuiltProblem& by, CandidateId c) {
    int64_t bytes = 0;
    for (place::ConstantId k : by.problem.candidates[c].constants) bytes += by.problem.constant_bytes[k];
    return bytes;
  }

  testing::Case setup;
  std::optional<BuiltProblem> built;
};

/// A plan that runs `a` at the first host, by a kernel that reads so many floats of its own.
runtime::Plan plan_with_packed(int64_t floats) {
  runtime::Plan plan;
  plan.spaces.push_back({"host", 0, 0, 0});
  plan.partitions.push_back({"p0", "host", "host", {"a"}, {}, {}});
  plan.buffers.push_back({"x", 0, false, 0, {runtime::DType::F32, {1, 8}}});
  plan.buffers.push_back({"p0.packed0", 0, true, 0, {runtime::DType::F32, {floats}}});
  runtime::KernelCall call;
  call.buffers = {0, 1};
  plan.steps.emplace_back(runtime::HostStep{0, {call}});
  return plan;
}

TEST(LearnedConstants, CandidatesKeepWhatTheirCodeKeepsOnEveryHost) {
  const Products products;
  ASSERT_TRUE(products.built);
  const CandidateId here = products.candidate("a", "host"), there = products.candidate("a", "host[1]");
  const CandidateId other = products.candidate("y", "host");
  LearnedConstants learned(products.setup.graph, *products.built);
  EXPECT_EQ(Products::kept(learned.built(), here), 256);
  // 100 floats are 400 bytes, which take 448.
  EXPECT_TRUE(learned.learn(plan_with_packed(100), {here, other}));
  EXPECT_EQ(Products::kept(learned.built(), here), 448);
  EXPECT_EQ(Products::kept(learned.built(), there), 448);
  EXPECT_EQ(Products::kept(learned.built(), other), 0);
  EXPECT_EQ(Products::kept(*products.built, here), 256);
  // What an outlined plan lacks, where it runs.
  using Bytes = std::map<std::string, int64_t>;
  EXPECT_EQ(learned.more({here, other}), (Bytes{{"host", 192}}));
  EXPECT_EQ(learned.more({there, other}), (Bytes{{"host[1]", 192}}));
  EXPECT_EQ(learned.more({other}), Bytes());
  // The same again is nothing new, nor is less.
  EXPECT_FALSE(learned.learn(plan_with_packed(100), {here, other}));
  EXPECT_FALSE(learned.learn(plan_with_packed(10), {here, other}));
  EXPECT_TRUE(learned.learn(plan_with_packed(200), {here, other}));
  EXPECT_EQ(Products::kept(learned.built(), there), 832);
  EXPECT_EQ(learned.more({there}), (Bytes{{"host[1]", 576}}));
}

TEST(LearnedConstants, OtherPartitionsTeachNothing) {
  const Products products;
  ASSERT_TRUE(products.built);
  LearnedConstants learned(products.setup.graph, *products.built);
  EXPECT_FALSE(learned.learn(plan_with_packed(100), {products.candidate("y", "host")}));
  EXPECT_EQ(&learned.built(), &*products.built);
  EXPECT_TRUE(learned.more({products.candidate("a", "host")}).empty());
}

}  // namespace
}  // namespace collage::search
