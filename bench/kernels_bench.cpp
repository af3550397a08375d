// SPDX-License-Identifier: Apache-2.0
// Times compiled kernels: GFLOP/s, and percent of what one cache-resident block of the GEMM kernel reaches
// right before, all threads together.
//
// Convolutions run on plain tensors and with the channels last.
//
//   kernels_bench [threads]
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/op_def.h"
#include "compiler/support/diagnostic.h"
#include "runtime/core/external_functions.h"

namespace {

using namespace collage;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One kernel with operands of its own.
class Runner {
 public:
  Runner(const codegen::Jit& jit, const ir::Graph& graph, codegen::LoweredPartition partition, int threads)
      : partition_(std::move(partition)), threads_(threads) {
    std::vector<void*> temporaries;
    for (size_t bytes : partition_.temporaries) {
      tensors_.emplace_back(runtime::DType::U8, runtime::Shape{static_cast<int64_t>(bytes)});
      temporaries.push_back(tensors_.back().data());
    }
    for (const auto& call : partition_.calls) {
      const auto* kernel = std::get_if<codegen::LoweredKernel>(&call);
      if (kernel == nullptr) continue;
      Call c;
      c.function = jit.find(kernel->symbol);
      c.extent = kernel->extent;
      std::vector<void*> buffers;
      for (const auto& operand : kernel->operands) {
        if (operand.kind == codegen::LoweredOperand::Kind::Constant) {
          buffers.push_back(partition_.constants[static_cast<size_t>(operand.index)].data());
        } else if (operand.kind == codegen::LoweredOperand::Kind::Temporary) {
          buffers.push_back(temporaries[static_cast<size_t>(operand.index)]);
        } else {
          const ir::Value& value = graph.value(operand.value);
          tensors_.push_back(value.is_constant() ? value.constant->data
                                                 : runtime::Tensor(value.type.dtype, value.type.shape));
          buffers.push_back(tensors_.back().data());
        }
      }
      for (int t = 0; t < threads; ++t) {
        c.buffers.push_back(buffers);
        if (kernel->scratch_bytes == 0) continue;
        tensors_.emplace_back(runtime::DType::F32, runtime::Shape{static_cast<int64_t>(kernel->scratch_bytes / 4)});
        c.buffers.back().push_back(tensors_.back().data());
      }
      calls_.push_back(std::move(c));
    }
  }

  bool is_compiled() const {
    return std::none_of(partition_.calls.begin(), partition_.calls.end(),
                        [](const auto& call) { return std::holds_alternative<codegen::LoweredReference>(call); });
  }

  void run() const {
    for (const Call& c : calls_) {
      if (threads_ == 1) {
        c.function(c.buffers[0].data(), runtime::external_table(), 0, c.extent);
        continue;
      }
#pragma omp parallel num_threads(threads_)
      {
        int64_t t = omp_get_thread_num();
        c.function(c.buffers[static_cast<size_t>(t)].data(), runtime::external_table(), c.extent * t / threads_,
                   c.extent * (t + 1) / threads_);
      }
    }
  }

  /// The fastest of many calls: what the code can do, whatever else the machine does.
  double best_seconds() const {
    double best = 1e9;
    double until = seconds_now() + 0.3;
    for (int i = 0; i < 5 || seconds_now() < until; ++i) {
      double start = seconds_now();
      run();
      best = std::min(best, seconds_now() - start);
    }
    return best;
  }

 private:
  struct Call {
    runtime::KernelFunction function = nullptr;
    int64_t extent = 1;
    std::vector<std::vector<void*>> buffers;
  };
  codegen::LoweredPartition partition_;
  std::vector<runtime::Tensor> tensors_;
  std::vector<Call> calls_;
  int threads_;
};

struct Case {
  std::string name;
  ir::Graph graph;
  double flops = 0;

