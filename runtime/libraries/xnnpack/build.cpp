// SPDX-License-Identifier: Apache-2.0
// From operators to calls: a bias after a product and a clamp after any call that can limit its results become part
// of it, where nothing else reads what is between.
#include <algorithm>
#include <optional>

#include "runtime/core/layout.h"
#include "runtime/core/text.h"
#include "runtime/libraries/xnnpack/call.h"

namespace collage::runtime::xnnpack {
namespace {

constexpr struct {
  std::string_view op;
  Lowering lowering;
} kLowerings[] = {
    {"Conv", {make_convolution, true}},
    {"ConvTranspose", {make_deconvolution, true}},
    {"MaxPool", {make_pool, true}},
    {"AveragePool", {make_pool, true}},
    {"GlobalAveragePool", {make_global_pool, true}},
    {"Resize", {make_resize, false}},
    {"Gemm", {make_fully_connected, true}},
    {"MatMul", {make_fully_connected, true}},
    {"Softmax", {make_softmax, false}},
    {"PRelu", {make_prelu, false}},
    {"Add", {make_binary, true}},
    {"Div", {make_binary, true}},
    {"Mul", {make_binary, true}},
    {"Sub", {make_binary, true}},
    {"Max", {make_binary, false}},
    {"Min", {make_binary, false}},
    {"Abs", {make_unary, false}},
    {"Ceil", {make_unary, false}},
    {"Clip", {make_unary, false}},
    {"Elu", {make_unary, false}},
    {"Floor", {make_unary, false}},
    {"HardSwish", {make_unary, false}},
    {"LeakyRelu", {make_unary, false}},
    {"Neg", {make_unary, false}},
    {"Relu", {make_unary, false}},
    {"Round", {make_unary, false}},
    {"Sigmoid", {make_unary, false}},
    {"Sqrt", {make_unary, false}},
};

class Calls {
 public:
  explicit Calls(const LibraryProgram& program) : program_(program), layouts_(program.values.size()) {
    const size_t count = program.values.size();
    uses_.resize(count);
    reader_.resize(count, -1);
    maker_.resize(count, -1);
    for (size_t i = 0; i < program.ops.size(); ++i) {
      for (int id : program.ops[i].inputs) {
        if (id < 0) continue;
        ++uses_[static_cast<size_t>(id)];
        reader_[static_cast<size_t>(id)] = static_cast<int>(i);
      }
      for (int id : program.ops[i].outputs) {
        if (id >= 0) maker_[static_cast<size_t>(id)] = static_cast<int>(i);
      }
    }
    for (int id : program.outputs) ++uses_[static_cast<size_t>(id)];
    for (int id : program.inputs) layouts_[static_cast<size_t>(id)] = program.values[static_cast<size_t>(id)].layout;
    is_done_.resize(program.ops.size());
  }

  Result<std::vector<Call>> run() {
    std::vector<Call> calls;
    for (size_t i = 0; i < program_.ops.size(); ++i) {
      if (is_done_[i]) continue;
      Result<Call> call = make(program_.ops[i]);
      if (!call) return Status::error("`" + program_.ops[i].op + "`: " + call.message());
      layouts_[static_cast<size_t>(call->write.value)] = call->write.layout;
      call->last_op = maker_[static_cast<size_t>(call->write.value)];
      calls.push_back(std::move(*call));
    }
    return calls;
  }

 private:
  Result<Call> make(const LibraryOp& op) {
    const Lowering lowering = find_lowering(op.op);
    if (lowering.make == nullptr) return Status::error("no operator of XNNPACK computes it");
    if (op.inputs.empty() || op.inputs[0] < 0) return Status::error("it lacks operands");
    if (op.outputs.empty() || op.outputs[0] < 0 || std::any_of(op.outputs.begin() + 1, op.outputs.end(), is_used))
      return Status::error("a result besides the first");
    Source source{program_, op, -1, op.outputs[0], {}, layouts_};
    if (op.op == "MatMul") take_bias(&source);
    if (lowering.takes_limits) take_clamp(&source);
    for (int id : op.inputs) {
      if (id < 0 || (op.op == "Resize" && source.is_constant(id))) continue;
      if (Status status = check(id); !status) return status;
    }
    if (Status status = check(source.output); !status) return status;
    return lowering.make(source);
  }

