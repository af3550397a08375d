// SPDX-License-Identifier: Apache-2.0
// Runs a graph twice: on the reference kernels, and compiled. Compiled kernels get poisoned results, guard zones after
// every buffer, and their parallel range in random pieces. Values may lie in any layout.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/codegen/lower/has_code.h"
#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/op_def.h"
#include "runtime/core/element.h"
#include "runtime/core/external_functions.h"
#include "runtime/core/layout.h"
#include "runtime/kernels/kernel.h"
#include "runtime/support/diagnostic.h"
#include "tests/unit/compiler/codegen/make_code.h"

namespace collage::codegen_test {

using ir::Shape;
using ir::ValueId;

class Model {
 public:
  explicit Model(unsigned seed) : random_(seed) {}

  ir::Graph graph;

  /// The type of inputs, constants and scalars that do not name another one.
  ir::DType dtype = ir::DType::F32;

  ValueId input(const Shape& shape) { return graph.add_input(graph.unique_name("in"), {dtype, shape}); }

  ValueId constant(const Shape& shape, float low = -1, float high = 1) {
    ir::Constant c;
    c.data = random_tensor(shape, low, high, dtype);
    return graph.add_constant(graph.unique_name("const"), c);
  }

  ValueId scalar(float value) {
    ir::Constant c;
    c.data = runtime::Tensor(dtype, {});
    runtime::set_element(c.data.view(), 0, value);
    return graph.add_constant(graph.unique_name("const"), c);
  }

  ValueId ints(const std::vector<int64_t>& values) {
    ir::Constant c;
    c.data = runtime::Tensor(ir::DType::I64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), c.data.as<int64_t>().begin());
    return graph.add_constant(graph.unique_name("const"), c);
  }

  /// An input of another dtype, with its data.
  ValueId input(runtime::Tensor data) {
    ValueId id = graph.add_input(graph.unique_name("in"), {data.dtype(), data.shape()});
    given[id] = std::move(data);
    return id;
  }

  template <typename T>
  ValueId input(ir::DType dtype, const Shape& shape, const std::vector<T>& values) {
    runtime::Tensor data(dtype, shape);
    std::copy(values.begin(), values.end(), data.as<T>().begin());
    return input(std::move(data));
  }

  ValueId op(const std::string& name, std::vector<ValueId> operands, ir::AttrMap attrs = {}) {
    std::vector<ValueId> results = ops(name, std::move(operands), std::move(attrs), 1);
    return results.empty() ? ValueId() : results[0];
  }

  std::vector<ValueId> ops(const std::string& name, std::vector<ValueId> operands, ir::AttrMap attrs, size_t count) {
    const ir::OpDef* def = ir::find_op(name);
    if (def == nullptr) {
      ADD_FAILURE() << "no operator " << name;
      return {};
    }
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    ir::NodeSource source;
    source.where = "test";
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(graph.unique_name("v" + std::to_string(i)));
    ir::NodeId node = ir::append_inferred(graph, *def, std::move(operands), std::move(attrs), names, source, diags);
    if (!node.is_valid()) {
      ADD_FAILURE() << name << " does not infer";
      return {};
    }
    return graph.node(node).outputs;
  }

  std::map<ValueId, runtime::Tensor> given;

  /// Integers have all bits random, as far as doubles hold them; of booleans some are true.
  runtime::Tensor random_tensor(const Shape& shape, float low, float high, ir::DType of = ir::DType::F32) {
    runtime::Tensor tensor(of, shape);
    std::uniform_real_distribution<float> number(low, high);
    std::uniform_real_distribution<double> wide(low, high);
    runtime::with_element_type(of, [&]<typename T>(runtime::Type<T>) {
      for (T& x : tensor.as<T>()) {
        if constexpr (std::is_same_v<T, float>) {
          x = number(random_);
        } else if constexpr (std::is_same_v<T, double>) {
          x = wide(random_);
        } else if constexpr (runtime::kIsFloat<T>) {
          x = static_cast<T>(number(random_));
        } else {
          const uint64_t bits = (uint64_t{random_()} << 32) | random_();
          x = of == ir::DType::Bool ? static_cast<T>(bits & 1) : static_cast<T>(bits);
        }
      }
    });
    return tensor;
  }

  std::mt19937& random() { return random_; }

 private:
  std::mt19937 random_;
};

inline constexpr size_t kGuard = 64;
inline constexpr uint32_t kPoison = 0x7fc0dead;