  codegen::ValueLayouts channels_last() const {
    codegen::ValueLayouts layouts;
    for (const auto* values : {&graph.inputs(), &graph.outputs()}) {
      for (ir::ValueId value : *values) {
        const size_t rank = graph.value(value).type.shape.size();
        if (rank >= 3) layouts[value] = runtime::layout_of_rank(runtime::kChannelsLast, rank);
      }
    }
    return layouts;
  }
};

ir::ValueId constant(ir::Graph& graph, const ir::Shape& shape) {
  ir::Constant c;
  c.data = runtime::Tensor(ir::DType::F32, shape);
  float x = 0.1F;
  for (float& e : c.data.as<float>()) e = x = x * 0.7F + 0.03F;
  return graph.add_constant(graph.unique_name("c"), c);
}

ir::ValueId node(ir::Graph& graph, const char* op, std::vector<ir::ValueId> operands, ir::AttrMap attrs = {}) {
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  ir::NodeSource source;
  source.where = "bench";
  ir::NodeId id = ir::append_inferred(graph, *ir::find_op(op), std::move(operands), std::move(attrs),
                                      {graph.unique_name("v")}, source, diags);
  return graph.first_output(id);
}

Case gemm(int64_t m, int64_t n, int64_t k) {
  Case c;
  c.name = fmt::format("gemm {}x{}x{}", m, n, k);
  c.flops = 2.0 * static_cast<double>(m * n * k);
  ir::ValueId x = c.graph.add_input("x", {ir::DType::F32, {m, k}});
  ir::ValueId y = node(c.graph, "MatMul", {x, constant(c.graph, {k, n})});
  c.graph.mark_output(node(c.graph, "Relu", {node(c.graph, "Add", {y, constant(c.graph, {n})})}));
  return c;
}

Case conv(int64_t channels, int64_t size, int64_t out, int64_t kernel, int64_t stride, int64_t group = 1) {
  Case c;
  c.name = fmt::format("conv {}x{} {}x{} -> {} /{} g{}", kernel, kernel, size, channels, out, stride, group);
  int64_t pad = kernel / 2;
  ir::AttrMap attrs;
  attrs.set("strides", runtime::Ints{stride, stride});
  attrs.set("pads", runtime::Ints{pad, pad, pad, pad});
  attrs.set("group", group);
  ir::ValueId x = c.graph.add_input("x", {ir::DType::F32, {1, channels, size, size}});
  ir::ValueId w = constant(c.graph, {out, channels / group, kernel, kernel});
  ir::ValueId y = node(c.graph, "Conv", {x, w, constant(c.graph, {out})}, attrs);
  const ir::Shape& shape = c.graph.value(y).type.shape;
  c.flops = 2.0 * static_cast<double>(runtime::element_count(shape) * channels / group * kernel * kernel);
  c.graph.mark_output(node(c.graph, "Relu", {y}));
  return c;
}

/// One L1-resident GEMM: the block of registers at its best.
double peak(codegen::Jit& jit, int threads) {
  Case c = gemm(9L * threads * 4, 48, 128);
  auto lowered = jit.lower(c.graph, c.graph.node_ids());
  Runner runner(jit, c.graph, std::move(*lowered), 1);
  return c.flops / runner.best_seconds() * threads;
}

void time_case(codegen::Jit& jit, const Case& c, const codegen::ValueLayouts& layouts, int threads) {
  const std::string name = c.name + (layouts.empty() ? "" : " last");
  double start = seconds_now();
  auto lowered = jit.lower(c.graph, c.graph.node_ids(), layouts);
  double compile = seconds_now() - start;
  if (!lowered) {
    fmt::print("{:39} {}\n", name, lowered.message());
    return;
  }
  Runner runner(jit, c.graph, std::move(*lowered), threads);
  if (!runner.is_compiled()) {
    fmt::print("{:39} not compiled\n", name);
    return;
  }
  double top = peak(jit, threads);
  double best = runner.best_seconds();
  fmt::print("{:39} {:>10.1f} {:>9.1f} {:>6.1f}% {:>11.1f}\n", name, best * 1e6, c.flops / best * 1e-9,
             100 * c.flops / best / top, compile * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  codegen::JitOptions options;
  options.threads = threads;
  auto jit = codegen::Jit::create(options);
  if (!jit) {
    fmt::print(stderr, "{}\n", jit.message());
    return 1;
  }
  std::vector<Case> cases;
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {128, 768, 768}, {128, 3072, 768}, {128, 768, 3072}, {3136, 64, 576}, {196, 256, 2304}, {49, 2048, 1024}}) {
    cases.push_back(gemm(m, n, k));
  }
  cases.push_back(conv(3, 224, 64, 7, 2));
  for (auto [c, s, o, k, stride] : std::vector<std::array<int64_t, 5>>{{64, 56, 64, 1, 1},
                                                                       {64, 56, 64, 3, 1},
                                                                       {64, 56, 256, 1, 1},
                                                                       {256, 56, 64, 1, 1},
                                                                       {128, 28, 128, 3, 1},
                                                                       {256, 56, 512, 1, 2},
                                                                       {512, 28, 128, 1, 1},
                                                                       {256, 14, 256, 3, 1},
                                                                       {1024, 14, 256, 1, 1},
                                                                       {256, 14, 1024, 1, 1},
                                                                       {512, 14, 512, 3, 2},
                                                                       {512, 7, 512, 3, 1},
                                                                       {2048, 7, 512, 1, 1}}) {
    cases.push_back(conv(c, s, o, k, stride));
  }
  cases.push_back(conv(128, 56, 128, 3, 1, 32));
  cases.push_back(conv(144, 56, 144, 3, 1, 144));
  cases.push_back(conv(144, 56, 144, 3, 2, 144));
  fmt::print("{:39} {:>10} {:>9} {:>7} {:>11}   threads {}\n", "kernel", "us", "GFLOP/s", "peak %", "compile ms",
             threads);
  for (const Case& c : cases) {
    time_case(**jit, c, {}, threads);
    if (!c.channels_last().empty()) time_case(**jit, c, c.channels_last(), threads);
  }
  return 0;
}
