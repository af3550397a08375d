// SPDX-License-Identifier: Apache-2.0
// Rows that are cut, computed with and joined, above all by rotary positions, in the forms that exporters write: one
// kernel, with the bits of the operators one by one.
#include <fmt/format.h>

#include "compiler/codegen/kernel/row_moves.h"
#include "compiler/codegen/target/code_target.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class MovedRows : public KernelTest {
 protected:
  static ir::AttrMap axis(int64_t axis) {
    ir::AttrMap attrs;
    attrs.set("axis", axis);
    return attrs;
  }

  static ValueId slice(Model& model, ValueId x, int64_t start, int64_t end, int64_t step = 1) {
    return model.op("Slice", {x, model.ints({start}), model.ints({end}), model.ints({-1}), model.ints({step})});
  }

  static ValueId join(Model& model, const std::vector<ValueId>& parts) { return model.op("Concat", parts, axis(-1)); }

  static ValueId reshape(Model& model, ValueId x, const Shape& shape) {
    return model.op("Reshape", {x, model.ints(shape)});
  }

  static ValueId unsqueeze(Model& model, ValueId x) { return model.op("Unsqueeze", {x, model.ints({-1})}); }

  static ValueId index(Model& model, int64_t i) {
    ir::Constant c;
    c.data = runtime::Tensor(ir::DType::I64, {});
    c.data.as<int64_t>()[0] = i;
    return model.graph.add_constant(model.graph.unique_name("index"), c);
  }

  static Shape shape_of(const Model& model, ValueId value) { return model.graph.value(value).type.shape; }

  static Shape with_last(Shape shape, const std::vector<int64_t>& last) {
    shape.pop_back();
    shape.insert(shape.end(), last.begin(), last.end());
    return shape;
  }

  /// For each pair, the second number with its sign changed, then the first. `form`: 0 halves by Slice, 1 halves by
  /// Split, 2 neighbours by Slices with steps, 3 neighbours by Reshape and Gather.
  static ValueId swapped(Model& model, ValueId x, int form) {
    const Shape shape = shape_of(model, x);
    const int64_t n = shape.back(), half = n / 2;
    if (form == 0) return join(model, {model.op("Neg", {slice(model, x, half, n)}), slice(model, x, 0, half)});
    if (form == 1) {
      const std::vector<ValueId> parts = model.ops("Split", {x, model.ints({half, half})}, axis(-1), 2);
      return join(model, {model.op("Neg", {parts[1]}), parts[0]});
    }
    ValueId first, second;
    if (form == 2) {
      first = slice(model, x, 0, n, 2);
      second = slice(model, x, 1, n, 2);
    } else {
      const ValueId pairs = reshape(model, x, with_last(shape, {half, 2}));
      first = model.op("Gather", {pairs, index(model, 0)}, axis(-1));
      second = model.op("Gather", {pairs, index(model, -1)}, axis(-1));
    }
    const std::vector<ValueId> both = {unsqueeze(model, model.op("Neg", {second})), unsqueeze(model, first)};
    return reshape(model, join(model, both), shape);
  }

  static ValueId turned(Model& model, ValueId x, ValueId cos, ValueId sin, int form) {
    const ValueId p = model.op("Mul", {x, cos});
    const ValueId q = model.op("Mul", {sin, swapped(model, x, form)});
    return form % 2 == 0 ? model.op("Add", {p, q}) : model.op("Add", {q, p});
  }

  /// Both numbers of each pair, computed and joined, as RotaryEmbedding is imported; then what follows them in the row.
  static ValueId paired(Model& model, ValueId x, ValueId cos, ValueId sin, int64_t turning, bool are_neighbours) {
    const Shape shape = shape_of(model, x);
    const int64_t n = shape.back(), half = turning / 2;
    const ValueId a = are_neighbours ? slice(model, x, 0, turning, 2) : slice(model, x, 0, half);
    const ValueId b = are_neighbours ? slice(model, x, 1, turning, 2) : slice(model, x, half, turning);
    const ValueId c = model.op("Sub", {model.op("Mul", {cos, a}), model.op("Mul", {sin, b})});
    const ValueId d = model.op("Add", {model.op("Mul", {sin, a}), model.op("Mul", {cos, b})});
    std::vector<ValueId> parts = {c, d};
    if (are_neighbours) {
      const Shape column = with_last(shape, {half, 1});
      const ValueId pairs = join(model, {reshape(model, c, column), reshape(model, d, column)});
      parts = {reshape(model, pairs, with_last(shape, {turning}))};
    }
    if (turning < n) parts.push_back(slice(model, x, turning, n));
    return parts.size() == 1 ? parts[0] : join(model, parts);
  }

  void expect_one_kernel(Model& model) {
    const RunStats stats = check(model, *jit_, 0);
    EXPECT_EQ(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }
};

