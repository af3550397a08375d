// SPDX-License-Identifier: Apache-2.0
// Kernels that compute in f64, i32 and i64, and that move elements of any size, for three instruction sets.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

constexpr double kDoubleError = 1e-14;

class Dtype : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string obstacle = codegen::cpu_obstacle(GetParam());
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
    codegen::JitOptions options;
    options.cpu = GetParam();
    options.keep_text = true;
    auto jit = codegen::Jit::create(options);
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }

  void expect_compiled(Model& model, double tolerance = kDoubleError, float low = -1, float high = 1) {
    const RunStats stats = check(model, *jit_, tolerance, low, high);
    EXPECT_GE(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }

  static int64_t pick(Model& model, int64_t low, int64_t high) {
    return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
  }

  static Shape random_shape(Model& model, size_t rank) {
    Shape shape(rank);
    for (int64_t& d : shape) d = pick(model, 0, 2) == 0 ? pick(model, 9, 35) : pick(model, 1, 6);
    return shape;
  }

  static ir::AttrMap ints(const char* name, const runtime::Ints& values) {
    ir::AttrMap attrs;
    attrs.set(name, values);
    return attrs;
  }

  std::unique_ptr<codegen::Jit> jit_;
};

INSTANTIATE_TEST_SUITE_P(Isa, Dtype, testing::Values("", "haswell"));

const std::vector<ir::DType> kAll = {ir::DType::F64, ir::DType::I8,  ir::DType::U8,  ir::DType::I16,
                                     ir::DType::I32, ir::DType::I64, ir::DType::Bool};

TEST_P(Dtype, MovementOfAnyElement) {
  unsigned seed = 0;
  for (ir::DType dtype : kAll) {
    for (int round = 0; round < 4; ++round) {
      SCOPED_TRACE(testing::Message() << runtime::name_of(dtype) << " " << seed);
      Model model(seed++);
      model.dtype = dtype;
      const Shape shape = random_shape(model, 3);
      const ValueId x = model.input(shape);
      runtime::Ints perm = {0, 1, 2};
      std::shuffle(perm.begin(), perm.end(), model.random());
      model.graph.mark_output(model.op("Transpose", {x}, ints("perm", perm)));
      ir::AttrMap axis;
      axis.set("axis", pick(model, 0, 2));
      model.graph.mark_output(model.op("Concat", {x, x}, axis));
      model.graph.mark_output(model.op("Slice", {x, model.ints({-1, 0, 0}), model.ints({-1000, 1000, 1000}),
                                                 model.ints({0, 1, 2}), model.ints({-1, 1, 2})}));
      model.graph.mark_output(model.op("Pad", {x, model.ints({1, 0, 2, 0, 1, 1}), model.scalar(1)}));
      model.graph.mark_output(model.op("Tile", {x, model.ints({1, 2, 3})}));
      model.graph.mark_output(model.op("Expand", {x, model.ints({2, 1, 1, 1})}));
      expect_compiled(model, 0);
    }
  }
}

TEST_P(Dtype, IndexingOfAnyElement) {
  unsigned seed = 40;
  for (ir::DType dtype : kAll) {
    SCOPED_TRACE(runtime::name_of(dtype));
    Model model(seed++);
    model.dtype = dtype;
    const Shape shape = {5, 7, pick(model, 1, 40)};
    const ValueId x = model.input(shape);
    std::vector<int64_t> rows(12);
    for (int64_t& row : rows) row = pick(model, -7, 6);
    const ValueId index = model.input(ir::DType::I64, {12}, rows);
    ir::AttrMap axis;
    axis.set("axis", int64_t{1});
    model.graph.mark_output(model.op("Gather", {x, index}, axis));
    std::vector<int64_t> elements(static_cast<size_t>(5 * 3 * shape[2]));
    for (int64_t& e : elements) e = pick(model, 0, 6);
    const ValueId places = model.input(ir::DType::I64, {5, 3, shape[2]}, elements);
    const ValueId gathered = model.op("GatherElements", {x, places}, axis);
    model.graph.mark_output(gathered);
    model.graph.mark_output(model.op("ScatterElements", {x, places, gathered}, axis));
    model.graph.mark_output(
        model.op("GatherND", {x, model.input(ir::DType::I64, {3, 1}, std::vector<int64_t>{4, 0, -1})}));
    expect_compiled(model, 0);
  }
}

