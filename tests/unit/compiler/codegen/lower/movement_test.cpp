// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements, over random shapes and attributes, for elements of four, eight and one byte.
#include "compiler/codegen/lower/lowerings.h"
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class Movement : public KernelTest {
 protected:
  static int64_t pick(Model& model, int64_t low, int64_t high) {
    return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
  }

  static Shape random_shape(Model& model, size_t least_rank = 1) {
    Shape shape(static_cast<size_t>(pick(model, static_cast<int64_t>(least_rank), 4)));
    for (int64_t& d : shape) d = pick(model, 0, 3) == 0 ? pick(model, 17, 40) : pick(model, 1, 7);
    return shape;
  }

  ValueId random_input(Model& model, const Shape& shape) {
    if (pick(model, 0, 3) != 0) return model.input(shape);
    std::vector<int64_t> values(static_cast<size_t>(runtime::element_count(shape)));
    for (int64_t& v : values) v = static_cast<int64_t>(model.random()()) << 20;
    return model.input(ir::DType::I64, shape, values);
  }

  void expect_compiled(Model& model) {
    RunStats stats = check(model, *jit_, 0);
    EXPECT_GE(stats.kernels, 1);
    EXPECT_EQ(stats.references, 0);
  }

  static std::vector<ValueId> all(const std::vector<ValueId>& values, Model& model) {
    for (ValueId v : values) model.graph.mark_output(v);
    return values;
  }
};

TEST_F(Movement, RandomTransposes) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    runtime::Ints perm(shape.size());
    for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
    std::shuffle(perm.begin(), perm.end(), model.random());
    ir::AttrMap attrs;
    attrs.set("perm", perm);
    model.graph.mark_output(model.op("Transpose", {random_input(model, shape)}, attrs));
    expect_compiled(model);
  }
}

TEST_F(Movement, RandomSlices) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    std::vector<int64_t> starts, ends, steps, axes;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t a = pick(model, 0, shape[d] - 1);
      int64_t b = pick(model, 0, shape[d] - 1);
      bool backwards = pick(model, 0, 3) == 0;
      starts.push_back(backwards ? std::max(a, b) : std::min(a, b));
      ends.push_back(backwards ? std::min(a, b) - shape[d] - 1 : std::max(a, b) + 1);
      steps.push_back((backwards ? -1 : 1) * pick(model, 1, 3));
      axes.push_back(pick(model, 0, 1) == 0 ? static_cast<int64_t>(d)
                                            : static_cast<int64_t>(d) - static_cast<int64_t>(shape.size()));
    }
    ValueId x = random_input(model, shape);
    model.graph.mark_output(
        model.op("Slice", {x, model.ints(starts), model.ints(ends), model.ints(axes), model.ints(steps)}));
    expect_compiled(model);
  }
}

TEST_F(Movement, RandomConcatsAndSplits) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    int64_t axis = pick(model, 0, static_cast<int64_t>(shape.size()) - 1);
    std::vector<ValueId> parts;
    std::vector<int64_t> sizes;
    for (int64_t i = pick(model, 1, 4); i > 0; --i) {
      shape[static_cast<size_t>(axis)] = pick(model, 1, 9);
      sizes.push_back(shape[static_cast<size_t>(axis)]);
      parts.push_back(model.input(shape));
    }
    ir::AttrMap attrs;
    attrs.set("axis", axis);
    ValueId whole = model.op("Concat", parts, attrs);
    all(model.ops("Split", {whole, model.ints(sizes)}, attrs, sizes.size()), model);
    model.graph.mark_output(whole);
    expect_compiled(model);
  }
}

TEST_F(Movement, RandomExpandsAndTiles) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    std::vector<int64_t> repeats;
    std::vector<int64_t> target = shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      repeats.push_back(pick(model, 1, 3));
      if (pick(model, 0, 1) == 0) shape[d] = 1;
    }
    target.insert(target.begin(), pick(model, 1, 3));
    ValueId x = random_input(model, shape);
    model.graph.mark_output(model.op("Tile", {x, model.ints(repeats)}));
    model.graph.mark_output(model.op("Expand", {x, model.ints(target)}));
    expect_compiled(model);
  }
}

TEST_F(Movement, RandomPads) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    std::vector<int64_t> pads;
    for (size_t d = 0; d < 2 * shape.size(); ++d) pads.push_back(pick(model, -1, 3));
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] < 3) pads[d] = std::max<int64_t>(0, pads[d]);
    }
    std::vector<ValueId> operands = {model.input(shape), model.ints(pads)};
    if (seed % 2 == 0) operands.push_back(model.scalar(-2.5F));
    model.graph.mark_output(model.op("Pad", operands));
    expect_compiled(model);
  }
}

TEST_F(Movement, DepthAndSpace) {
  for (const char* mode : {"DCR", "CRD"}) {
    for (int64_t block : {2, 3}) {
      Model model(3);
      ir::AttrMap attrs;
      attrs.set("blocksize", block);
      ValueId s = model.op("SpaceToDepth", {model.input({2, 5, 6 * block, 7 * block})}, attrs);
      attrs.set("mode", std::string(mode));
      model.graph.mark_output(s);
      model.graph.mark_output(model.op("DepthToSpace", {model.input({2, 3 * block * block, 5, 9})}, attrs));
      expect_compiled(model);
    }
  }
}

