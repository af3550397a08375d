// SPDX-License-Identifier: Apache-2.0
// A graph of random numbers as one program of a library, held against the reference kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/analysis/infer.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/plan/lower_library.h"
#include "runtime/libraries/library.h"

namespace collage::runtime::test {

struct LibraryRun {
  std::string failure;  ///< empty: it ran
  std::string text;     ///< LibraryKernel::describe, one line each
  std::vector<LibraryPart> parts{};
  std::vector<double> part_seconds{};  ///< of one run, by part; empty: the library does not tell
  std::optional<KeptConstants> kept{};

  /// Bytes of constants that it keeps: unchanged, and in all.
  size_t given_bytes() const {
    size_t bytes = 0;
    for (const Tensor& constant : kept->as_given) bytes += constant.bytes();
    return bytes;
  }
  size_t kept_bytes() const { return given_bytes() + kept->packed; }

  /// The operators of the program whose results the parts make, in their order; -1: a change of layout.
  std::vector<int> ops() const {
    std::vector<int> ops;
    for (const LibraryPart& part : parts) ops.push_back(part.op);
    return ops;
  }
};

class LibraryModel {
 public:
  explicit LibraryModel(unsigned seed = 1) : random(seed) {}

  ir::Graph graph;
  std::mt19937 random;
  float low = -1, high = 1;  ///< of inputs and constants