// What makes the row is a kernel of its own, however long it is: read in halves, its nodes alone are more than one
// kernel takes.
TEST_F(MovedRows, BehindALongChain) {
  for (int length : {1, 14, 16, 40}) {
    SCOPED_TRACE(length);
    Model model(7);
    ValueId x = model.input({2, 3, 5, 64});
    for (int i = 0; i < length; ++i) x = model.op("Mul", {x, model.input({64})});
    model.graph.mark_output(turned(model, x, model.input({5, 64}), model.input({5, 64}), 0));
    const RunStats stats = check(model, *jit_, 0);
    EXPECT_EQ(stats.kernels, 2);
    EXPECT_EQ(stats.references, 0);
  }
}

// Lengths that fill vectors, some and none; cosines of all rows, or broadcast over heads, batches, or positions.
TEST_F(MovedRows, PairsChangePlaces) {
  for (const Shape& shape :
       {Shape{2, 3, 4, 64}, Shape{1, 2, 5, 10}, Shape{2, 3, 7, 50}, Shape{3, 2}, Shape{1, 5, 2, 400}}) {
    const int64_t n = shape.back();
    const Shape by_position = with_last(Shape(shape.end() - 2, shape.end()), {n});
    std::vector<Shape> of_angles = {shape, by_position, {n}};
    if (shape.size() == 4) of_angles.push_back({shape[0], 1, shape[2], n});
    if (shape.size() == 4) of_angles.push_back({shape[1], 1, n});
    for (const Shape& angles : of_angles) {
      for (int form = 0; form < 4; ++form) {
        SCOPED_TRACE(fmt::format("{} {} form {}", runtime::to_string(shape), runtime::to_string(angles), form));
        Model model(1);
        const ValueId x = model.input(shape), cos = model.input(angles), sin = model.input(angles);
        model.graph.mark_output(turned(model, x, cos, sin, form));
        expect_one_kernel(model);
      }
    }
  }
}

TEST_F(MovedRows, BothNumbersOfPairsAreJoined) {
  for (const auto& [n, turning] : {std::pair<int64_t, int64_t>{64, 64}, {80, 32}, {10, 6}, {7, 4}, {130, 128}}) {
    for (bool are_neighbours : {false, true}) {
      SCOPED_TRACE(fmt::format("{} of {}{}", turning, n, are_neighbours ? ", neighbours" : ""));
      Model model(2);
      const ValueId x = model.input({2, 3, 5, n});
      const ValueId cos = model.input({2, 1, 5, turning / 2}), sin = model.input({2, 1, 5, turning / 2});
      model.graph.mark_output(paired(model, x, cos, sin, turning, are_neighbours));
      expect_one_kernel(model);
    }
  }
}

// What does not turn follows, or comes first; the result is scaled.
TEST_F(MovedRows, PartOfTheRowTurns) {
  for (int form = 0; form < 4; ++form) {
    for (bool is_last : {false, true}) {
      SCOPED_TRACE(fmt::format("form {}{}", form, is_last ? ", last" : ""));
      Model model(3);
      const ValueId x = model.input({2, 3, 5, 80});
      const ValueId cos = model.input({5, 32}), sin = model.input({5, 32});
      const ValueId w = is_last ? slice(model, x, 48, 80) : slice(model, x, 0, 32);
      const ValueId rest = is_last ? slice(model, x, 0, 48) : slice(model, x, 32, 80);
      const ValueId y = turned(model, w, cos, sin, form);
      const ValueId whole = is_last ? join(model, {rest, y}) : join(model, {y, rest});
      model.graph.mark_output(model.op("Mul", {whole, model.scalar(0.125F)}));
      expect_one_kernel(model);
    }
  }
}

// From neighbours to halves, backwards, and by a list of places.
TEST_F(MovedRows, OtherWaysToCut) {
  for (int64_t n : {6, 32, 50, 256}) {
    SCOPED_TRACE(n);
    Model model(4);
    const ValueId x = model.input({3, 5, n}), cos = model.input({5, n / 2});
    const ValueId a = slice(model, x, 0, n, 2), b = slice(model, x, 1, n, 2);
    model.graph.mark_output(join(model, {model.op("Mul", {a, cos}), model.op("Sub", {b, cos})}));
    expect_one_kernel(model);

    Model backwards(5);
    const ValueId z = backwards.input({3, 5, n});
    const ValueId turned_round = slice(backwards, z, n - 1, -n - 1, -1);
    backwards.graph.mark_output(join(backwards, {backwards.op("Neg", {turned_round}), z}));
    expect_one_kernel(backwards);

    Model list(6);
    const ValueId w = list.input({3, 5, n});
    const ValueId places = list.op("Gather", {w, list.ints({4, 1, -1, 0, 3})}, axis(2));
    list.graph.mark_output(join(list, {list.op("Abs", {places}), w}));
    expect_one_kernel(list);
  }
}