TEST_P(Dtype, UnaryOfDoubles) {
  struct Case {
    const char* op;
    float low, high;
  };
  for (const Case& c :
       std::vector<Case>{{"Abs", -9, 9},      {"Ceil", -9, 9},        {"Celu", -9, 9},       {"Cos", -50, 50},
                         {"Elu", -9, 9},      {"Erf", -5, 5},         {"Exp", -30, 3},       {"Floor", -9, 9},
                         {"Gelu", -6, 6},     {"HardSigmoid", -9, 9}, {"HardSwish", -9, 9},  {"LeakyRelu", -9, 9},
                         {"Log", 0.001F, 90}, {"Mish", -9, 9},        {"Neg", -9, 9},        {"Reciprocal", 1, 9},
                         {"Relu", -9, 9},     {"Round", -9, 9},       {"Selu", -9, 9},       {"Sigmoid", -40, 40},
                         {"Sign", -9, 9},     {"Sin", -50, 50},       {"Softplus", -40, 40}, {"Softsign", -9, 9},
                         {"Sqrt", 0, 90},     {"Tanh", -20, 20}}) {
    SCOPED_TRACE(c.op);
    Model model(1);
    model.dtype = ir::DType::F64;
    model.graph.mark_output(model.op(c.op, {model.input({3, 37})}));
    expect_compiled(model, kDoubleError, c.low, c.high);
  }
}

TEST_P(Dtype, SpecialDoubles) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0.0,    -0.0,   infinity, -infinity, std::numeric_limits<double>::quiet_NaN(),
                                      5e-324, 1e-310, -1e-310,  1e308,     -1e308,
                                      710,    -746,   709.5,    -708.5,    1e-17,
                                      1};
  for (const char* op : {"Abs", "Exp", "Log", "Tanh", "Sigmoid", "Softplus", "Erf", "Sqrt", "Sign", "Floor", "Neg"}) {
    SCOPED_TRACE(op);
    Model model(2);
    const ValueId y = model.op(op, {model.input(ir::DType::F64, {16}, values)});
    model.graph.mark_output(y);
    // Signs and NaN decide this one, not the tolerance.
    model.graph.mark_output(model.op("Reciprocal", {y}));
    model.dtype = ir::DType::F64;
    const RunStats stats = check(model, *jit_, 1e-14);
    EXPECT_EQ(stats.references, 0);
  }
}

// Relative errors, which a tolerance by the largest result does not show.
TEST_P(Dtype, SmallDoublesKeepTheirDigits) {
  for (const char* op : {"Exp", "Tanh", "Log"}) {
    SCOPED_TRACE(op);
    Model model(3);
    model.dtype = ir::DType::F64;
    const bool is_log = std::string(op) == "Log";
    const ValueId x = model.input({200});
    const ValueId y = model.op(op, {x});
    const ValueId quotient = model.op("Div", {y, is_log ? model.op("Sub", {x, model.scalar(1)}) : y});
    model.graph.mark_output(quotient);
    model.graph.mark_output(model.op("Log", {model.op("Abs", {y})}));
    expect_compiled(model, 1e-13, is_log ? 0.98F : -1e-3F, is_log ? 0.999F : -1e-9F);
  }
}

TEST_P(Dtype, PointwiseChainsOfDoubles) {
  Model model(4);
  model.dtype = ir::DType::F64;
  const ValueId a = model.input({4, 9, 13});
  const ValueId b = model.input({9, 1});
  ValueId y = model.op("Mul", {model.op("Add", {a, b}), model.scalar(0.1F)});
  y = model.op("Pow", {model.op("Abs", {y}), model.scalar(1.7F)});
  const ValueId chosen = model.op("Where", {model.op("Less", {a, b}), y, a});
  model.graph.mark_output(model.op("Max", {chosen, b, model.input({13})}));
  const RunStats stats = check(model, *jit_, kDoubleError);
  EXPECT_EQ(stats.kernels, 1);
  EXPECT_EQ(stats.references, 0);
}

