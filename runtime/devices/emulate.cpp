// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/emulate.h"

#include <algorithm>

#include "runtime/core/checked_size.h"
#include "runtime/core/layout.h"
#include "runtime/devices/run_reference.h"
#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

/// Where the host has the tensor. Every operand of a kernel comes from here: memory of the device, or nothing. Fails
/// unless its layout, storage and encoding are possible and all of its bytes are allocated.
Result<BlockMemory::Access> locate(const DeviceTensor& operand, const BlockMemory& memory) {
  const StoredTensor& tensor = operand.tensor;
  std::optional<size_t> bytes = checked_bytes(tensor.dtype, tensor.shape);
  if (!bytes) return Status::error("a tensor has an impossible shape");
  if (tensor.is_encoded()) return memory.open(operand.address, tensor.encoded_bytes);
  if (!layout_permutation(tensor.form.layout, tensor.shape.size())) {
    return Status::error("layout `" + tensor.form.layout + "` does not exist for rank " +
                         std::to_string(tensor.shape.size()));
  }
  if (tensor.form.storage) {
    if (!storage_mismatch(tensor.dtype, *tensor.form.storage).empty())
      return Status::error("a storage that cannot hold the dtype");
    *bytes = tensor.bytes();
  }
  return memory.open(operand.address, *bytes);
}

/// `to` may be the same memory.
void round_to(StorageType type, const TensorView& from, std::byte* to) {
  const Storage storage{type};
  const int64_t count = element_count(from.shape);
  std::vector<std::byte> stored(stored_bytes(from.dtype, from.shape, storage));
  convert_storage(from.dtype, count, from.data, {}, stored.data(), storage);
  convert_storage(from.dtype, count, stored.data(), storage, to, {});
}

/// What the operator computes in; nothing where it has no float result, or computes in its dtypes.
Result<std::optional<StorageType>> precision_of(const DeviceOp& op) {
  const std::optional<StorageType> none;
  if (op.lowering == nullptr || !op.lowering->precision) return none;
  const StorageType type = *op.lowering->precision;
  if (type != StorageType::F16 && type != StorageType::BF16) {
    return Status::error("no kernel computes in `" + std::string(name_of(type)) + "`");
  }
  const bool has_floats = std::any_of(op.outputs.begin(), op.outputs.end(), [](const DeviceTensor& output) {
    return !output.is_absent && is_float(output.tensor.dtype);
  });
  return has_floats ? std::optional(type) : none;
}

/// Operands of one operator as the reference kernels take them: in the plain layout and of the dtype itself. An operand
/// in another format passes through scratch memory of the emulation, which does not count as memory of the device.
class Operands {
 public:
  Operands(const BlockMemory& memory, std::optional<StorageType> precision) : memory_(memory), precision_(precision) {}

  Status add_input(const DeviceTensor& operand, bool rounds_to_bf16) {
    const StoredTensor& tensor = operand.tensor;
    TensorView view{tensor.dtype, tensor.shape, nullptr};
    if (!operand.is_absent) {
      Result<BlockMemory::Access> at = locate(operand, memory_);
      if (!at) return at.status();
      view.data = at->data();
      open_.push_back(std::move(*at));
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
      if (rounds_to_bf16 && tensor.dtype == DType::F32) view = rounded(view, StorageType::BF16);
      if (precision_ && is_float(tensor.dtype)) view = rounded(view, *precision_);
    }
    inputs.push_back(view);
    return Status::ok();
  }

  Status add_output(const DeviceTensor& operand) {
    const StoredTensor& tensor = operand.tensor;
    TensorView view{tensor.dtype, tensor.shape, nullptr};
    std::byte* stored = nullptr;
    if (!operand.is_absent) {
      Result<BlockMemory::Access> at = locate(operand, memory_);
      if (!at) return at.status();
      if (tensor.is_encoded()) return Status::error("a result cannot be encoded");
      view.data = at->data();
      open_.push_back(std::move(*at));
      if (!tensor.form.is_plain()) {
        stored = view.data;
        view = keep(Tensor(tensor.dtype, tensor.shape));
      }
    }
    stored_.push_back(stored);
    outputs.push_back(view);
    return Status::ok();
  }

  /// Rounds results, and moves them from scratch memory to where the device has them.
  void store(const std::vector<DeviceTensor>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const StoredTensor& tensor = operands[i].tensor;
      if (precision_ && !operands[i].is_absent && is_float(tensor.dtype))
        round_to(*precision_, outputs[i], outputs[i].data);
      if (stored_[i] == nullptr) continue;
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

  TensorView rounded(const TensorView& from, StorageType type) {
    TensorView to = keep(Tensor(from.dtype, from.shape));
    round_to(type, from, to.data);
    return to;
  }

  const BlockMemory& memory_;
  std::optional<StorageType> precision_;
  std::vector<BlockMemory::Access> open_;
  std::vector<Tensor> scratch_;
  std::vector<std::byte*> stored_;  ///< by output: where it is stored from scratch memory; null: it is there
};

}  // namespace

Status emulate_reorder(const DeviceTensor& from, const DeviceTensor& to, const BlockMemory& memory) {
  Result<BlockMemory::Access> from_at = locate(from, memory);
  if (!from_at) return from_at.status();
  Result<BlockMemory::Access> to_at = locate(to, memory);
  if (!to_at) return to_at.status();
  const StoredTensor& source = from.tensor;
  const StoredTensor& target = to.tensor;
  if (source.dtype != target.dtype || source.shape != target.shape)
    return Status::error("a reorder keeps dtype and shape");
  if (source.is_encoded() || target.is_encoded()) return Status::error("an encoded tensor cannot be reordered");
  rewrite(source.dtype, source.shape, from_at->data(), source.form, to_at->data(), target.form);
  return Status::ok();
}

Status emulate_op(const DeviceOp& op, const BlockMemory& memory, const std::vector<bool>& rounds) {
  if (op.call == nullptr) return Status::error("a launch without an operator");
  Result<std::optional<StorageType>> precision = precision_of(op);
  if (!precision) return precision.status();
  Operands operands(memory, *precision);
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
