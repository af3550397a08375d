// SPDX-License-Identifier: Apache-2.0
// Other instruction sets than this machine's widest, and what is refused: code that needs something outside.
#include "compiler/codegen/llvm/object_code.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

std::unique_ptr<codegen::Jit> jit_for(const std::string& cpu) {
  codegen::JitOptions options;
  options.cpu = cpu;
  options.keep_text = true;
  auto jit = codegen::Jit::create(options);
  EXPECT_TRUE(jit.is_ok()) << jit.message();
  return std::move(*jit);
}

Model small_network() {
  Model model(9);
  ir::AttrMap attrs;
  attrs.set("pads", runtime::Ints{1, 1, 1, 1});
  ValueId y = model.op("Conv", {model.input({1, 5, 13, 13}), model.constant({19, 5, 3, 3})}, attrs);
  y = model.op("Relu", {y});
  ir::AttrMap pool;
  pool.set("kernel_shape", runtime::Ints{2, 2});
  pool.set("strides", runtime::Ints{2, 2});
  y = model.op("MaxPool", {y}, pool);
  y = model.op("Sigmoid", {y});
  y = model.op("MatMul", {y, model.constant({6, 37})});
  model.graph.mark_output(model.op("Softmax", {y}));
  return model;
}

TEST(CodegenTarget, NarrowerVectorsComputeTheSame) {
  for (const std::string& cpu : runnable({"", "haswell", "x86-64"})) {
    SCOPED_TRACE(cpu);
    auto jit = jit_for(cpu);
    Model model = small_network();
    RunStats stats = check(model, *jit);
    EXPECT_GE(stats.kernels, 4);
    EXPECT_EQ(stats.references, 0);
  }
}

TEST(CodegenTarget, ChannelsLastOnNarrowerVectors) {
  for (const std::string& cpu : runnable({"", "haswell", "x86-64-v2"})) {
    SCOPED_TRACE(cpu);
    auto jit = jit_for(cpu);
    Model model(10);
    ir::AttrMap window;
    window.set("pads", runtime::Ints{1, 1, 1, 1});
    const ValueId x = model.input({1, 5, 13, 11});
    ValueId y = model.op("Conv", {x, model.constant({24, 5, 3, 3}), model.constant({24})}, window);
    window.set("group", int64_t{6});
    y = model.op("Conv", {y, model.constant({24, 4, 3, 3})}, window);
    window.set("group", int64_t{24});
    y = model.op("Conv", {model.op("Relu", {y}), model.constant({24, 1, 3, 3})}, window);
    ir::AttrMap pool;
    pool.set("kernel_shape", runtime::Ints{3, 2});
    y = model.op("AveragePool", {y}, pool);
    model.graph.mark_output(y);
    RunStats stats = check(model, *jit, 3e-6, -1, 1, {{{x, "NHWC"}, {y, "NHWC"}}, {}});
    EXPECT_EQ(stats.kernels, 4);
  }
}

TEST(CodegenTarget, WinogradOnNarrowerVectors) {
  for (const std::string& cpu : runnable({"", "haswell", "x86-64-v2"})) {
    SCOPED_TRACE(cpu);
    auto jit = jit_for(cpu);
    Model model(11);
    ir::AttrMap window;
    window.set("pads", runtime::Ints{1, 1, 1, 1});
    const ValueId x = model.input({2, 19, 13, 27});
    ValueId y = model.op("Conv", {x, model.constant({21, 19, 3, 3}), model.constant({21})}, window);
    y = model.op("Relu", {y});
    model.graph.mark_output(y);
    codegen::LowerOptions options{{{x, "NHWC"}, {y, "NHWC"}}, {}};
    for (ir::NodeId node : model.graph.node_ids()) options.generators[node] = "winograd";
    RunStats stats = check(model, *jit, 3e-5, -1, 1, options);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
}

TEST(CodegenTarget, VectorWidthFollowsTheProcessor) {
  if (runnable({"haswell"}).empty()) GTEST_SKIP() << codegen::cpu_obstacle("haswell");
  auto avx2 = jit_for("haswell");
  Model model = small_network();
  check(model, *avx2);
  EXPECT_NE(avx2->llvm_text().find("<8 x float>"), std::string::npos);
  EXPECT_EQ(avx2->llvm_text().find("<16 x float>"), std::string::npos);
  EXPECT_NE(avx2->asm_text().find("vfmadd"), std::string::npos);
}

// Lanes that alternate come from a vector of constants.
TEST(CodegenTarget, CodeMayHaveConstants) {
  for (const std::string& cpu : runnable({"", "haswell", "x86-64"})) {
    SCOPED_TRACE(cpu);
    auto jit = jit_for(cpu);
    Model model(1);
    model.graph.mark_output(model.op("Floor", {model.input({50})}));
    model.dtype = ir::DType::BF16;
    model.graph.mark_output(model.op("Abs", {model.input({16, 16})}));
    model.dtype = ir::DType::F16;
    model.graph.mark_output(model.op("Abs", {model.input({16, 16})}));
    const RunStats stats = check(model, *jit, 0);
    EXPECT_EQ(stats.kernels, 3);
    EXPECT_NE(jit->asm_text().find(".rodata"), std::string::npos);
  }
}

// No instruction of these processors makes f16 of f64.
TEST(CodegenTarget, CodeThatCallsALibraryIsRefused) {
  auto assembler = codegen::Assembler::create("haswell");
  ASSERT_TRUE(assembler.is_ok());
  codegen::Nest nest(4, codegen::Element::F64);
  const int x = nest.add_buffer("x", false);
  const int y = nest.add_buffer_of(codegen::Element::F16, "y", true);
  nest.store(y, codegen::int_const(0), codegen::load(x, codegen::int_const(0), 4));
  auto code = (*assembler)->assemble(nest, "narrow", false);
  ASSERT_FALSE(code.is_ok());
  EXPECT_EQ(code.message(), "compiled code needs `__truncdfhf2` from outside");
}

TEST(CodegenTarget, ImagesHoldEveryFunction) {
  auto jit = jit_for("");
  Model model = small_network();
  RunStats stats = check(model, *jit);
  size_t functions = 0;
  for (const codegen::CodeImage& image : jit->images()) {
    for (const auto& [symbol, offset] : image.symbols) {
      ++functions;
      EXPECT_LT(offset, image.bytes.size());
      EXPECT_NE(jit->find(symbol), nullptr);
    }
  }
  EXPECT_EQ(functions, static_cast<size_t>(stats.kernels));
  EXPECT_EQ(jit->find("no_such_kernel"), nullptr);
}

}  // namespace
}  // namespace collage::codegen_test
