// SPDX-License-Identifier: Apache-2.0
// XNNPACK against the reference kernels: what each of its rules matches, and what it refuses.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/libraries/xnnpack/thread_pool.h"
#include "tests/unit/runtime/libraries/harness.h"

namespace collage::runtime::test {
namespace {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

TEST(Xnnpack, RunsOnOurThreads) {
  LibraryModel model;
  model.expect_runs("xnnpack", model.add("Abs", {model.input({3})}), "Abs");
  EXPECT_TRUE(xnnpack::gets_our_pool());
}

TEST(Xnnpack, PoolsOfOthersGoOnToPthreadpool) {
  ASSERT_TRUE(has_library("xnnpack"));  // which loads pthreadpool
  const auto create = reinterpret_cast<pthreadpool_t (*)(size_t)>(::dlsym(RTLD_DEFAULT, "pthreadpool_create"));
  const auto destroy = reinterpret_cast<void (*)(pthreadpool_t)>(::dlsym(RTLD_DEFAULT, "pthreadpool_destroy"));
  ASSERT_TRUE(create != nullptr && destroy != nullptr);
  pthreadpool_t theirs = create(2);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(pthreadpool_get_threads_count(theirs), 2U);
  std::vector<int> calls(24);
  const auto count = [](void* context, size_t i, size_t j, size_t extent) {
    for (size_t k = j; k < j + extent; ++k) ++(*static_cast<std::vector<int>*>(context))[i * 8 + k];
  };
  pthreadpool ours = xnnpack::make_pool(2);
  for (pthreadpool_t pool : {theirs, static_cast<pthreadpool_t>(nullptr), &ours}) {
    pthreadpool_parallelize_2d_tile_1d(pool, static_cast<pthreadpool_task_2d_tile_1d_t>(count),
                                       static_cast<void*>(&calls), 3, 8, 3, 0);
  }
  EXPECT_EQ(calls, std::vector<int>(24, 3));
  destroy(theirs);
}

TEST(Xnnpack, Convolutions) {
  for (int64_t form = 0; form < 64; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    const int64_t groups = (form & 1) != 0 ? 2 : 1, taps = (form & 2) != 0 ? 3 : 1;
    Attrs attrs = {{"group", groups}};
    if (taps > 1) attrs.emplace_back("pads", Ints{1, 0, 2, 1});
    if ((form & 4) != 0) attrs.emplace_back("strides", Ints{2, 1});
    if ((form & 8) != 0 && taps > 1) attrs.emplace_back("dilations", Ints{1, 2});
    std::vector<ir::ValueId> operands = {model.input({2, 4 * groups, 9, 7}),
                                         model.constant({6 * groups, 4, taps, taps}), model.constant({6 * groups})};
    if ((form & 16) != 0) operands.pop_back();
    ir::ValueId y = model.add("Conv", operands, attrs);
    if ((form & 32) != 0) y = model.add("Relu", {y});
    model.expect_runs("xnnpack", y, "convolution");
  }
}

TEST(Xnnpack, DepthwiseConvolutions) {
  for (const char* padding : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    LibraryModel model;
    const ir::ValueId c = model.add("Conv", {model.input({1, 19, 13, 11}), model.constant({19, 1, 3, 3})},
                                    {{"group", int64_t{19}}, {"auto_pad", std::string(padding)}});
    model.expect_runs("xnnpack", model.add("Clip", {c, model.number(-0.5), model.number(0.75)}),
                      "depthwise convolution 3x3");
  }
}

TEST(Xnnpack, TransposedConvolutions) {
  for (int64_t form = 0; form < 32; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    const int64_t groups = (form & 1) != 0 ? 2 : 1, stride = (form & 2) != 0 ? 3 : 1;
    Attrs attrs = {{"group", groups}, {"strides", Ints{stride, stride}}};
    if ((form & 4) != 0) attrs.emplace_back("pads", Ints{1, 0, 0, 1});
    if ((form & 8) != 0 && stride > 1) attrs.emplace_back("output_padding", Ints{1, 2});
    std::vector<ir::ValueId> operands = {model.input({2, 4 * groups, 5, 6}), model.constant({4 * groups, 3, 3, 2}),
                                         model.constant({3 * groups})};
    if ((form & 16) != 0) operands.pop_back();
    const ir::ValueId y = model.add("ConvTranspose", operands, attrs);
    model.expect_runs("xnnpack", form % 3 == 0 ? model.add("Relu", {y}) : y, "deconvolution 3x2");
  }
}

TEST(Xnnpack, FullyConnectedLayers) {
  for (int64_t form = 0; form < 16; ++form) {
    SCOPED_TRACE("form " + std::to_string(form));
    LibraryModel model;
    const bool is_transposed = (form & 1) != 0, has_bias = (form & 2) != 0, is_clamped = (form & 4) != 0;
    ir::ValueId y;
    if ((form & 8) != 0) {
      std::vector<ir::ValueId> operands = {model.input({5, 8}),
                                           model.constant(is_transposed ? Shape{7, 8} : Shape{8, 7})};
      if (has_bias) operands.push_back(model.constant({1, 7}));
      y = model.add("Gemm", operands, {{"transB", int64_t{is_transposed}}});
    } else {
      y = model.add("MatMul", {model.input(is_transposed ? Shape{8} : Shape{2, 5, 8}), model.constant({8, 7})});
      if (has_bias) y = model.add("Add", {model.constant({7}), y});
    }
    if (is_clamped) y = model.add("Relu", {y});
    model.output(y);
    const LibraryRun run = model.run("xnnpack");
    EXPECT_EQ(run.failure, "");
    EXPECT_EQ(std::count(run.text.begin(), run.text.end(), '\n'), 1) << "it is one call:\n" << run.text;
  }
}

TEST(Xnnpack, Pools) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (int64_t form = 0; form < 16; ++form) {
      SCOPED_TRACE(std::string(op) + " form " + std::to_string(form));
      LibraryModel model;
      Attrs attrs = {{"kernel_shape", (form & 1) != 0 ? Ints{3, 3} : Ints{2, 4}}};
      if ((form & 2) != 0) attrs.emplace_back("strides", Ints{2, 1});
      if ((form & 4) != 0) attrs.emplace_back("pads", Ints{1, 0, 1, 1});
      if (form == 3 && op[0] == 'M') attrs.emplace_back("dilations", Ints{2, 2});
      const ir::ValueId y = model.add(op, {model.input({2, 5, 9, 8})}, attrs);
      model.expect_runs("xnnpack", (form & 8) != 0 ? model.add("Relu", {y}) : y, "pool");
    }
  }
}