  ir::ValueId input(Shape shape, DType dtype = DType::F32) {
    return graph.add_input(graph.unique_name("x"), {dtype, std::move(shape)});
  }
  ir::ValueId constant(Tensor data) {
    return graph.add_constant(graph.unique_name("w"), ir::make_constant(std::move(data)));
  }
  ir::ValueId constant(const Shape& shape) { return constant(tensor(shape)); }
  ir::ValueId number(float value) {
    Tensor scalar(DType::F32, {});
    scalar.as<float>()[0] = value;
    return constant(scalar);
  }
  ir::ValueId ints(const std::vector<int64_t>& values) {
    Tensor list(DType::I64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), list.as<int64_t>().begin());
    return constant(list);
  }
  ir::ValueId add(const char* op, std::vector<ir::ValueId> operands,
                  const std::vector<std::pair<std::string, AttrValue>>& attrs = {}) {
    return add_many(op, std::move(operands), attrs, 1)[0];
  }
  /// An operator of several results.
  std::vector<ir::ValueId> add_many(const char* op, std::vector<ir::ValueId> operands,
                                    const std::vector<std::pair<std::string, AttrValue>>& attrs, size_t results) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    AttrMap map;
    for (const auto& [name, value] : attrs) map.set(name, value);
    std::vector<std::string> names;
    for (size_t i = 0; i < results; ++i) names.push_back(graph.unique_name("v" + std::to_string(i) + "_"));
    ir::NodeId node = ir::append_inferred(graph, *ir::find_op(op), std::move(operands), map, names, {}, diags);
    if (!node.is_valid()) {
      ADD_FAILURE() << op << ": " << diags.render();
      return std::vector<ir::ValueId>(results);
    }
    return graph.node(node).outputs;
  }
  /// Values that are read outside.
  void output(ir::ValueId value) { graph.mark_output(value); }

  Tensor tensor(const Shape& shape) {
    Tensor made(DType::F32, shape);
    std::uniform_real_distribution<float> uniform(low, high);
    for (float& value : made.as<float>()) value = uniform(random);
    return made;
  }

  /// All nodes are one program. Results agree within tolerance * max |y|, twice, with the same bits; and so do those of
  /// kernels that share with it and run at the same time.
  LibraryRun run(std::string_view library, double tolerance = 2e-6, int threads = 2) {
    ir::Partition partition;
    partition.nodes = graph.node_ids();
    for (ir::ValueId id : ir::boundary_inputs(graph, partition.nodes)) partition.inputs.push_back({id, ir::kHostPlain});
    for (ir::ValueId id : ir::boundary_outputs(graph, partition.nodes))
      partition.outputs.push_back({id, ir::kHostPlain});
    LibraryProgram program = plan::make_program(graph, partition);
    auto kernel = prepare_library(library, program, threads);
    if (!kernel) return {kernel.message(), ""};
    LibraryRun result;
    result.kept = (*kernel)->kept();
    if (Status status = (*kernel)->load(); !status) return {status.message(), ""};
    if (const std::optional<KeptConstants> loaded = (*kernel)->kept()) {
      EXPECT_EQ(result.kept->packed, loaded->packed) << "known before";
      EXPECT_EQ(result.kept->as_given.size(), loaded->as_given.size());
    }
    for (const std::string& line : (*kernel)->describe()) result.text += line + "\n";

    std::vector<Tensor> inputs;
    for (ir::ValueId id : graph.inputs()) inputs.push_back(tensor(graph.value(id).type.shape));
    auto expected = ir::evaluate_graph(graph, inputs);
    if (!expected) {
      ADD_FAILURE() << expected.message();
      return result;
    }
    std::vector<std::byte*> from;
    for (const ir::BoundaryValue& value : partition.inputs) from.push_back(given(value.value, inputs).data());
    const auto run_on = [&](LibraryKernel& one) -> Result<std::vector<Tensor>> {
      std::vector<std::byte*> to;
      std::vector<Tensor> outputs;
      for (const ir::BoundaryValue& value : partition.outputs) {
        outputs.emplace_back(graph.value(value.value).type.dtype, graph.value(value.value).type.shape);
        std::memset(outputs.back().data(), 0x7f, outputs.back().bytes());
        to.push_back(outputs.back().data());
      }
      if (Status status = one.run(from, to); !status) return status;
      return outputs;
    };
    const auto expect_identical = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
      for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(identical(a[i], b[i])) << "two runs differ\n" << result.text;
    };
    Result<std::vector<Tensor>> first = run_on(**kernel);
    if (!first) return {first.message(), result.text};
    for (size_t i = 0; i < first->size(); ++i) {
      expect_close((*first)[i], (*expected)[place(partition.outputs[i].value)], tolerance, result.text);
    }
    std::vector<double> seconds;
    (*kernel)->time_parts(&seconds);
    Result<std::vector<Tensor>> second = run_on(**kernel);
    (*kernel)->time_parts(nullptr);
    if (!second) return {second.message(), result.text};
    expect_identical(*first, *second);
    result.parts = (*kernel)->parts();
    result.part_seconds = std::move(seconds);
    for (const LibraryPart& part : result.parts) EXPECT_LT(part.op, static_cast<int>(program.ops.size())) << part.text;
    if (!library.starts_with("plugin:")) {
      EXPECT_EQ(result.part_seconds.size(), result.parts.size()) << result.text;
    }
    if (!(*kernel)->shares()) return result;
    Result<std::unique_ptr<LibraryKernel>> other = (*kernel)->share();
    if (!other) return {other.message(), result.text};
    Result<std::vector<Tensor>> beside = Status::error("it did not run");
    std::thread thread([&] { beside = run_on(**other); });
    Result<std::vector<Tensor>> third = run_on(**kernel);
    thread.join();
    if (!third || !beside) return {third ? beside.message() : third.message(), result.text};
    expect_identical(*first, *third);
    expect_identical(*first, *beside);
    // It needs nothing of the kernel that it was made from.
    kernel->reset();
    Result<std::vector<Tensor>> alone = run_on(**other);
    if (!alone) return {alone.message(), result.text};
    expect_identical(*first, *alone);
    return result;
  }

  /// The library computes `y` as the reference kernels do, and says `expected_text` about it.
  void expect_runs(const std::string& library, ir::ValueId y, const std::string& expected_text = "") {
    output(y);
    const LibraryRun run = this->run(library);
    EXPECT_EQ(run.failure, "");
    EXPECT_NE(run.text.find(expected_text), std::string::npos) << expected_text << " is not in\n" << run.text;
  }

 private:
  const Tensor& given(ir::ValueId id, const std::vector<Tensor>& inputs) const {
    auto at = std::find(graph.inputs().begin(), graph.inputs().end(), id);
    return inputs[static_cast<size_t>(at - graph.inputs().begin())];
  }
  size_t place(ir::ValueId output) const {
    auto at = std::find(graph.outputs().begin(), graph.outputs().end(), output);
    return static_cast<size_t>(at - graph.outputs().begin());
  }

  static void expect_close(const Tensor& got, const Tensor& want, double tolerance, const std::string& text) {
    double largest = 0, difference = 0;
    for (int64_t i = 0; i < want.count(); ++i) {
      double y = element_as_double(want.view(), i), d = std::abs(element_as_double(got.view(), i) - y);
      largest = std::max(largest, std::abs(y));
      difference = std::isnan(d) ? INFINITY : std::max(difference, d);
    }
    EXPECT_LE(difference, tolerance * std::max(largest, 1e-30)) << to_string(want.shape()) << "\n" << text;
  }
};

}  // namespace collage::runtime::test
