// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compiler/codegen/make_code.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "compiler/ir/ops/op_def.h"
#include "runtime/core/text.h"

namespace collage::codegen_test {
namespace {

constexpr std::string_view kUsual = "x86-64-v2,haswell,x86-64-v4";
/// knl has AVX-512 without VL, sandybridge AVX without AVX2 and F16C.
constexpr std::string_view kAll =
    "x86-64,x86-64-v2,x86-64-v3,x86-64-v4,nehalem,sandybridge,ivybridge,haswell,skylake,alderlake,knl,skylake-avx512,"
    "cascadelake,icelake-server,cooperlake,sapphirerapids,graniterapids,btver2,bdver4,znver1,znver2,znver3,znver4,"
    "znver5";

/// `%y Conv+Relu` => `Conv`, the first operator that is not made element by element: a kernel is named by its nodes in
/// order.
std::string operator_of(const codegen::LoweredKernel& kernel) {
  const std::string operators = kernel.name.substr(kernel.name.rfind(' ') + 1);
  return operators.substr(0, operators.find('+'));
}

std::string dtype_of(const ir::Graph& graph, const codegen::LoweredKernel& kernel) {
  for (size_t i = kernel.operands.size(); i-- > 0;) {
    const codegen::LoweredOperand& operand = kernel.operands[i];
    if (operand.kind != codegen::LoweredOperand::Kind::Value || !operand.value.is_valid()) continue;
    return std::string(runtime::name_of(graph.value(operand.value).type.dtype));
  }
  return "-";
}

}  // namespace

std::vector<std::string> processors_to_try() {
  const char* named = std::getenv("COLLAGE_PROCESSORS");
  const std::string_view list = named == nullptr ? kUsual : std::string_view(named);
  return runtime::split(list == "all" ? kAll : list, ',');
}

CodeMaker::CodeMaker(const std::vector<std::string>& processors) {
  for (const std::string& name : processors) {
    codegen::JitOptions options;
    options.cpu = name;
    options.runs_here = false;
    auto jit = codegen::Jit::create(options);
    if (!jit) throw std::runtime_error(name + ": " + jit.message());
    processors_.push_back({name, std::move(*jit)});
  }
}

std::string CodeMaker::make(const ir::Graph& graph, const codegen::LowerOptions& options) {
  std::string refused;
  for (size_t p = 0; p < processors_.size(); ++p) {
    codegen::Jit& jit = *processors_[p].jit;
    const codegen::JitStats before = jit.stats();
    const auto lowered = jit.lower(graph, graph.node_ids(), options);
    if (!lowered) continue;
    const auto count = [&](const std::string& dtype, const std::string& op) -> Count& {
      std::vector<Count>& row = counts_[{dtype, op}];
      row.resize(processors_.size());
      return row[p];
    };
    bool is_first = true;
    for (const auto& call : lowered->calls) {
      if (const auto* reference = std::get_if<codegen::LoweredReference>(&call)) {
        if (!reference->is_fault) continue;
        const std::string op(graph.node(reference->node).op->name);
        const ir::DType dtype = graph.value(graph.first_output(reference->node)).type.dtype;
        ++count(std::string(runtime::name_of(dtype)), op).refused;
        refused += fmt::format("{}: {} {}: {}\n", processors_[p].name, runtime::name_of(dtype), op, reference->reason);
      } else if (const auto* kernel = std::get_if<codegen::LoweredKernel>(&call); kernel != nullptr && is_first) {
        // All that is new of a graph counts for its first kernel: graphs of tests have one, or one kind.
        count(dtype_of(graph, *kernel), operator_of(*kernel)).made += jit.stats().kernels - before.kernels;
        is_first = false;
      }
    }
  }
  return refused;
}

std::string CodeMaker::table() const {
  std::string text = fmt::format("{:<6}{:<24}", "dtype", "operator");
  for (const Processor& processor : processors_) text += fmt::format("{:>15}", processor.name);
  std::vector<Count> sums(processors_.size());
  text += "\n";
  for (const auto& [key, row] : counts_) {
    text += fmt::format("{:<6}{:<24}", key.first, key.second);
    for (size_t p = 0; p < row.size(); ++p) {
      sums[p].made += row[p].made;
      sums[p].refused += row[p].refused;
      text += fmt::format("{:>15}", row[p].refused > 0 ? fmt::format("{} {}!", row[p].made, row[p].refused)
                                                       : std::to_string(row[p].made));
    }
    text += "\n";
  }
  text += fmt::format("{:<30}", "kernels");
  for (const Count& sum : sums) text += fmt::format("{:>15}", sum.made);
  text += fmt::format("\n{:<30}", "refused");
  for (const Count& sum : sums) text += fmt::format("{:>15}", sum.refused);
  return text + "\n";
}

}  // namespace collage::codegen_test
