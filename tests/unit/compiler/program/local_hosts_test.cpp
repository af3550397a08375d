// SPDX-License-Identifier: Apache-2.0
// Programs for several hosts in one process: they give the results of one host, and a failure at any host ends the run.
#include "compiler/program/local_hosts.h"

#include "compiler/plan/check.h"
#include "compiler/report/profile.h"
#include "tests/unit/compiler/plan/test_model.h"

namespace collage::program {
namespace {

using plan::test::Model;
using runtime::Tensor;

const ir::Format kOther("host[1]", "plain");

/// a = Relu(x) -> s = Neg(a), at the second host -> y = Add(s, a)
void fill(Model& model) {
  model.make_cluster(2);
  model.input("x", {2, 8});
  model.node("a", "Relu", {"x"});
  model.node("s", "Neg", {"a"});
  model.node("y", "Add", {"s", "a"});
  model.output("y");
  model.partition("host", "host", {"a"});
  model.partition("host", "host[1]", {"s"});
  model.partition("host", "host", {"y"});
  model.convert("a", {}, kOther);
  model.convert("s", kOther, {});
}

Program program_of(Model& model) {
  Program program{std::shared_ptr<codegen::Jit>(std::shared_ptr<void>(), &model.jit), model.build(), {}};
  program.parts = plan::cut_by_host(program.built, model.targets);
  return program;
}

TEST(LocalHosts, RunAsOneHostDoes) {
  Model model;
  fill(model);
  Program program = program_of(model);
  const auto executor = load_program(program, 1, model.diags);
  ASSERT_NE(executor, nullptr) << model.diags.render();
  const auto expected = ir::evaluate_graph(model.graph, model.inputs());
  ASSERT_TRUE(expected) << expected.message();
  for (int run = 0; run < 20; ++run) {
    const auto got = executor->run(model.inputs());
    ASSERT_TRUE(got) << got.message();
    EXPECT_TRUE(identical((*got)[0], (*expected)[0]));
  }
}

TEST(LocalHosts, ChecksSeeThePartitionsOfAllHosts) {
  Model model;
  fill(model);
  Program program = program_of(model);
  std::optional<LoadedHosts> loaded = load_hosts(program, 1, model.diags);
  ASSERT_TRUE(loaded) << model.diags.render();
  const std::vector<plan::CheckedPart> parts{{program.parts[0], *loaded->first},
                                             {program.parts[1], loaded->others->executor(1)}};
  const auto report = plan::check_parts(model.graph, parts, model.inputs());
  ASSERT_TRUE(report) << report.message();
  EXPECT_TRUE(report->passed()) << plan::print(*report);
  ASSERT_EQ(report->rows.size(), 4u);  // a, s, y, and y as the run returned it
  EXPECT_EQ(report->rows[0].value, "a");
  EXPECT_EQ(report->rows[1].partition, "p1");
  EXPECT_EQ(report->rows[1].value, "s");
  EXPECT_EQ(report->rows[2].value, "y");
}

TEST(LocalHosts, ProfilesTellWorkFromWaiting) {
  Model model;
  fill(model);
  Program program = program_of(model);
  std::optional<LoadedHosts> loaded = load_hosts(program, 1, model.diags);
  ASSERT_TRUE(loaded) << model.diags.render();
  const auto profile = report::profile_model({program.parts[1].plan, loaded->others->executor(1), *loaded->first},
                                             model.inputs(), model.diags);
  ASSERT_TRUE(profile) << model.diags.render();
  ASSERT_EQ(profile->rows.size(), 1u);
  EXPECT_EQ(profile->rows[0].what, "%s Neg");
}

TEST(LocalHosts, InputsThatDoNotFitFailBeforeAnyHostBegins) {
  Model model;
  fill(model);
  Program program = program_of(model);
  const auto executor = load_program(program, 1, model.diags);
  ASSERT_NE(executor, nullptr);
  EXPECT_FALSE(executor->run({plan::test::counting({3}, 0, 1)}));
  EXPECT_TRUE(executor->run(model.inputs()));
}

/// y = Gather(w, i), at the second host, which reads outside of w where i is too large.
TEST(LocalHosts, AFailureAtOneHostIsThatOfAll) {
  Model model;
  model.make_cluster(2);
  model.graph.add_input("i", {runtime::DType::I64, {1}});
  model.constant("w", plan::test::counting({4}, 0, 1));
  model.node("y", "Gather", {"w", "i"});
  model.output("y");
  model.partition("host", "host[1]", {"y"});
  model.convert("i", {}, kOther);
  model.convert("y", kOther, {});
  Program program = program_of(model);
  const auto executor = load_program(program, 1, model.diags);
  ASSERT_NE(executor, nullptr) << model.diags.render();
  Tensor index(runtime::DType::I64, {1});
  index.as<int64_t>()[0] = 3;
  const auto right = executor->run({index});
  ASSERT_TRUE(right) << right.message();
  EXPECT_EQ((*right)[0].as<float>()[0], 3);
  index.as<int64_t>()[0] = 4;
  const auto wrong = executor->run({index});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.message().find("partition `p0` on host[1]"), std::string::npos) << wrong.message();
  // What is lost stays lost, and nothing hangs.
  index.as<int64_t>()[0] = 3;
  EXPECT_FALSE(executor->run({index}));
}

}  // namespace
}  // namespace collage::program