/// A buffer with poison in and after it.
class Memory {
 public:
  explicit Memory(size_t floats) : size_(floats), data_(floats + kGuard + 16) {
    auto address = reinterpret_cast<uintptr_t>(data_.data());
    first_ = (64 - address % 64) % 64 / 4;
    for (size_t i = 0; i < size_ + kGuard - 16; ++i) std::memcpy(&data()[i], &kPoison, 4);
  }
  float* data() { return data_.data() + first_; }
  bool guard_intact() {
    for (size_t i = size_; i < size_ + kGuard - 16; ++i) {
      if (std::memcmp(&data()[i], &kPoison, 4) != 0) return false;
    }
    return true;
  }

 private:
  size_t size_;
  size_t first_ = 0;
  std::vector<float> data_;
};

struct RunStats {
  int kernels = 0;
  int references = 0;
  int failed_checks = 0;
};

inline void run_reference(const ir::Graph& graph, ir::NodeId id, std::map<ValueId, runtime::TensorView>& views) {
  const ir::Node& node = graph.node(id);
  std::vector<runtime::TensorView> inputs;
  std::vector<runtime::TensorView> outputs;
  for (ValueId v : node.inputs) inputs.push_back(v.is_valid() ? views.at(v) : runtime::TensorView{});
  for (ValueId v : node.outputs) outputs.push_back(v.is_valid() ? views.at(v) : runtime::TensorView{});
  runtime::ReferenceKernel kernel = runtime::find_reference_kernel(node.op->name);
  ASSERT_NE(kernel, nullptr) << node.op->name;
  runtime::Status status = kernel({inputs, outputs, node.attrs});
  ASSERT_TRUE(status.is_ok()) << status.message();
}

/// The tensor's elements as they lie in `layout`.
inline runtime::Tensor in_layout(const runtime::Tensor& plain, const std::string& layout) {
  runtime::Tensor copy(plain.dtype(), plain.shape());
  runtime::reorder(plain.view(), runtime::kPlainLayout, copy.view(), layout);
  return copy;
}

inline void run_kernel(const codegen::Jit& jit, const codegen::LoweredKernel& kernel,
                       const codegen::LoweredPartition& partition, std::map<ValueId, runtime::TensorView>& views,
                       std::vector<Memory>& temporaries, std::mt19937& random) {
  std::vector<void*> buffers;
  for (const codegen::LoweredOperand& operand : kernel.operands) {
    if (operand.kind == codegen::LoweredOperand::Kind::Value) {
      buffers.push_back(views.at(operand.value).data);
    } else if (operand.kind == codegen::LoweredOperand::Kind::Constant) {
      buffers.push_back(partition.constants[static_cast<size_t>(operand.index)].data());
    } else {
      buffers.push_back(temporaries[static_cast<size_t>(operand.index)].data());
    }
  }
  Memory scratch(kernel.scratch_bytes / 4);
  if (kernel.scratch_bytes > 0) buffers.push_back(scratch.data());
  runtime::KernelFunction function = jit.find(kernel.symbol);
  ASSERT_NE(function, nullptr);
  // Pieces in random order: the parallel contract.
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (int64_t at = 0; at < kernel.extent;) {
    int64_t length = 1 + static_cast<int64_t>(random() % static_cast<unsigned>(kernel.extent));
    int64_t end = std::min(kernel.extent, at + length);
    pieces.emplace_back(at, end);
    at = end;
  }
  std::shuffle(pieces.begin(), pieces.end(), random);
  for (auto [begin, end] : pieces) function(buffers.data(), runtime::external_table(), begin, end);
  for (Memory& temporary : temporaries) EXPECT_TRUE(temporary.guard_intact()) << "temporary overrun";
  EXPECT_TRUE(scratch.guard_intact()) << "scratch overrun";
}

/// Doubles, as `check` compares floats.
inline void expect_near(const ir::Value& value, Memory& mine, const runtime::Tensor& expected, double tolerance) {
  const auto want = expected.as<double>();
  uint32_t first = 0;
  if (!want.empty()) std::memcpy(&first, mine.data(), 4);
  if (first == kPoison && !value.is_output) return;  // fused away
  double scale = 0;
  for (double x : want) scale = std::isfinite(x) ? std::max(scale, std::abs(x)) : scale;
  for (size_t i = 0; i < want.size(); ++i) {
    double got;
    std::memcpy(&got, mine.data() + 2 * i, sizeof got);
    uint32_t low = 0;
    std::memcpy(&low, &got, sizeof low);
    const bool is_nan = std::isnan(got) && std::isnan(want[i]) && low != kPoison;
    if (got == want[i] || is_nan || std::abs(got - want[i]) <= tolerance * (1 + scale)) continue;
    ADD_FAILURE() << "%" << value.name << " " << runtime::to_string(value.type.shape) << " [" << i << "]: got " << got
                  << ", expected " << want[i];
    break;
  }
  EXPECT_TRUE(mine.guard_intact()) << "%" << value.name << " overrun";
}