TEST(Xnnpack, GlobalPools) {
  for (const Shape& shape : {Shape{2, 5, 9, 8}, Shape{3, 17, 31}}) {
    LibraryModel model;
    model.expect_runs("xnnpack", model.add("GlobalAveragePool", {model.input(shape)}), "global average pool");
  }
}

TEST(Xnnpack, FunctionsOfOneOperand) {
  for (const char* op : {"Abs", "Ceil", "Elu", "Floor", "HardSwish", "LeakyRelu", "Neg", "Relu", "Round", "Sigmoid"}) {
    SCOPED_TRACE(op);
    LibraryModel model;
    model.low = -5;
    model.high = 5;
    model.expect_runs("xnnpack", model.add(op, {model.input({3, 5, 7})}));
  }
  LibraryModel root;
  root.low = 0;
  root.expect_runs("xnnpack", root.add("Sqrt", {root.input({33})}), "Sqrt");
  for (int64_t bounds = 0; bounds < 4; ++bounds) {
    LibraryModel model;
    std::vector<ir::ValueId> operands = {model.input({2, 9}), ir::ValueId(), ir::ValueId()};
    if ((bounds & 1) != 0) operands[1] = model.number(-0.25);
    if ((bounds & 2) != 0) operands[2] = model.number(0.5);
    model.expect_runs("xnnpack", model.add("Clip", operands), "clamp");
  }
}

TEST(Xnnpack, FunctionsOfTwoOperands) {
  const std::pair<Shape, Shape> kShapes[] = {{{2, 3}, {3}},
                                             {{2, 1}, {1, 3}},
                                             {{2, 3, 4, 5}, {3, 1, 1}},
                                             {{3, 1, 1}, {2, 3, 4, 5}},
                                             {{}, {7}},
                                             {{2, 3, 4, 5}, {2, 3, 4, 5}},
                                             {{1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1}}};
  for (const char* op : {"Add", "Div", "Max", "Min", "Mul", "Sub"}) {
    for (const auto& [a, b] : kShapes) {
      SCOPED_TRACE(op + to_string(a) + to_string(b));
      LibraryModel model;
      model.low = 0.5;
      const ir::ValueId y = model.add(op, {model.input(a), b.size() == 1 ? model.constant(b) : model.input(b)});
      model.expect_runs("xnnpack", a.size() == 4 ? model.add("Clip", {y, model.number(0.7)}) : y);
    }
  }
}

TEST(Xnnpack, SlopesSoftmaxAndResize) {
  LibraryModel prelu;
  prelu.expect_runs("xnnpack", prelu.add("PRelu", {prelu.input({2, 5, 3, 4}), prelu.constant({5, 1, 1})}), "prelu");
  LibraryModel softmax;
  softmax.expect_runs("xnnpack", softmax.add("Softmax", {softmax.input({3, 4, 10})}), "softmax");
  for (const char* coordinates : {"half_pixel", "align_corners", "asymmetric"}) {
    for (const auto& [height, width] : {std::pair{8, 6}, std::pair{3, 9}, std::pair{1, 1}, std::pair{5, 12}}) {
      SCOPED_TRACE(std::string(coordinates) + " " + std::to_string(height));
      LibraryModel model;
      const ir::ValueId y = model.add(
          "Resize", {model.input({2, 3, 4, 6}), ir::ValueId(), ir::ValueId(), model.ints({2, 3, height, width})},
          {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string(coordinates)}});
      model.expect_runs("xnnpack", y, "resize bilinear");
    }
  }
}