TEST_F(MovedRows, EveryFloatType) {
  for (ir::DType dtype : {ir::DType::F64, ir::DType::F16, ir::DType::BF16}) {
    for (int form = 0; form < 4; ++form) {
      SCOPED_TRACE(std::string(runtime::name_of(dtype)) + " form " + std::to_string(form));
      Model model(7);
      model.dtype = dtype;
      const ValueId x = model.input({2, 5, 50}), cos = model.input({5, 50}), sin = model.input({5, 50});
      model.graph.mark_output(turned(model, x, cos, sin, form));
      expect_one_kernel(model);
    }
  }
}

// Vectors of four and eight lanes, and several threads.
TEST_F(MovedRows, OtherProcessors) {
  for (const std::string cpu : {"x86-64-v2", "haswell"}) {
    if (!codegen::cpu_obstacle(cpu).empty()) continue;
    make(1, false, cpu);
    for (int form = 0; form < 4; ++form) {
      for (const auto& [n, dtype] : {std::pair<int64_t, ir::DType>{6, ir::DType::F32},
                                     {30, ir::DType::F32},
                                     {128, ir::DType::F32},
                                     {30, ir::DType::F64},
                                     {30, ir::DType::BF16}}) {
        SCOPED_TRACE(fmt::format("{} form {} of {} {}", cpu, form, n, runtime::name_of(dtype)));
        Model model(8);
        model.dtype = dtype;
        const ValueId x = model.input({2, 3, 5, n}), cos = model.input({5, n}), sin = model.input({5, n});
        model.graph.mark_output(turned(model, x, cos, sin, form));
        expect_one_kernel(model);
        Model pairs(9);
        pairs.dtype = dtype;
        const ValueId z = pairs.input({2, 3, 5, n + 3});
        const ValueId c = pairs.input({5, n / 2}), s = pairs.input({5, n / 2});
        pairs.graph.mark_output(paired(pairs, z, c, s, n, form % 2 == 0));
        expect_one_kernel(pairs);
      }
    }
  }
  make(3);
  Model model(10);
  const ValueId x = model.input({2, 8, 33, 64}), cos = model.input({33, 64}), sin = model.input({33, 64});
  model.graph.mark_output(turned(model, x, cos, sin, 0));
  expect_one_kernel(model);
}

// Halves are loaded as they lie: no element by itself.
TEST_F(MovedRows, HalvesAreVectors) {
  make(1, /*keep_text=*/true);
  Model model(11);
  const ValueId x = model.input({2, 3, 4, 64}), cos = model.input({4, 64}), sin = model.input({4, 64});
  model.graph.mark_output(turned(model, x, cos, sin, 0));
  expect_one_kernel(model);
  EXPECT_EQ(jit_->nest_text().find("gather"), std::string::npos) << jit_->nest_text();
  EXPECT_EQ(jit_->nest_text().find("permute"), std::string::npos) << jit_->nest_text();
}

// A reshape to [batch, position, heads * size] after it shares the memory.
TEST_F(MovedRows, ReshapesAroundAreFree) {
  Model model(12);
  const ValueId flat = model.input({2, 5, 6 * 16});
  const ValueId x = reshape(model, flat, {2, 5, 6, 16});
  const ValueId cos = model.input({2, 5, 1, 8}), sin = model.input({2, 5, 1, 8});
  model.graph.mark_output(reshape(model, paired(model, x, cos, sin, 16, false), {2, 5, 6 * 16}));
  auto lowered = jit_->lower(model.graph, model.graph.node_ids());
  ASSERT_TRUE(lowered.is_ok()) << lowered.message();
  int moving = 0;
  for (const auto& call : lowered->calls) {
    const auto* kernel = std::get_if<codegen::LoweredKernel>(&call);
    ASSERT_NE(kernel, nullptr);
    moving += kernel->in_place ? 0 : 1;
  }
  EXPECT_EQ(moving, 1);
  EXPECT_EQ(check(model, *jit_, 0).references, 0);
}