/// f16 and bf16: both round numbers that may differ a little, so they may be neighbours.
inline void expect_neighbours(const ir::Value& value, Memory& mine, const runtime::Tensor& expected) {
  uint32_t first = 0;
  std::memcpy(&first, mine.data(), 4);
  if (first == kPoison && !value.is_output) return;  // fused away
  const runtime::TensorView got{value.type.dtype, value.type.shape, reinterpret_cast<std::byte*>(mine.data())};
  double scale = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double x = runtime::element_as_double(expected.view(), i);
    scale = std::isfinite(x) ? std::max(scale, std::abs(x)) : scale;
  }
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double x = runtime::element_as_double(got, i);
    const double want = runtime::element_as_double(expected.view(), i);
    const bool same = x == want || (std::isnan(x) && std::isnan(want));
    if (same || std::abs(x - want) <= runtime::epsilon_of(value.type.dtype) * scale) continue;
    ADD_FAILURE() << "%" << value.name << " " << runtime::to_string(value.type.shape) << " [" << i << "]: got " << x
                  << ", expected " << want;
    break;
  }
  EXPECT_TRUE(mine.guard_intact()) << "%" << value.name << " overrun";
}

/// Where COLLAGE_PROCESSORS names processors, code of all that is checked is made for them, too (tests/processors/).
inline void make_for_other_processors(const ir::Graph& graph, const codegen::LowerOptions& options) {
  class Maker : public ::testing::Environment {
   public:
    void TearDown() override { std::fputs(maker.table().c_str(), stdout); }
    CodeMaker maker{processors_to_try()};
  };
  if (std::getenv("COLLAGE_PROCESSORS") == nullptr) return;
  static auto* const kMaker = dynamic_cast<Maker*>(::testing::AddGlobalTestEnvironment(new Maker()));  // GoogleTest's
  EXPECT_EQ(kMaker->maker.make(graph, options), "");
}

/// Inputs are random in [low, high]. Every output, and every value that compiled code stores, must agree within
/// tolerance * (1 + scale of the result). `options` are as for the JIT: layouts of inputs and outputs, generators.
inline RunStats check(Model& model, codegen::Jit& jit, double tolerance = 2e-6, float low = -1, float high = 1,
                      const codegen::LowerOptions& options = {}) {
  RunStats stats;
  const ir::Graph& graph = model.graph;
  std::map<ValueId, runtime::Tensor> expected;
  std::map<ValueId, runtime::TensorView> expected_views;
  std::map<ValueId, Memory> memory;
  std::map<ValueId, runtime::TensorView> views;
  for (ValueId id : graph.value_ids()) {
    const ir::Value& value = graph.value(id);
    if (value.is_constant()) {
      expected[id] = value.constant->data;
    } else if (model.given.contains(id)) {
      expected[id] = model.given[id];
    } else if (value.is_input) {
      expected[id] = model.random_tensor(value.type.shape, low, high, value.type.dtype);
    } else {
      expected[id] = runtime::Tensor(value.type.dtype, value.type.shape);
    }
    expected_views[id] = expected[id].view();
    views[id] = expected_views[id];
    if (!value.producer.is_valid()) continue;
    auto at = memory.emplace(id, Memory(expected[id].bytes() / 4 + 1)).first;
    views[id].data = reinterpret_cast<std::byte*>(at->second.data());
  }
  for (ir::NodeId id : graph.node_ids()) run_reference(graph, id, expected_views);
  if (::testing::Test::HasFatalFailure()) return stats;
  make_for_other_processors(graph, options);

  auto lowered = jit.lower(graph, graph.node_ids(), options);
  if (!lowered.is_ok()) {
    ADD_FAILURE() << lowered.message();
    return stats;
  }
  std::map<ValueId, runtime::Tensor> moved;  // operands from outside that do not lie plainly
  std::set<ValueId> seen;
  for (const auto& call : lowered->calls) {
    const auto* kernel = std::get_if<codegen::LoweredKernel>(&call);
    if (kernel == nullptr) continue;
    for (const codegen::LoweredOperand& operand : kernel->operands) {
      if (operand.kind != codegen::LoweredOperand::Kind::Value || operand.layout == runtime::kPlainLayout) continue;
      if (!seen.insert(operand.value).second) continue;
      if (memory.contains(operand.value)) {
        expected[operand.value] = in_layout(expected[operand.value], operand.layout);
        continue;
      }
      moved[operand.value] = in_layout(expected[operand.value], operand.layout);
      views[operand.value].data = moved[operand.value].data();
    }
  }
  std::vector<Memory> temporaries;
  for (size_t bytes : lowered->temporaries) temporaries.emplace_back(bytes / 4);
  for (const auto& call : lowered->calls) {
    if (const auto* reference = std::get_if<codegen::LoweredReference>(&call)) {
      run_reference(graph, reference->node, views);
      EXPECT_FALSE(reference->is_fault) << reference->reason;
      EXPECT_NE(reference->reason, "");
      ++stats.references;
    } else if (const auto* rule = std::get_if<codegen::LoweredCheck>(&call)) {
      int64_t index;
      std::memcpy(&index, temporaries[static_cast<size_t>(rule->temporary)].data(), sizeof index);
      if (index < -rule->extent || index >= rule->extent) ++stats.failed_checks;
    } else {
      run_kernel(jit, std::get<codegen::LoweredKernel>(call), *lowered, views, temporaries, model.random());
      ++stats.kernels;
    }
    if (::testing::Test::HasFatalFailure()) return stats;
  }
  for (auto& [id, mine] : memory) {
    const ir::Value& value = graph.value(id);
    if (value.type.dtype == ir::DType::F64) {
      expect_near(value, mine, expected[id], tolerance);
      continue;
    }
    if (runtime::is_narrow_float(value.type.dtype)) {
      expect_neighbours(value, mine, expected[id]);
      continue;
    }
    if (value.type.dtype != ir::DType::F32) {
      EXPECT_TRUE(mine.guard_intact()) << "%" << value.name << " overrun";
      if (value.is_output) {
        EXPECT_EQ(std::memcmp(mine.data(), expected[id].data(), expected[id].bytes()), 0) << "%" << value.name;
      }
      EXPECT_TRUE(mine.guard_intact()) << "%" << value.name << " overrun";
      continue;
    }
    auto want = expected[id].as<float>();
    uint32_t first = 0;
    if (!want.empty()) std::memcpy(&first, mine.data(), 4);
    if (first == kPoison && !value.is_output) continue;  // fused away
    double scale = 0;
    for (float x : want) {
      if (std::isfinite(x)) scale = std::max(scale, std::abs(static_cast<double>(x)));
    }
    for (size_t i = 0; i < want.size(); ++i) {
      float got = mine.data()[i];
      bool same = got == want[i] || (std::isnan(got) && std::isnan(want[i]) && std::memcmp(&got, &kPoison, 4) != 0) ||
                  std::abs(static_cast<double>(got) - want[i]) <= tolerance * (1 + scale);
      if (!same) {
        ADD_FAILURE() << "%" << value.name << " of " << graph.node(value.producer).op->name << " "
                      << runtime::to_string(value.type.shape) << " [" << i << "]: got " << got << ", expected "
                      << want[i];
        break;
      }
    }
    EXPECT_TRUE(mine.guard_intact()) << "%" << value.name << " overrun";
  }
  return stats;
}