TEST_F(Movement, RandomGathers) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    Shape shape = random_shape(model);
    int64_t axis = pick(model, 0, static_cast<int64_t>(shape.size()) - 1);
    int64_t extent = shape[static_cast<size_t>(axis)];
    std::vector<int64_t> indices;
    for (int64_t i = pick(model, 1, 12); i > 0; --i) indices.push_back(pick(model, -extent, extent - 1));
    ir::AttrMap attrs;
    attrs.set("axis", axis);
    auto count = static_cast<int64_t>(indices.size());
    ValueId index;
    if (seed % 3 == 0) {
      index = model.ints(indices);
    } else if (seed % 3 == 1) {
      index = model.input(ir::DType::I64, {1, count}, indices);
    } else {
      index = model.input(ir::DType::I32, {count}, std::vector<int32_t>(indices.begin(), indices.end()));
    }
    model.graph.mark_output(model.op("Gather", {model.input(shape), index}, attrs));
    expect_compiled(model);
  }
}

TEST_F(Movement, BytesAreCopiedFourAtATime) {
  Model model(1);
  std::vector<uint8_t> bytes(6 * 8);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(model.random()());
  ir::AttrMap attrs;
  attrs.set("perm", runtime::Ints{1, 0, 2});
  model.graph.mark_output(model.op("Transpose", {model.input(ir::DType::U8, {2, 3, 8}, bytes)}, attrs));
  expect_compiled(model);
}

// Nothing moves: every row steps aside, none of them divides by an extent of 0.
TEST_F(Movement, EmptyTensorsAreLeftToTheReference) {
  ir::AttrMap axis1, blocks;
  axis1.set("axis", int64_t{1});
  blocks.set("blocksize", int64_t{2});
  using Make = std::vector<ValueId> (*)(Model&, const ir::AttrMap&, const ir::AttrMap&);
  const std::vector<std::pair<const char*, Make>> makers = {
      {"Tile",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Tile", {m.input({0, 3}), m.ints({2, 1})}, {}, 1);
       }},
      {"Tile to nothing",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Tile", {m.input({2, 3}), m.ints({0, 1})}, {}, 1);
       }},
      {"Expand",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Expand", {m.input({0, 1}), m.ints({2, 0, 3})}, {}, 1);
       }},
      {"Transpose",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Transpose", {m.input({3, 0, 2})}, {}, 1);
       }},
      {"Slice",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Slice", {m.input({4, 3}), m.ints({2}), m.ints({2})}, {}, 1);
       }},
      {"Pad",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Pad", {m.input({0, 3}), m.ints({1, 0, 1, 0})}, {}, 1);
       }},
      {"Reshape",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap&) {
         return m.ops("Reshape", {m.input({0, 3}), m.ints({0, 3})}, {}, 1);
       }},
      {"Concat",
       [](Model& m, const ir::AttrMap& axis, const ir::AttrMap&) {
         return m.ops("Concat", {m.input({2, 0}), m.input({2, 3})}, axis, 1);
       }},
      {"Split",
       [](Model& m, const ir::AttrMap& axis, const ir::AttrMap&) {
         return m.ops("Split", {m.input({2, 3}), m.ints({0, 3})}, axis, 2);
       }},
      {"Gather",
       [](Model& m, const ir::AttrMap& axis, const ir::AttrMap&) {
         return m.ops("Gather", {m.input({0, 3}), m.ints({1, 2})}, axis, 1);
       }},
      {"DepthToSpace",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap& block) {
         return m.ops("DepthToSpace", {m.input({0, 4, 3, 3})}, block, 1);
       }},
      {"SpaceToDepth",
       [](Model& m, const ir::AttrMap&, const ir::AttrMap& block) {
         return m.ops("SpaceToDepth", {m.input({0, 4, 4, 4})}, block, 1);
       }},
  };
  for (const auto& [name, make] : makers) {
    SCOPED_TRACE(name);
    Model model(1);
    all(make(model, axis1, blocks), model);
    EXPECT_EQ(check(model, *jit_, 0).references, 1);
  }
}

// The shape of a scalar is an operand without elements; the data still moves.
TEST_F(Movement, ReshapesToScalarsShareMemory) {
  Model model(1);
  ValueId x = model.op("Relu", {model.input({1, 1})});
  ValueId y = model.op("Reshape", {x, model.ints({})});
  model.graph.mark_output(y);
  EXPECT_TRUE(codegen::whole_copy(model.graph, model.graph.value(y).producer).has_value());
  check(model, *jit_, 0);
}

TEST_F(Movement, ReshapesShareMemory) {
  Model model(1);
  ValueId x = model.op("Relu", {model.input({2, 3, 4})});
  ValueId y = model.op("Reshape", {x, model.ints({6, 4})});
  model.graph.mark_output(y);
  auto shared = codegen::whole_copy(model.graph, model.graph.value(y).producer);
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->part, y);
  EXPECT_EQ(shared->whole, x);
  expect_compiled(model);
}

TEST_F(Movement, ConcatOfWholeImagesIsInPlace) {
  Model model(1);
  ir::AttrMap attrs;
  attrs.set("axis", int64_t{1});
  ValueId a = model.input({1, 3, 16});
  ValueId b = model.input({1, 2, 16});
  ValueId y = model.op("Concat", {a, b}, attrs);
  model.graph.mark_output(y);
  auto lowered = jit_->lower(model.graph, model.graph.node_ids());
  ASSERT_TRUE(lowered.is_ok());
  ASSERT_EQ(lowered->calls.size(), 2U);
  const auto& second = std::get<codegen::LoweredKernel>(lowered->calls[1]);
  ASSERT_TRUE(second.in_place.has_value());
  EXPECT_EQ(second.in_place->part, b);
  EXPECT_EQ(second.in_place->whole, y);
  EXPECT_EQ(second.in_place->offset, 3U * 16 * 4);
}

}  // namespace
}  // namespace collage::codegen_test
