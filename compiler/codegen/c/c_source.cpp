// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/c/c_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "compiler/codegen/c/c_kernel.h"
#include "compiler/codegen/c/c_numbers.h"
#include "compiler/codegen/lower/fuse.h"
#include "compiler/codegen/lower/lower_group.h"
#include "compiler/ir/graph/subgraph.h"
#include "compiler/ir/ops/op_def.h"
#include "compiler/ir/placement/placement.h"
#include "runtime/core/room.h"

namespace collage::codegen {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Vectors of four lanes, sixteen registers, no fused multiply-add.
Isa plain_isa() {
  Isa isa;
  isa.lanes = kCLanes;
  return isa;
}

/// Returns whether a kernel of the operator can read its weights unpacked. Other weights are packed into the text.
bool reads_weights(const ir::Node& node) {
  return node.op->name == "Conv" || node.op->name == "MatMul" || node.op->name == "Gemm";
}

/// The partition as a graph whose unpacked weights are inputs, so that no kernel packs them.
struct WeightlessGraph {
  WeightlessGraph(const ir::Graph& graph, const std::vector<NodeId>& nodes) {
    ir::SubgraphOptions options;
    std::set<ValueId> weights;
    for (NodeId id : nodes) {
      const ir::Node& node = graph.node(id);
      for (ValueId input : node.inputs) {
        const bool is_weight = input.is_valid() && graph.value(input).is_constant() && reads_weights(node) &&
                               graph.value(input).type.dtype == ir::DType::F32;
        if (is_weight && weights.insert(input).second) options.inputs.push_back(input);
      }
    }
    ir::Subgraph copied = ir::make_subgraph(graph, nodes, options);
    to = std::move(copied.graph);
    for (const auto& [old, copy] : copied.copies) origin[copy] = old;
    for (ValueId output : ir::boundary_outputs(graph, nodes)) to.mark_output(copied.copies.at(output));
  }

  ir::Graph to;
  std::map<ValueId, ValueId> origin;  ///< value here => value of the model
};

class FunctionWriter {
 public:
  FunctionWriter(const ir::Graph& graph, const std::vector<NodeId>& nodes, const std::string& symbol)
      : graph_(graph), cut_(graph, nodes) {
    function_.symbol = symbol;
  }

  runtime::Result<CFunction> run() {
    std::vector<runtime::Tensor> constants;
    Isa isa = plain_isa();
    LoweringContext context{cut_.to, isa, 1, constants, temporaries_};
    const auto is_written = [](const KernelSketch& sketch) { return has_c_types(sketch.nest); };
    for (const Group& group : form_groups(cut_.to, cut_.to.node_ids())) {
      std::vector<KernelSketch> sketches = lower_group(context, group);
      if (sketches.empty() || !std::all_of(sketches.begin(), sketches.end(), is_written)) {
        const ir::Node& node = cut_.to.node(group.anchor.is_valid() ? group.anchor : group.nodes[0]);
        return runtime::Status::error(
            fmt::format("`%{}`: `{}` has no generated code here", cut_.to.value(node.outputs[0]).name, node.op->name));
      }
      for (KernelSketch& sketch : sketches) sketches_.push_back(std::move(sketch));
    }
    name_parameters();
    for (size_t i = 0; i < constants.size(); ++i) add_table(i, constants[i]);
    std::string body;
    for (const KernelSketch& sketch : sketches_) body += call(sketch);
    function_.text += signature() + " {\n" + locals_ + body + "  (void)workspace;\n}\n";
    return std::move(function_);
  }

 private:
  std::string unique(const std::string& name) {
    std::string base = c_name(name);
    if (base.starts_with(function_.symbol + "_")) base += "_";  // such names belong to kernels and tables
    std::string result = base;
    for (int i = 1; !names_.insert(result).second; ++i) result = fmt::format("{}_{}", base, i);
    return result;
  }

  void name_parameters() {
    auto add = [&](CParameter::Kind kind, ValueId value) {
      std::string name = unique(cut_.to.value(value).name);
      by_value_[value] = name;
      function_.parameters.push_back({kind, cut_.origin.at(value), name});
    };
    std::vector<ValueId> weights;
    for (ValueId input : cut_.to.inputs()) {
      if (graph_.value(cut_.origin.at(input)).is_constant()) {
        weights.push_back(input);
      } else {
        add(CParameter::Kind::Input, input);
      }
    }
    for (ValueId value : cut_.to.value_ids()) {
      if (cut_.to.value(value).is_constant() && is_touched(value)) weights.push_back(value);
    }
    for (ValueId weight : weights) add(CParameter::Kind::Weight, weight);
    for (ValueId output : cut_.to.outputs()) add(CParameter::Kind::Output, output);
  }

  bool is_touched(ValueId value) const {
    return std::any_of(sketches_.begin(), sketches_.end(), [&](const KernelSketch& sketch) {
      return std::any_of(sketch.operands.begin(), sketch.operands.end(), [&](const LoweredOperand& operand) {
        return operand.kind == LoweredOperand::Kind::Value && operand.value == value;
      });
    });
  }