/// A JIT; `make` replaces it by one for another number of threads, one that keeps its text, or one for another
/// processor.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override { make(1); }
  void make(int threads, bool keep_text = false, const std::string& cpu = "") {
    codegen::JitOptions options;
    options.threads = threads;
    options.keep_text = keep_text;
    options.cpu = cpu;
    auto jit = codegen::Jit::create(options);
    ASSERT_TRUE(jit.is_ok()) << jit.message();
    jit_ = std::move(*jit);
  }
  std::unique_ptr<codegen::Jit> jit_;
};

/// Those of the processors that this machine can run code for; empty: this one.
inline std::vector<std::string> runnable(std::vector<std::string> cpus) {
  std::erase_if(cpus, [](const std::string& cpu) { return !codegen::cpu_obstacle(cpu).empty(); });
  return cpus;
}

/// The same for the processor that the parameter names; empty: this one.
class IsaTest : public KernelTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const std::string obstacle = codegen::cpu_obstacle(GetParam());
    if (!obstacle.empty()) GTEST_SKIP() << obstacle;
    make(1, false, GetParam());
  }

  /// So many kernels, and code for every operator.
  void expect_compiled(Model& model, int kernels = 1, double tolerance = 0, float low = -1, float high = 1) {
    const RunStats stats = check(model, *jit_, tolerance, low, high);
    EXPECT_EQ(stats.kernels, kernels);
    EXPECT_EQ(stats.references, 0);
    for (ir::NodeId node : model.graph.node_ids()) EXPECT_TRUE(codegen::has_code(model.graph, node));
  }

  /// Its one operator has no code.
  void expect_reference(Model& model) {
    const RunStats stats = check(model, *jit_, 0);
    EXPECT_EQ(stats.kernels, 0);
    EXPECT_EQ(stats.references, 1);
    EXPECT_FALSE(codegen::has_code(model.graph, model.graph.node_ids()[0]));
  }
};

/// A number from `low` to `high`.
inline int64_t pick(Model& model, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(model.random()() % static_cast<unsigned>(high - low + 1));
}

}  // namespace collage::codegen_test
