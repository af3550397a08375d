// SPDX-License-Identifier: Apache-2.0
// Placed models: what the text says is what the Placement holds, it prints as itself, and broken ones get a diagnostic
// at the right place.
#include <gtest/gtest.h>

#include "compiler/ir/placement/verify.h"
#include "tests/unit/compiler/sema/fixture.h"

namespace collage::testing {
namespace {

using runtime::Duration;

const ir::Format kNpu{"npu[0]", "plain"};
const ir::Format kNpuNhwc{"npu[0]", "NHWC"};

const char* const kPlaced =
    "model @m(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8], %a: f32[1, 3, 8, 8]) {\n"
    "  %w = const random seed 1 : f32[3, 3, 1, 1]\n"
    "  %a = partition @p0 on host(host) rule \"relu\" cost 250ps (%x) -> (host) {\n"
    "    %a = Relu(%x) : f32[1, 3, 8, 8]\n"
    "  }\n"
    "  %a.npu0 = convert %a to npu[0] cost 8us : f32[1, 3, 8, 8]\n"
    "  %a.npu0.NHWC = convert %a.npu0 to npu[0] NHWC cost 1.5us : f32[1, 3, 8, 8]\n"
    "  %y.npu0.NHWC = partition @\"p 1\" on npu(npu[0]) rule \"conv\", \"relu\" cost 41us (%a.npu0.NHWC) -> (npu[0] "
    "NHWC) {\n"
    "    %c = Conv(%a.npu0.NHWC, %w) : f32[1, 3, 8, 8]\n"
    "    %y.npu0.NHWC = Relu(%c) : f32[1, 3, 8, 8] on npu\n"
    "  }\n"
    "  %y = convert %y.npu0.NHWC to host cost 9us : f32[1, 3, 8, 8]\n"
    "}\n";

TEST(Placed, HoldsWhatTheTextSays) {
  Loaded loaded = load(kPlaced);
  ASSERT_TRUE(loaded.model) << loaded.errors;
  const ir::Graph& graph = loaded.model->graph;
  const ir::Placement& placement = loaded.model->placement;
  ir::verify(graph);
  ir::ValueId a = graph.find_value("a");
  ir::ValueId y = graph.find_value("y");
  ASSERT_TRUE(y.is_valid());
  EXPECT_FALSE(graph.find_value("y.npu0.NHWC").is_valid());
  ASSERT_EQ(placement.partitions.size(), 2u);
  const ir::Partition& second = placement.partitions[1];
  EXPECT_EQ(second.name, "p 1");
  EXPECT_EQ(second.backend, "npu");
  EXPECT_EQ(second.instance, "npu[0]");
  EXPECT_EQ(ir::rule_names(second), (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(second.cost, Duration::picoseconds(41'000'000));
  EXPECT_EQ(second.nodes, (std::vector<ir::NodeId>{ir::NodeId(1), ir::NodeId(2)}));
  EXPECT_EQ(second.inputs, (std::vector<ir::BoundaryValue>{{a, kNpuNhwc}}));
  EXPECT_EQ(second.outputs, (std::vector<ir::BoundaryValue>{{y, kNpuNhwc}}));
  ASSERT_EQ(placement.conversions.size(), 3u);
  EXPECT_EQ(placement.conversions[1].from, kNpu);
  EXPECT_EQ(placement.conversions[1].to, kNpuNhwc);
  EXPECT_EQ(placement.conversions[2].value, y);
  EXPECT_EQ(placement.conversions[2].from, kNpuNhwc);
  EXPECT_EQ(placement.conversions[2].to, ir::kHostPlain);
}

TEST(Placed, PrintsAsItself) {
  Loaded loaded = load(kPlaced);
  EXPECT_EQ(loaded.printed(), kPlaced);
}

TEST(Placed, HostsOfAClusterPrintAsThemselves) {
  const char* const text =
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  %x.host1 = convert %x to host[1] cost 9us : f32[4]\n"
      "  %y.host1 = partition @p0 on onednn(host[1]) rule \"relu\" cost 1us (%x.host1) -> (host[1]) {\n"
      "    %y.host1 = Relu(%x.host1) : f32[4]\n"
      "  }\n"
      "  %y = convert %y.host1 to host cost 9us : f32[4]\n"
      "}\n";
  Loaded loaded = load(text);
  ASSERT_TRUE(loaded.model) << loaded.errors;
  const ir::Placement& placement = loaded.model->placement;
  EXPECT_EQ(placement.partitions.at(0).instance, "host[1]");
  EXPECT_EQ(placement.partitions.at(0).inputs.at(0).format, ir::Format("host[1]"));
  EXPECT_EQ(placement.conversions.at(1).to, ir::kHostPlain);
  EXPECT_EQ(loaded.printed(), text);
}

TEST(Placed, TheFirstHostHasOneSpelling) {
  Loaded loaded = load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  %y = partition @p0 on onednn(host[0]) cost 1us (%x) -> (host[0]) {\n"
      "    %y = Relu(%x) : f32[4]\n"
      "  }\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  EXPECT_EQ(loaded.model->placement.partitions.at(0).instance, "host");
  EXPECT_NE(loaded.printed().find("onednn(host) "), std::string::npos) << loaded.printed();
  EXPECT_NE(loaded.printed().find("-> (host) {"), std::string::npos) << loaded.printed();
}

TEST(Placed, StoragesPrintAsThemselves) {
  const char* const text =
      "model @m(%x: f32[1, 3, 8, 8]) -> (%y: f32[1, 3, 8, 8]) {\n"
      "  %x.f16 = convert %x to host f16 cost 1us : f32[1, 3, 8, 8]\n"
      "  %x.npu = convert %x.f16 to npu[0] f16 cost 8us : f32[1, 3, 8, 8]\n"
      "  %a = partition @p0 on npu(npu[0]) cost 1us (%x.npu) -> (npu[0] NHWC i8 scale 0.05 zero -3) {\n"
      "    %a = Relu(%x.npu) : f32[1, 3, 8, 8]\n"
      "  }\n"
      "  %a.host = convert %a to host NHWC i8 scale 0.05 zero -3 cost 1us : f32[1, 3, 8, 8]\n"
      "  %a.f32 = convert %a.host to host NHWC cost 1us : f32[1, 3, 8, 8]\n"
      "  %y.host.NHWC = partition @p1 on host(host) cost 1us (%a.f32) -> (host NHWC) {\n"
      "    %y.host.NHWC = Relu(%a.f32) : f32[1, 3, 8, 8]\n"
      "  }\n"
      "  %y = convert %y.host.NHWC to host cost 1us : f32[1, 3, 8, 8]\n"
      "}\n";
  Loaded loaded = load(text);
  ASSERT_TRUE(loaded.model) << loaded.errors;
  const runtime::Storage quantised{runtime::StorageType::I8, runtime::Quantisation{0.05, -3}};
  EXPECT_EQ(loaded.model->placement.partitions[0].outputs[0].format, (ir::Format{"npu[0]", "NHWC", quantised}));
  EXPECT_EQ(loaded.printed(), text);
  // The storage that a value has anyway is none.
  Loaded own = load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  %x.d = convert %x to npu[0] plain f32\n"
      "  %y.d = partition @p on npu(npu[0]) (%x.d) { %y.d = Relu(%x.d) }\n"
      "  %y = convert %y.d to host\n"
      "}\n");
  ASSERT_TRUE(own.model) << own.errors;
  EXPECT_EQ(own.model->placement.conversions[0].to, kNpu);
}

// A search names conversions as it likes and lists partitions in any order: print -> parse -> print still holds.
TEST(Placed, PrintsAPlacementThatWasNeverText) {
  Loaded loaded = load(kPlaced);
  ASSERT_TRUE(loaded.model) << loaded.errors;
  ir::Placement placement = loaded.model->placement;
  std::swap(placement.partitions[0], placement.partitions[1]);
  std::swap(placement.conversions[0], placement.conversions[1]);
  placement.conversions[2].name = "y.host";
  EXPECT_EQ(print(loaded.model->graph, placement), kPlaced);
}

TEST(Placed, OutputReadOnTheDeviceToo) {
  Loaded loaded = load(
      "model @m(%x: f32[4]) -> (%y: f32[4], %z: f32[4]) {\n"
      "  %x.d = convert %x to npu[0] cost 1us\n"
      "  %y.d, %z.d = partition @p on npu(npu[0]) (%x.d) { %y.d = Relu(%x.d)\n %z.d = Neg(%y.d) }\n"
      "  %y = convert %y.d to host cost 1us\n"
      "  %z = convert %z.d to host cost 1us\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  std::string printed = loaded.printed();
  EXPECT_NE(printed.find("  %y.npu0, %z.npu0 = partition @p on npu(npu[0]) cost 0s (%x.d) -> (npu[0], npu[0]) {\n"),
            std::string::npos)
      << printed;
  EXPECT_EQ(load(printed).printed(), printed);
}

TEST(Placed, PartlyPlaced) {
  Loaded loaded = load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  %a = Relu(%x)\n"
      "  %b = partition @p on npu(npu[0]) (%a) { %b = Neg(%a) }\n"
      "  %y = Relu(%b)\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  EXPECT_EQ(loaded.model->placement.partitions[0].inputs[0].format, kNpu);
  std::string printed = loaded.printed();
  EXPECT_EQ(load(printed).printed(), printed);
}

TEST(Placed, WithoutBodies) {
  Loaded loaded = load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  partition @p0 on npu(npu[0]) rule \"r\" cost 2us\n"
      "  partition @p1 on host(host)\n"
      "  %a = Relu(%x) in @p0\n"
      "  %b = Relu(%x) in @p1\n"
      "  %y = Add(%a, %b) in @p0\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  EXPECT_EQ(loaded.model->placement.conversions.size(), 3u);  // x and b to the device, y back
  std::string printed = loaded.printed();
  EXPECT_EQ(load(printed).printed(), printed);
}

TEST(Placed, NobodyReadsThePartition) {
  Loaded loaded = load(
      "model @m(%x: f32[4]) -> (%y: f32[4]) {\n"
      "  _ = partition @dead on host(host) (%x) { %d = Relu(%x) }\n"
      "  %y = partition @p on host(host) (%x) { %y = Neg(%x) }\n"
      "}\n");
  ASSERT_TRUE(loaded.model) << loaded.errors;
  std::string printed = loaded.printed();
  EXPECT_EQ(load(printed).printed(), printed);
}

struct Broken {
  const char* body;     ///< starts on line 2
  const char* message;  ///< place and text
};

class BrokenPlacement : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenPlacement, IsToldWhere) {
  Loaded loaded = load(model_text(GetParam().body));
  EXPECT_FALSE(loaded.model);
  EXPECT_NE(loaded.errors.find(GetParam().message), std::string::npos) << loaded.errors;
}

INSTANTIATE_TEST_SUITE_P(
    , BrokenPlacement,
    ::testing::Values(
        Broken{"%a = partition @p on host(host) (%x) { %a = Relu(%x) }\n%b = partition @q on host(host) (%x) { %a = "
               "Relu(%x) }\n"
               "%y = Relu(%a)",
               "m.ir:3:40: error: `%a` is computed in partition `@p` and again in `@q` [CG0403]"},
        Broken{"partition @q on host(host)\n%y = partition @p on host(host) (%x) { %y = Relu(%x) in @q }",
               "m.ir:3:57: error: a node of partition `@p` is also assigned to `@q` [CG0403]"},
        Broken{"%a = partition @p on host(host) (%x, %b) { %a = Add(%x, %b) }\n"
               "%b = partition @q on host(host) (%a) { %b = Relu(%a) }\n%y = Relu(%b)",
               "m.ir:2:38: error: partition `@p` needs `%b`, which in turn needs a result of `@p`: neither can run "
               "first [CG0404]"},
        Broken{"partition @p on host(host)\npartition @q on host(host)\n%a = Relu(%x) in @p\n%b = Relu(%a) in @q\n"
               "%y = Add(%a, %b) in @p",
               "m.ir:2:11: error: partitions depend on each other in a cycle: `@p`, `@q` [CG0404]"},
        Broken{"partition @p on host(host)\n%a = Relu(%x) in @p\n%b = Relu(%a)\n%y = Add(%a, %b) in @p",
               "m.ir:2:11: error: partitions depend on each other in a cycle: `@p` [CG0404]"},
        Broken{"%y = partition @p on npu(npu[0]) (%x) { %y = Relu(%x) }",
               "m.ir:2:35: error: partition `@p` runs on `npu[0]` and `%x` is in `host` [CG0406]"},
        Broken{"%d = convert %x to npu[0]\n%y = partition @p on npu(npu[0]) (%d) { %y = Relu(%d) }",
               "m.ir:1:35: error: output `%y` is in `npu[0]`; a model's outputs are plain host tensors [CG0406]"},
        Broken{"%y = partition @p on host(host) (%x) -> (host NHWC) { %y = Relu(%x) }",
               "error: output `%y` is in `host NHWC`"},
        Broken{"%y = partition @p on host(host) (%x) -> (host NWC) { %y = Relu(%x) }",
               "m.ir:2:47: error: `f32[1, 3, 8, 8]` has no layout `NWC` [CG0406]"},
        Broken{"%y = partition @p on host(host) (%x) -> (npu[0]) { %y = Relu(%x) }",
               "cannot leave a result in `npu[0]` [CG0406]"},
        Broken{"%d = convert %x to npu[0]\n%e = convert %x to npu[0]\n%y = Relu(%x)",
               "m.ir:3:20: error: `%d` is in `npu[0]` already [CG0406]"},
        Broken{"%d = convert %x to host NCHW\n%y = Relu(%x)", "m.ir:2:20: error: `%x` is in `host` already [CG0406]"},
        Broken{"%d = convert %x to npu[0]\n%y = Relu(%d)", "m.ir:3:11: error: `%d` is a converted value"},
        Broken{"%w = const splat 1 : f32[2]\n%d = convert %w to npu[0]\n%y = Relu(%x)", "`%w` is a constant"},
        Broken{"%a = Relu(%x)\n%y = partition @p on host(host) (%x) { %y = Add(%x, %a) }",
               "m.ir:3:53: error: `%a` is not among the inputs of partition `@p` [CG0103]"},
        Broken{"%a = partition @p on host(host) (%x) { %t = Relu(%x)\n%a = Relu(%t) }\n%y = Relu(%t)",
               "m.ir:4:11: error: `%t` is inside partition `@p` [CG0103]"},
        Broken{"%y = partition @p on host(host) (%x) { %a = Relu(%x) }",
               "no operator in partition `@p` computes its result `%y`"},
        Broken{"_ = partition @p on host(host) () { }\n%y = Relu(%x)",
               "m.ir:2:15: error: partition `@p` has no operator [CG0206]"},
        Broken{"partition @p on host(host)\npartition @p on host(host)\n%y = Relu(%x) in @p",
               "m.ir:3:11: error: partition `@p` is declared twice [CG0104]"},
        Broken{"partition @part on host(host)\n%y = Relu(%x) in @prt", "did you mean `part`?"},
        Broken{"%a = Relu(%x)\n%y = partition @p on host(host) (%x, %a) { %y = Relu(%x) }",
               "m.ir:3:16: error: partition `@p` lists the input `%a`, which none of its operators reads [CG0206]"}));

// Placements that no text can say: a search or a package could hand them over.
class VerifyPlacement : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = sources_.add("m.ir", kPlaced);
    support::Diagnostics diags(sources_);
    auto model = sema::load_model_text(sources_, file_, ".", diags);
    ASSERT_TRUE(model) << diags.render();
    graph_ = std::move(model->graph);
    placement_ = std::move(model->placement);
  }
  std::string verify() {
    support::Diagnostics diags(sources_);
    bool is_valid = ir::verify(graph_, placement_, diags);
    EXPECT_EQ(is_valid, !diags.has_errors());
    return diags.render();
  }

  support::SourceManager sources_;
  support::FileId file_;
  ir::Graph graph_;
  ir::Placement placement_;
};

TEST_F(VerifyPlacement, AcceptsWhatHolds) {
  EXPECT_EQ(verify(), "");
}

TEST_F(VerifyPlacement, Overlap) {
  placement_.partitions[1].nodes.insert(placement_.partitions[1].nodes.begin(), ir::NodeId(0));
  EXPECT_NE(verify().find("error: `%a` is in partition `@p0` and in partition `@p 1` [CG0403]"), std::string::npos)
      << verify();
}

TEST_F(VerifyPlacement, MissingConversion) {
  placement_.conversions.erase(placement_.conversions.begin());
  std::string errors = verify();
  EXPECT_NE(errors.find("`%a` is converted from `npu[0]`, where it does not exist [CG0406]"), std::string::npos)
      << errors;
  EXPECT_NE(errors.find("partition `@p 1` reads `%a` in `npu[0] NHWC`, where it does not exist [CG0406]"),
            std::string::npos);
}

TEST_F(VerifyPlacement, OutputNotBroughtHome) {
  placement_.conversions.pop_back();
  EXPECT_NE(verify().find("output `%y` exists in `npu[0] NHWC` only"), std::string::npos) << verify();
}

TEST_F(VerifyPlacement, ForgottenBoundary) {
  placement_.partitions[1].inputs.clear();
  EXPECT_NE(verify().find("are not the values that it reads [CG0206]"), std::string::npos) << verify();
}

}  // namespace
}  // namespace collage::testing