TEST_P(Dtype, PointwiseOfIntegers) {
  for (ir::DType dtype : {ir::DType::I32, ir::DType::I64}) {
    for (const char* op :
         {"Add", "Sub", "Mul", "Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
      SCOPED_TRACE(testing::Message() << op << " " << runtime::name_of(dtype));
      Model model(5);
      model.dtype = dtype;
      const ValueId a = model.input({3, 29});
      model.graph.mark_output(model.op(op, {a, model.input({29})}));
      model.graph.mark_output(model.op(op, {a, a}));
      expect_compiled(model, 0);
    }
    for (const char* op : {"Abs", "Neg", "Relu", "Sign"}) {
      SCOPED_TRACE(testing::Message() << op << " " << runtime::name_of(dtype));
      Model model(6);
      model.dtype = dtype;
      model.graph.mark_output(model.op(op, {model.input({3, 29})}));
      expect_compiled(model, 0);
    }
    Model model(7);
    model.dtype = dtype;
    const ValueId a = model.input({5, 11});
    const ValueId mask = model.op("And", {model.op("Less", {a, model.input({11})}), model.op("Less", {a, a})});
    model.graph.mark_output(model.op("Where", {model.op("Not", {mask}), model.op("Add", {a, a}), a}));
    model.graph.mark_output(model.op("Clip", {a, model.scalar(-100), model.scalar(1000)}));
    expect_compiled(model, 0);
  }
}

TEST_P(Dtype, ReductionsOfDoublesAndIntegers) {
  for (ir::DType dtype : {ir::DType::F64, ir::DType::I32, ir::DType::I64}) {
    for (const char* op :
         {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL2", "ReduceSumSquare"}) {
      const bool is_whole = dtype != ir::DType::F64;
      const std::string name = op;
      if (is_whole && (name == "ReduceMean" || name == "ReduceL2")) continue;
      for (const runtime::Ints& axes :
           {runtime::Ints{2}, runtime::Ints{0}, runtime::Ints{1, 2}, runtime::Ints{0, 1, 2}}) {
        SCOPED_TRACE(testing::Message() << op << " " << runtime::name_of(dtype) << " " << axes.size());
        Model model(8);
        model.dtype = dtype;
        const ValueId x = model.input({3, 5, 19});
        std::vector<ValueId> operands = {x};
        ir::AttrMap attrs;
        if (name == "ReduceSum") {
          operands.push_back(model.ints(axes));
        } else {
          attrs.set("axes", axes);
        }
        model.graph.mark_output(model.op(op, operands, attrs));
        expect_compiled(model);
      }
    }
  }
}

TEST_P(Dtype, RowsOfDoubles) {
  for (int64_t length : {5, 33, 100}) {
    SCOPED_TRACE(length);
    Model model(9);
    model.dtype = ir::DType::F64;
    const ValueId x = model.input({20, length});
    const ValueId y = model.op("LayerNormalization", {x, model.constant({length}), model.constant({length})});
    ir::AttrMap first;
    first.set("axis", int64_t{0});
    model.graph.mark_output(model.op("Softmax", {model.op("Mul", {y, model.scalar(0.3F)})}));
    model.graph.mark_output(model.op("LogSoftmax", {y}, first));
    const ValueId mean = model.op("ReduceMean", {x}, ints("axes", {-1}));
    const ValueId d = model.op("Sub", {x, mean});
    const ValueId variance = model.op("ReduceMean", {model.op("Mul", {d, d})}, ints("axes", {-1}));
    model.graph.mark_output(model.op("Div", {d, model.op("Sqrt", {model.op("Add", {variance, model.scalar(1e-5F)})})}));
    expect_compiled(model);
  }
}

TEST_P(Dtype, ProductsOfDoubles) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    model.dtype = ir::DType::F64;
    const int64_t m = pick(model, 1, 40), k = pick(model, 1, 70), n = pick(model, 1, 50);
    const bool is_packed = pick(model, 0, 1) == 0;
    ir::AttrMap attrs;
    attrs.set("transA", pick(model, 0, 1));
    attrs.set("transB", pick(model, 0, 1));
    attrs.set("alpha", 0.3);
    const Shape a = attrs.get_int("transA", 0) != 0 ? Shape{k, m} : Shape{m, k};
    const Shape b = attrs.get_int("transB", 0) != 0 ? Shape{n, k} : Shape{k, n};
    const ValueId y =
        model.op("Gemm", {model.input(a), is_packed ? model.constant(b) : model.input(b), model.input({n})}, attrs);
    model.graph.mark_output(model.op("Sigmoid", {y}));
    model.graph.mark_output(model.op("MatMul", {model.input({2, m, k}), model.input({2, k, n})}));
    expect_compiled(model);
  }
}

TEST_P(Dtype, AttentionOfDoubles) {
  Model model(10);
  model.dtype = ir::DType::F64;
  const ValueId s = model.op("MatMul", {model.input({2, 21, 16}), model.input({2, 16, 37})});
  const ValueId p = model.op("Softmax", {model.op("Mul", {s, model.scalar(0.25F)})});
  model.graph.mark_output(model.op("MatMul", {p, model.input({2, 37, 19})}));
  expect_compiled(model);
}

TEST_P(Dtype, WindowsOfDoubles) {
  for (int64_t stride : {1, 2, 3}) {
    SCOPED_TRACE(stride);
    Model model(11);
    model.dtype = ir::DType::F64;
    ir::AttrMap window = ints("pads", {1, 1, 1, 1});
    window.set("strides", runtime::Ints{stride, stride});
    const ValueId x = model.input({2, 6, 19, 23});
    ValueId y = model.op("Conv", {x, model.constant({10, 6, 3, 3}), model.constant({10})}, window);
    model.graph.mark_output(model.op("Relu", {y}));
    window.set("group", int64_t{6});
    model.graph.mark_output(model.op("Conv", {x, model.constant({6, 1, 3, 3})}, window));
    window.set("group", int64_t{2});
    model.graph.mark_output(model.op("Conv", {x, model.input({4, 3, 3, 3})}, window));
    ir::AttrMap pool = ints("kernel_shape", {3, 3});
    pool.set("strides", runtime::Ints{stride, stride});
    pool.set("pads", runtime::Ints{1, 1, 1, 1});
    model.graph.mark_output(model.op("MaxPool", {x}, pool));
    model.graph.mark_output(model.op("AveragePool", {x}, pool));
    ir::AttrMap transposed = ints("strides", {stride, stride});
    model.graph.mark_output(model.op("ConvTranspose", {x, model.constant({6, 3, 3, 3})}, transposed));
    expect_compiled(model);
  }
}

}  // namespace
}  // namespace collage::codegen_test