TEST(Xnnpack, SeveralCallsKeepTheirLayout) {
  LibraryModel model;
  const ir::ValueId c = model.add("Conv", {model.input({1, 3, 8, 8}), model.constant({6, 3, 3, 3})});
  const ir::ValueId swish = model.add("HardSwish", {c});
  const ir::ValueId scaled = model.add("Mul", {swish, model.constant({6, 6, 6})});
  const ir::ValueId pool = model.add("MaxPool", {scaled}, {{"kernel_shape", Ints{2, 2}}});
  model.output(swish);
  model.output(pool);
  const LibraryRun run = model.run("xnnpack");
  EXPECT_EQ(run.failure, "");
  // The input and both outputs are plain.
  EXPECT_EQ(run.text,
            "reorder plain -> NHWC\nconvolution 3x3 3 -> 6\nHardSwish\nreorder plain -> NHWC at load\nmultiply\n"
            "max pool 2x2\nreorder NHWC -> plain\nreorder NHWC -> plain\n");
  EXPECT_EQ(run.ops(), (std::vector{-1, 0, 1, -1, 2, 3, -1, -1}));
}

TEST(Xnnpack, ACallGoesByTheLastOperatorThatIsFusedIntoIt) {
  LibraryModel model;
  const ir::ValueId c = model.add("Conv", {model.input({1, 3, 8, 8}), model.constant({6, 3, 3, 3})});
  model.output(model.add("Relu", {c}));
  const std::vector<int> ops = model.run("xnnpack").ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), 1), 1);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), 0), 0);
}

TEST(Xnnpack, KeepsWeightsBesideTheirCopies) {
  LibraryModel model;
  const ir::ValueId w = model.constant({6, 3, 3, 3}), b = model.constant({6});
  model.output(model.add("Conv", {model.input({1, 3, 8, 8}), w, b}));
  const LibraryRun run = model.run("xnnpack");
  ASSERT_TRUE(run.kept) << run.failure;
  EXPECT_TRUE(run.kept->is_least);
  EXPECT_EQ(run.given_bytes(), (6 * 3 * 9 + 6) * sizeof(float));
  EXPECT_EQ(run.kept->packed, run.given_bytes());
}

TEST(Xnnpack, ReadsNothingBehindAnOperand) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<std::byte*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(::mprotect(memory + page, page, PROT_NONE), 0);
  const auto count = static_cast<int64_t>(page / sizeof(float)) - 16;
  LibraryProgram program;
  program.values = {{DType::F32, {count}, {}}, {DType::F32, {count}, {}}};
  program.ops = {{"Abs", {}, {0}, {1}}};
  program.inputs = {0};
  program.outputs = {1};
  auto kernel = prepare_library("xnnpack", program, 1);
  ASSERT_TRUE(kernel.is_ok());
  ASSERT_TRUE((*kernel)->load().is_ok());
  std::byte* input = memory + 64;
  for (int64_t i = 0; i < count; ++i) reinterpret_cast<float*>(input)[i] = -1;
  Tensor output(DType::F32, {count});
  std::byte* out = output.data();
  ASSERT_TRUE((*kernel)->run({&input, 1}, {&out, 1}).is_ok());
  EXPECT_EQ(output.as<float>()[static_cast<size_t>(count) - 1], 1);
  ::munmap(memory, 2 * page);
}

/// `op` of an image is refused with this text.
void expect_refused(const char* op, const Attrs& attrs, const std::string& why) {
  LibraryModel model;
  model.output(model.add(op, {model.input({1, 4, 6, 6})}, attrs));
  EXPECT_NE(model.run("xnnpack").failure.find(why), std::string::npos) << model.run("xnnpack").failure;
}

TEST(Xnnpack, SaysWhatItCannotDo) {
  expect_refused("Tanh", {}, "`Tanh`: no operator");
  expect_refused("MaxPool", {{"kernel_shape", Ints{1, 1}}}, "one element");
  expect_refused("MaxPool", {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
                 "dilated and padded");
  expect_refused("AveragePool",
                 {{"kernel_shape", Ints{2, 2}}, {"count_include_pad", int64_t{1}}, {"pads", Ints{1, 1, 1, 1}}},
                 "a mean over padding");
  expect_refused("Softmax", {{"axis", int64_t{1}}}, "need the last");
  expect_refused("Elu", {{"alpha", -1.0}}, "invalid parameter");
  LibraryModel clip;
  clip.output(clip.add("Clip", {clip.input({4}), clip.number(2), clip.number(1)}));
  EXPECT_NE(clip.run("xnnpack").failure.find("nothing between"), std::string::npos);
  LibraryModel slopes;
  slopes.output(slopes.add("PRelu", {slopes.input({1, 4, 3, 4}), slopes.constant({4})}));
  EXPECT_NE(slopes.run("xnnpack").failure.find("one slope"), std::string::npos);
}

}  // namespace
}  // namespace collage::runtime::test