// What several positions read is computed once; what others read as well is stored.
TEST_F(MovedRows, NothingIsComputedTwice) {
  Model model(13);
  const ValueId x = model.op("Exp", {model.input({2, 5, 32})});
  const ValueId cos = model.input({5, 32}), sin = model.input({5, 32});
  model.graph.mark_output(turned(model, x, cos, sin, 0));
  RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.kernels, 2);
  EXPECT_EQ(stats.references, 0);

  Model shared(14);
  const ValueId z = shared.input({2, 5, 32});
  const ValueId half = slice(shared, z, 16, 32);
  const ValueId changed = shared.op("Neg", {half});
  shared.graph.mark_output(shared.op("Mul", {join(shared, {changed, slice(shared, z, 0, 16)}), z}));
  shared.graph.mark_output(half);
  stats = check(shared, *jit_, 0);
  EXPECT_EQ(stats.references, 0);
}

// Groups of the program and of its neighbours run one after the other, whatever reads whatever.
TEST_F(MovedRows, BetweenOtherGroups) {
  Model model(15);
  const ValueId z = model.input({2, 3, 17, 32});
  const ValueId x = model.op("Relu", {z});
  const ValueId cos = model.op("Cos", {model.input({17, 32})}), sin = model.op("Sin", {model.input({17, 32})});
  const ValueId y = turned(model, x, cos, sin, 0);
  const ValueId sum = model.op("Add", {y, x});
  model.graph.mark_output(sum);
  model.graph.mark_output(turned(model, model.op("Tanh", {sum}), cos, sin, 2));
  const RunStats stats = check(model, *jit_);
  EXPECT_EQ(stats.references, 0);
}

TEST(RowMoves, PiecesOfARow) {
  Model model(16);
  const ValueId x = model.input({4, 10});
  const auto part = [&](int64_t start, int64_t end) {
    return model.op("Slice", {x, model.ints({start}), model.ints({end}), model.ints({1})});
  };
  ir::AttrMap axis;
  axis.set("axis", int64_t{1});
  const ValueId back = model.op("Neg", {part(7, 10)});
  const ValueId y = model.op("Concat", {back, part(0, 7)}, axis);
  model.graph.mark_output(y);
  const std::vector<ir::NodeId> all = model.graph.node_ids();
  const std::set<ir::NodeId> free(all.begin(), all.end());
  const std::optional<codegen::RowMoves> moves = codegen::row_moves(model.graph, model.graph.value(y).producer, free);
  ASSERT_TRUE(moves);
  EXPECT_EQ(moves->nodes, all);
  EXPECT_EQ(moves->outer, Shape{4});
  ASSERT_EQ(moves->pieces.size(), 2U);
  EXPECT_EQ(moves->pieces[0].end, 3);
  EXPECT_EQ(moves->pieces[1].begin, 3);
  EXPECT_EQ(moves->pieces[1].end, 10);
  const codegen::RowTerm& first = moves->terms[0];
  EXPECT_EQ(first.value, x);
  EXPECT_EQ(first.at, (std::vector<int64_t>{7, 8, 9, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(codegen::advance_of(first, moves->pieces[0]), 1);
}

// Without a cut, without arithmetic, along a dimension with others after it in long rows: nothing to gain.
TEST(RowMoves, RefusesOthers) {
  const auto is_taken = [](const Model& model, ValueId join) {
    const std::vector<ir::NodeId> all = model.graph.node_ids();
    const std::set<ir::NodeId> free(all.begin(), all.end());
    return codegen::row_moves(model.graph, model.graph.value(join).producer, free).has_value();
  };
  ir::AttrMap axis;
  axis.set("axis", int64_t{1});
  Model uncut(17);
  ValueId x = uncut.input({4, 10});
  ValueId y = uncut.op("Concat", {uncut.op("Neg", {x}), x}, axis);
  uncut.graph.mark_output(y);
  EXPECT_FALSE(is_taken(uncut, y));

  Model moving(18);
  x = moving.input({4, 10});
  y = moving.op("Concat", moving.ops("Split", {x, moving.ints({3, 7})}, axis, 2), axis);
  moving.graph.mark_output(y);
  EXPECT_FALSE(is_taken(moving, y));

  for (int64_t behind : {2, 3000}) {
    Model long_rows(19);
    const std::vector<ValueId> parts =
        long_rows.ops("Split", {long_rows.input({4, 10, behind}), long_rows.ints({3, 7})}, axis, 2);
    y = long_rows.op("Concat", {long_rows.op("Neg", {parts[1]}), parts[0]}, axis);
    long_rows.graph.mark_output(y);
    EXPECT_EQ(is_taken(long_rows, y), behind == 2);
  }
}

}  // namespace
}  // namespace collage::codegen_test