  /// Writes bit patterns, which represent NaN and denormals, too.
  void add_table(size_t index, const runtime::Tensor& data) {
    std::string name = fmt::format("{}_table{}", function_.symbol, index);
    function_.text += fmt::format("static const uint32_t {}[] = {{", name);
    for (size_t i = 0; i < (data.bytes() + 3) / 4; ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, data.data() + 4 * i, std::min<size_t>(4, data.bytes() - 4 * i));
      function_.text += fmt::format("{}0x{:x}u,", i % 8 == 0 ? "\n    " : " ", bits);
    }
    function_.text += "\n};\n";
  }

  std::string in_workspace(size_t bytes) {
    std::string place = fmt::format("(char *)workspace + {}", function_.workspace_bytes);
    function_.workspace_bytes += runtime::room_for(bytes);
    return place;
  }

  /// Values inside the partition lie in the workspace without overlap.
  std::string value_name(ValueId value) {
    auto [at, is_new] = by_value_.try_emplace(value);
    if (is_new) {
      at->second = unique(cut_.to.value(value).name);
      locals_ += fmt::format("  void *const {} = {};\n", at->second, in_workspace(cut_.to.value(value).type.bytes()));
    }
    return at->second;
  }

  std::string temporary_name(int index) {
    auto [at, is_new] = by_temporary_.try_emplace(index);
    if (is_new) {
      at->second = unique(fmt::format("temporary{}", index));
      locals_ +=
          fmt::format("  void *const {} = {};\n", at->second, in_workspace(temporaries_[static_cast<size_t>(index)]));
    }
    return at->second;
  }

  std::string operand(const LoweredOperand& operand) {
    if (operand.kind == LoweredOperand::Kind::Constant)
      return fmt::format("{}_table{}", function_.symbol, operand.index);
    if (operand.kind == LoweredOperand::Kind::Temporary) return temporary_name(operand.index);
    return operand.value.is_valid() ? value_name(operand.value) : "0";
  }

  std::string call(const KernelSketch& sketch) {
    std::string symbol = fmt::format("{}_kernel{}", function_.symbol, kernels_++);
    function_.text += c_kernel(sketch.nest, symbol);
    function_.numbers.insert(sketch.nest.number());
    std::string args;
    for (const LoweredOperand& each : sketch.operands) args += operand(each) + ", ";
    if (sketch.scratch_bytes > 0) {
      std::string name = unique("scratch");
      locals_ += fmt::format("  void *const {} = {};\n", name, in_workspace(sketch.scratch_bytes));
      args += name + ", ";
    }
    return fmt::format("  {}({}0, {});\n", symbol, args, sketch.extent);
  }

  std::string signature() const {
    std::string text;
    for (const CParameter& parameter : function_.parameters) {
      text += fmt::format("{}void *restrict {}, ", parameter.kind == CParameter::Kind::Output ? "" : "const ",
                          parameter.name);
    }
    return fmt::format("void {}({}void *restrict workspace)", function_.symbol, text);
  }

  const ir::Graph& graph_;
  WeightlessGraph cut_;
  CFunction function_;
  std::vector<KernelSketch> sketches_;
  std::set<std::string> names_{"workspace"};
  std::map<ValueId, std::string> by_value_;
  std::vector<size_t> temporaries_;
  std::map<int, std::string> by_temporary_;
  std::string locals_;
  int kernels_ = 0;
};

std::string describe(const ir::Graph& graph, const CFunction& function) {
  static constexpr const char* kKinds[] = {"in", "weights", "out"};
  std::string text = fmt::format(" * {}: workspace {} bytes\n", function.symbol, function.workspace_bytes);
  for (const CParameter& parameter : function.parameters) {
    const ir::Value& value = graph.value(parameter.value);
    text += fmt::format(" *   {:<8} {} = {} {}\n", kKinds[static_cast<int>(parameter.kind)], parameter.name, value.name,
                        ir::to_string(value.type));
  }
  return text;
}

}  // namespace

std::string c_name(const std::string& name) {
  static const std::set<std::string> kTaken = {
      "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
      "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
      "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
      "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "vec",    "mask",
      "main",   "vecd",     "maskd",    "veci",     "maski", "vecl",     "maskl"};
  std::string result;
  for (char c : name) {
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool is_digit = c >= '0' && c <= '9';
    if (result.empty() && is_digit) result += '_';
    result += is_letter || is_digit ? c : '_';
  }
  return result.empty() || kTaken.count(result) > 0 ? result + "_" : result;
}

runtime::Result<CFunction> c_function(const ir::Graph& graph, const std::vector<NodeId>& nodes,
                                      const std::string& symbol) {
  return FunctionWriter(graph, nodes, symbol).run();
}

std::string c_file(const ir::Graph& graph, const std::vector<CFunction>& functions) {
  // A value can have any name, which must not end the comment.
  auto harmless = [](std::string text) {
    for (size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/")) text.replace(at, 2, "**");
    return text;
  };
  std::string head, text;
  std::set<Element> numbers;
  for (const CFunction& function : functions) {
    numbers.insert(function.numbers.begin(), function.numbers.end());
    head += describe(graph, function);
    text +=
        fmt::format("\n#define {}_WORKSPACE_BYTES {}\n{}", function.symbol, function.workspace_bytes, function.text);
  }
  head = harmless(fmt::format(" * Host partitions of `{}`, C99. Tensors are dense and row-major; the workspace is "
                              "aligned to 64\n * bytes.\n *\n",
                              graph.name) +
                  head);
  return "/*\n" + head + " */\n" + c_prelude(numbers) + text;
}

}  // namespace collage::codegen