  static bool is_used(int id) { return id >= 0; }

  Status check(int id) const {
    const LibraryValue& value = program_.values[static_cast<size_t>(id)];
    if (value.dtype != DType::F32)
      return Status::error("dtype " + std::string(name_of(value.dtype)) + ", only f32 is supported");
    if (element_count(value.shape) == 0) return Status::error("a tensor without elements");
    return Status::ok();
  }

  /// The operator that alone reads a value.
  const LibraryOp* only_reader(int id) const {
    const auto v = static_cast<size_t>(id);
    if (uses_[v] != 1 || reader_[v] < 0) return nullptr;
    const LibraryOp& op = program_.ops[static_cast<size_t>(reader_[v])];
    return op.outputs.size() == 1 && op.outputs[0] >= 0 ? &op : nullptr;
  }
  void finish(Source* source, const LibraryOp& reader) {
    is_done_[static_cast<size_t>(reader_[static_cast<size_t>(source->output)])] = true;
    source->output = reader.outputs[0];
  }

  void take_bias(Source* source) {
    const LibraryOp* add = only_reader(source->output);
    if (add == nullptr || add->op != "Add" || add->inputs.size() != 2) return;
    const int bias = add->inputs[0] == source->output ? add->inputs[1] : add->inputs[0];
    if (!source->is_constant(bias) || source->shape(add->outputs[0]) != source->shape(source->output)) return;
    const Shape& shape = source->shape(bias);
    if (shape.empty() || shape.back() != source->shape(source->output).back() || element_count(shape) != shape.back())
      return;
    source->bias = bias;
    finish(source, *add);
  }

  void take_clamp(Source* source) {
    const LibraryOp* clamp = only_reader(source->output);
    if (clamp == nullptr || (clamp->op != "Relu" && clamp->op != "Clip")) return;
    const Source as_source{program_, *clamp, -1, clamp->outputs[0], {}, layouts_};
    const std::optional<Limits> limits = limits_of(as_source);
    if (!limits) return;
    source->limits = *limits;
    finish(source, *clamp);
  }

  const LibraryProgram& program_;
  std::vector<std::string> layouts_;
  std::vector<int> uses_, reader_, maker_;
  std::vector<bool> is_done_;
};

}  // namespace

std::optional<Limits> limits_of(const Source& clamp) {
  Limits limits;
  if (clamp.op.op == "Relu") limits.low = 0;
  for (size_t i = 1; i < clamp.op.inputs.size() && clamp.op.op == "Clip"; ++i) {
    const int bound = clamp.input(i);
    if (bound < 0) continue;
    if (!clamp.is_constant(bound) || element_count(clamp.shape(bound)) != 1 || clamp.value(bound).dtype != DType::F32)
      return std::nullopt;
    (i == 1 ? limits.low : limits.high) = static_cast<float>(element_as_double(clamp.value(bound).constant.view(), 0));
  }
  if (!(limits.low < limits.high)) return std::nullopt;
  return limits;
}

Lowering find_lowering(std::string_view op) {
  for (const auto& row : kLowerings) {
    if (row.op == op) return row.lowering;
  }
  return {};
}

std::string Source::layout_of_output(std::string otherwise) const {
  const bool is_boundary = std::find(program.outputs.begin(), program.outputs.end(), output) != program.outputs.end();
  return is_boundary ? value(output).layout : otherwise;
}

std::string to_string(const Limits& limits) {
  std::string text;
  if (limits.low > -std::numeric_limits<float>::infinity()) text += ", at least " + format_double(limits.low);
  if (limits.high < std::numeric_limits<float>::infinity()) text += ", at most " + format_double(limits.high);
  return text;
}

Tensor in_layout(const Tensor& constant, std::string_view layout) {
  Tensor made(constant.dtype(), constant.shape());
  reorder(constant.view(), kPlainLayout, made.view(), layout);
  return made;
}

Result<std::vector<Call>> make_calls(const LibraryProgram& program) {
  return Calls(program).run();
}

}  // namespace collage::runtime::xnnpack
