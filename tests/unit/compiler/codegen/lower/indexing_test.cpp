// SPDX-License-Identifier: Apache-2.0
// GatherElements, GatherND, ScatterElements and ScatterND against their reference kernels.
#include "tests/unit/compiler/codegen/harness.h"

namespace collage::codegen_test {
namespace {

class IndexingKernels : public KernelTest {
 protected:
  int64_t pick(Model& model, int64_t low, int64_t high) {
    return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
  }
  /// Whole numbers, so that sums and products do not depend on rounding.
  ValueId data(Model& model, ir::DType dtype, const Shape& shape) {
    runtime::Tensor tensor(dtype, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const int64_t number = pick(model, -3, 3);
      const auto at = static_cast<size_t>(i);
      if (dtype == ir::DType::F32) tensor.as<float>()[at] = static_cast<float>(number);
      if (dtype == ir::DType::I32) tensor.as<int32_t>()[at] = static_cast<int32_t>(number);
      if (dtype == ir::DType::I64) tensor.as<int64_t>()[at] = number << 33;
    }
    return model.input(std::move(tensor));
  }
  /// Indices of both signs; `extent(position)` is that of the dimension which they select from.
  template <typename Extent>
  ValueId indices(Model& model, const Shape& shape, Extent extent) {
    const bool is_short = pick(model, 0, 1) == 0;
    runtime::Tensor tensor(is_short ? ir::DType::I32 : ir::DType::I64, shape);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const int64_t most = extent(i);
      const int64_t index = pick(model, -most, most - 1);
      if (is_short) tensor.as<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(index);
      if (!is_short) tensor.as<int64_t>()[static_cast<size_t>(i)] = index;
    }
    return model.input(std::move(tensor));
  }
  ir::DType dtype(Model& model) {
    return std::vector<ir::DType>{ir::DType::F32, ir::DType::I32,
                                  ir::DType::I64}[static_cast<size_t>(pick(model, 0, 2))];
  }
  std::string reduction(Model& model, ir::DType dtype) {
    if (dtype != ir::DType::F32) return "none";
    return std::vector<std::string>{"none", "add", "mul", "max", "min"}[static_cast<size_t>(pick(model, 0, 4))];
  }
  void expect_compiled(Model& model) {
    RunStats stats = check(model, *jit_, 1e-6);
    EXPECT_GE(stats.kernels, 2);
    EXPECT_EQ(stats.references, 0);
    EXPECT_EQ(stats.failed_checks, 0);
  }
};

TEST_F(IndexingKernels, Elements) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    const int64_t rank = pick(model, 1, 4);
    const int64_t axis = pick(model, 0, rank - 1);
    Shape shape, chosen;
    for (int64_t d = 0; d < rank; ++d) {
      shape.push_back(pick(model, 1, 9));
      chosen.push_back(d == axis ? pick(model, 1, 12) : pick(model, 1, shape.back()));
    }
    const ir::DType type = dtype(model);
    const ValueId x = data(model, type, shape);
    const ValueId index = indices(model, chosen, [&](int64_t) { return shape[static_cast<size_t>(axis)]; });
    ir::AttrMap attrs;
    attrs.set("axis", pick(model, 0, 1) == 0 ? axis : axis - rank);
    if (seed % 2 == 0) {
      model.graph.mark_output(model.op("GatherElements", {x, index}, attrs));
    } else {
      attrs.set("reduction", reduction(model, type));
      model.graph.mark_output(model.op("ScatterElements", {x, index, data(model, type, chosen)}, attrs));
    }
    expect_compiled(model);
  }
}

TEST_F(IndexingKernels, Tuples) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    Model model(seed);
    const bool gathers = seed % 2 == 0;
    const int64_t rank = pick(model, 1, 4);
    const int64_t batch = gathers ? pick(model, 0, rank - 1) : 0;
    const int64_t depth = pick(model, 1, rank - batch);
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) shape.push_back(pick(model, 1, d + 1 == rank ? 70 : 6));
    if (pick(model, 0, 9) == 0) shape.back() = 2500;
    Shape chosen(shape.begin(), shape.begin() + batch);
    for (int64_t d = pick(model, 0, 2); d > 0; --d) chosen.push_back(pick(model, 1, 5));
    chosen.push_back(depth);
    const ir::DType type = dtype(model);
    const ValueId x = data(model, type, shape);
    const ValueId index =
        indices(model, chosen, [&](int64_t i) { return shape[static_cast<size_t>(batch + i % depth)]; });
    ir::AttrMap attrs;
    if (gathers) {
      attrs.set("batch_dims", batch);
      model.graph.mark_output(model.op("GatherND", {x, index}, attrs));
    } else {
      Shape parts(chosen.begin(), chosen.end() - 1);
      parts.insert(parts.end(), shape.begin() + depth, shape.end());
      attrs.set("reduction", reduction(model, type));
      model.graph.mark_output(model.op("ScatterND", {x, index, data(model, type, parts)}, attrs));
    }
    expect_compiled(model);
  }
}

// The kernel touches nothing outside its buffers, and notes the index: the reference kernel would fail.
TEST_F(IndexingKernels, NotesIndicesOutOfRange) {
  for (int64_t wrong : {int64_t{4}, int64_t{-5}, INT64_MAX, INT64_MIN}) {
    for (const char* op : {"GatherElements", "GatherND", "ScatterElements", "ScatterND"}) {
      SCOPED_TRACE(std::string(op) + " " + std::to_string(wrong));
      Model model(1);
      const bool is_nd = std::string(op).ends_with("ND");
      const Shape chosen = is_nd ? Shape{3, 1} : Shape{3};
      const ValueId index = model.input<int64_t>(ir::DType::I64, chosen, {1, wrong, 2});
      std::vector<ValueId> operands = {model.input({4}), index};
      if (std::string(op).starts_with("Scatter")) operands.push_back(model.input({3}));
      const ValueId y = model.op(op, operands);
      model.graph.mark_output(y);
      auto lowered = jit_->lower(model.graph, model.graph.node_ids());
      ASSERT_TRUE(lowered.is_ok());
      std::map<ValueId, Memory> memory;
      std::map<ValueId, runtime::TensorView> views;
      for (ValueId id : model.graph.value_ids()) {
        const ir::TensorType& type = model.graph.value(id).type;
        auto at = memory.emplace(id, Memory(type.bytes() / 4)).first;
        views[id] = {type.dtype, type.shape, reinterpret_cast<std::byte*>(at->second.data())};
      }
      std::memcpy(memory.at(index).data(), model.given.at(index).data(), model.given.at(index).bytes());
      std::vector<Memory> temporaries;
      for (size_t bytes : lowered->temporaries) temporaries.emplace_back(bytes / 4);
      int failed = 0;
      for (const auto& call : lowered->calls) {
        if (const auto* kernel = std::get_if<codegen::LoweredKernel>(&call)) {
          run_kernel(*jit_, *kernel, *lowered, views, temporaries, model.random());
        } else {
          const auto& rule = std::get<codegen::LoweredCheck>(call);
          int64_t found;
          std::memcpy(&found, temporaries[static_cast<size_t>(rule.temporary)].data(), sizeof found);
          EXPECT_EQ(found, wrong);
          EXPECT_EQ(rule.extent, 4);
          ++failed;
        }
      }
      EXPECT_EQ(failed, 1);
      EXPECT_TRUE(memory.at(y).guard_intact());
    }
  }
}

}  // namespace
}  // namespace collage::codegen_test
