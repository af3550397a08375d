// SPDX-License-Identifier: Apache-2.0
// Every class of kernels and the example networks, in each dtype: code is made for many processors, none is refused.
// Run alone it prints the numbers. The unit tests of code generation do the same for their graphs (make_code.h).
#include <gtest/gtest.h>

#include "compiler/compilation/compilation.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/sema/model/rule_test_model.h"
#include "tests/accuracy/cases.h"
#include "tests/accuracy/in_dtype.h"
#include "tests/unit/compiler/codegen/make_code.h"

namespace collage::testing {
namespace {

using codegen_test::CodeMaker;
using codegen_test::processors_to_try;
using ir::DType;

constexpr DType kDtypes[] = {DType::F32, DType::F64, DType::F16, DType::BF16};

/// Images also with channels last.
std::vector<codegen::LowerOptions> options_of(const ir::Graph& graph) {
  std::vector<codegen::LowerOptions> all(1);
  codegen::LowerOptions last;
  for (const auto* values : {&graph.inputs(), &graph.outputs()}) {
    for (ir::ValueId value : *values) {
      if (graph.value(value).type.shape.size() == 4) last.layouts[value] = "NHWC";
    }
  }
  if (last.layouts.empty()) return all;
  all.push_back(last);
  for (const char* generator : {"winograd", "amx_gemm"}) {
    all.push_back(last);
    for (ir::NodeId node : graph.node_ids()) all.back().generators[node] = generator;
  }
  return all;
}

class Processors : public ::testing::Test {
 protected:
  void make_in_each_dtype(const ir::Graph& graph, const std::string& name) {
    for (DType dtype : kDtypes) {
      const std::optional<ir::Graph> made = in_dtype(graph, dtype);
      if (!made) continue;  // the operator has no such form
      for (const codegen::LowerOptions& options : options_of(*made)) {
        EXPECT_EQ(maker_.make(*made, options), "") << name << " in " << runtime::name_of(dtype);
      }
    }
  }

  void TearDown() override { std::fputs(maker_.table().c_str(), stdout); }

  CodeMaker maker_{processors_to_try()};
};

TEST_F(Processors, EveryClassOfKernels) {
  std::vector<AccuracyCase> cases = kernel_cases();
  for (AccuracyCase& one : pointwise_cases()) cases.push_back(std::move(one));
  for (const AccuracyCase& one : cases) {
    ir::RuleTest test;
    test.model = one.statements;
    for (const auto* values : {&one.inputs, &one.weights}) {
      for (const auto& [name, shape] : *values) test.inputs.emplace_back(name, ir::TensorType{DType::F32, shape});
    }
    for (const auto& [name, shape] : one.weights) test.constants.push_back(name);
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    const std::optional<ir::Graph> graph = sema::build_test_model(sources, one.kind, test, diags);
    ASSERT_TRUE(graph) << diags.render();
    make_in_each_dtype(*graph, one.kind);
  }
}

// Each dtype to each other, along rows of full vectors and with a rest.
TEST_F(Processors, EveryCast) {
  constexpr int64_t kMost = 16;  // of ONNX's numbers, bf16
  for (int64_t from = 1; from <= kMost; ++from) {
    for (int64_t to = 1; to <= kMost; ++to) {
      if (!runtime::dtype_of_onnx(from) || !runtime::dtype_of_onnx(to)) continue;
      ir::Graph graph;
      const ir::ValueId x = graph.add_input("x", {*runtime::dtype_of_onnx(from), {3, 37}});
      ir::AttrMap attrs;
      attrs.set("to", to);
      support::SourceManager sources;
      support::Diagnostics diags(sources);
      ir::NodeSource source;
      source.where = "cast";
      const ir::NodeId node = ir::append_inferred(graph, *ir::find_op("Cast"), {x}, attrs, {"y"}, source, diags);
      ASSERT_TRUE(node.is_valid()) << diags.render();
      graph.mark_output(graph.first_output(node));
      EXPECT_EQ(maker_.make(graph), "") << "from " << from << " to " << to;
    }
  }
}

TEST_F(Processors, Networks) {
  for (const char* name : {"resnet50", "quantized_conv", "bert_full"}) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    request::ModelRequest request;
    request.path = fmt::format(COLLAGE_SOURCE_DIR "/examples/networks/{}.ir", name);
    std::optional<request::ModelFile> file = request::read_model_file(request, sources, diags);
    ASSERT_TRUE(file) << diags.render();
    const auto rules = request::read_rule_files({{COLLAGE_SOURCE_DIR "/rules/host.rules"}}, sources, diags);
    ASSERT_TRUE(rules) << diags.render();
    const auto compilation = compilation::Compilation::open(std::move(*file), rules, {}, diags);
    ASSERT_TRUE(compilation != nullptr && compilation->run_passes({}, diags)) << diags.render();
    make_in_each_dtype(compilation->graph(), name);
  }
}

}  // namespace
}  // namespace collage::testing
