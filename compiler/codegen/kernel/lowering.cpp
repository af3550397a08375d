// SPDX-License-Identifier: Apache-2.0
// Buffers of a kernel under construction.
#include "compiler/codegen/kernel/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace collage::codegen {

int KernelBuilder::add_operand(std::string name, bool written, LoweredOperand operand) {
  return add_operand(nest().add_buffer(std::move(name), written), std::move(operand));
}

int KernelBuilder::add_operand(int buffer, LoweredOperand operand) {
  sketch_.operands.resize(static_cast<size_t>(buffer) + 1);
  sketch_.operands.back() = std::move(operand);
  return buffer;
}

int KernelBuilder::value_buffer(ir::ValueId value, bool written) {
  const ir::DType dtype = context_.graph.value(value).type.dtype;
  const bool is_narrow = nest().has_floats() && runtime::is_narrow_float(dtype);
  return value_buffer_of(is_narrow ? dtype : nest().number(), value, written);
}

int KernelBuilder::value_buffer_of(Element element, ir::ValueId value, bool written) {
  auto found = by_value_.find(value);
  if (found != by_value_.end()) return found->second;
  // A number, not the value's name: equal kernels must have equal texts.
  std::string name = fmt::format("{}{}", written ? "y" : "x", by_value_.size());
  const int buffer =
      add_operand(nest().add_buffer_of(element, std::move(name), written), {LoweredOperand::Kind::Value, value});
  by_value_.emplace(value, buffer);
  return buffer;
}

int KernelBuilder::constant_buffer(runtime::Tensor data, std::string name) {
  const auto index = static_cast<int>(context_.constants.size());
  context_.constants.push_back(std::move(data));
  return add_operand(std::move(name), false, {LoweredOperand::Kind::Constant, {}, index});
}

int KernelBuilder::shared_constant_buffer(int index, std::string name) {
  return add_operand(std::move(name), false, {LoweredOperand::Kind::Constant, {}, index});
}

int KernelBuilder::temporary_buffer(int index, std::string name, bool written) {
  return add_operand(std::move(name), written, {LoweredOperand::Kind::Temporary, {}, index});
}

int KernelBuilder::scratch_buffer(size_t bytes) {
  if (scratch_ < 0) scratch_ = nest().add_buffer("scratch", true, true);
  sketch_.scratch_bytes = std::max(sketch_.scratch_bytes, bytes);
  return scratch_;
}

KernelSketch KernelBuilder::finish(int64_t extent, int64_t grain) {
  sketch_.extent = extent;
  sketch_.grain = std::max<int64_t>(1, grain);
  const std::vector<uint64_t>& table = nest().table();
  if (nest().table_buffer() >= 0) {
    runtime::Tensor data(nest().number(), {static_cast<int64_t>(table.size())});
    const size_t bytes = nest().number_bytes();  // the low ones come first
    for (size_t i = 0; i < table.size(); ++i) std::memcpy(data.data() + i * bytes, &table[i], bytes);
    LoweredOperand operand;
    operand.kind = LoweredOperand::Kind::Constant;
    operand.index = static_cast<int>(context_.constants.size());
    context_.constants.push_back(std::move(data));
    sketch_.operands.resize(std::max(sketch_.operands.size(), static_cast<size_t>(nest().table_buffer()) + 1));
    sketch_.operands[static_cast<size_t>(nest().table_buffer())] = operand;
  }
  sketch_.operands.resize(nest().buffers().size());
  if (scratch_ >= 0) sketch_.operands.erase(sketch_.operands.begin() + scratch_);
  return std::move(sketch_);
}

}  // namespace collage::codegen
