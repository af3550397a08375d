// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/emulate.h"

#include <algorithm>

#include "runtime/core/checked_size.h"
#include "runtime/core/layout.h"
#include "runtime/devices/run_reference.h"
#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

/// Where the host has the tensor. Fails unless its layout, storage and encoding are possible and all of its bytes are
/// allocated.
Result<std::byte*> locate(const DeviceTensor& operand, const BlockMemory& memory) {
  const StoredTensor& tensor = operand.tensor;
  std::optional<size_t> bytes = checked_bytes(tensor.dtype, tensor.shape);
  if (!bytes) return Status::error("a tensor has an impossible shape");
  if (tensor.is_encoded()) return memory.at(operand.address, tensor.encoded_bytes);
  if (!layout_permutation(tensor.form.layout, tensor.shape.size())) {
    return Status::error("layout `" + tensor.form.layout + "` does not exist for rank " +
                         std::to_string(tensor.shape.size()));
  }
  if (tensor.form.storage) {
    if (!storage_mismatch(tensor.dtype, *tensor.form.storage).empty())
      return Status::error("a storage that cannot hold the dtype");
    *bytes = tensor.bytes();
  }
  return memory.at(operand.address, *bytes);
}

Tensor rounded_to_bf16(const TensorView& from) {
  Tensor to(from.dtype, from.shape);
  std::span<float> values = from.as<float>();
  std::transform(values.begin(), values.end(), to.as<float>().begin(), round_to_bf16);
  return to;
}

/// Operands of one operator as the reference kernels take them: in the plain layout and of the dtype itself. An operand
/// in another format passes through scratch memory of the emulation, which does not count as memory of the device.
class Operands {
 public:
  explicit Operands(const BlockMemory& memory) : memory_(memory) {}

  Status add_input(const DeviceTensor& operand, bool rounds) {
    const StoredTensor& tensor = operand.tensor;
    TensorView view{tensor.dtype, tensor.shape, nullptr};
    if (!operand.is_absent) {
      Result<std::byte*> at = locate(operand, memory_);
      if (!at) return at.status();
      view.data = *at;
      if (tensor.is_encoded()) {
        Result<Tensor> decoded =
            decode_constant({view.data, tensor.encoded_bytes}, tensor.dtype, tensor.shape, tensor.encoding);
        if (!decoded) return decoded.status();
        view = keep(std::move(*decoded));
      } else if (!tensor.form.is_plain()) {
        const std::byte* stored = view.data;
        view = keep(Tensor(tensor.dtype, tensor.shape));
        rewrite(tensor.dtype, tensor.shape, stored, tensor.form, view.data, {});
      }
      if (rounds && tensor.dtype == DType::F32) view = keep(rounded_to_bf16(view));
    }
    inputs.push_back(view);
    return Status::ok();
  }

  Status add_output(const DeviceTensor& operand) {
    const StoredTensor& tensor = operand.tensor;
    TensorView view{tensor.dtype, tensor.shape, nullptr};
    std::byte* stored = nullptr;
    if (!operand.is_absent) {
      Result<std::byte*> at = locate(operand, memory_);
      if (!at) return at.status();
      if (tensor.is_encoded()) return Status::error("a result cannot be encoded");
      view.data = *at;
      if (!tensor.form.is_plain()) {
        stored = *at;
        view = keep(Tensor(tensor.dtype, tensor.shape));
      }
    }
    stored_.push_back(stored);
    outputs.push_back(view);
    return Status::ok();
  }

  /// Moves results from scratch memory to where the device has them.
  void store(const std::vector<DeviceTensor>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (stored_[i] == nullptr) continue;
      const StoredTensor& tensor = operands[i].tensor;
      rewrite(tensor.dtype, tensor.shape, outputs[i].data, {}, stored_[i], tensor.form);
    }
  }

  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;

 private:
  TensorView keep(Tensor tensor) {
    scratch_.push_back(std::move(tensor));
    return scratch_.back().view();
  }

  const BlockMemory& memory_;
  std::vector<Tensor> scratch_;
  std::vector<std::byte*> stored_;  ///< by output: where it is stored from scratch memory; null: it is there
};

}  // namespace

Status emulate_reorder(const DeviceTensor& from, const DeviceTensor& to, const BlockMemory& memory) {
  Result<std::byte*> from_at = locate(from, memory);
  if (!from_at) return from_at.status();
  Result<std::byte*> to_at = locate(to, memory);
  if (!to_at) return to_at.status();
  const StoredTensor& source = from.tensor;
  const StoredTensor& target = to.tensor;
  if (source.dtype != target.dtype || source.shape != target.shape)
    return Status::error("a reorder keeps dtype and shape");
  if (source.is_encoded() || target.is_encoded()) return Status::error("an encoded tensor cannot be reordered");
  rewrite(source.dtype, source.shape, *from_at, source.form, *to_at, target.form);
  return Status::ok();
}

Status emulate_op(const DeviceOp& op, const BlockMemory& memory, const std::vector<bool>& rounds) {
  if (op.call == nullptr) return Status::error("a launch without an operator");
  Operands operands(memory);
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (Status status = operands.add_input(op.inputs[i], i < rounds.size() && rounds[i]); !status) return status;
  }
  for (const DeviceTensor& operand : op.outputs) {
    if (Status status = operands.add_output(operand); !status) return status;
  }
  if (Status status = run_reference(op.call->op, op.call->attrs, operands.inputs, operands.outputs); !status)
    return status;
  operands.store(op.outputs);
  return Status::ok();
}

}  // namespace collage::runtime
