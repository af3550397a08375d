// SPDX-License-Identifier: Apache-2.0
#include "runtime/libraries/plugin/c_program.h"

#include "runtime/encodings/encodings.h"

namespace collage::runtime {
namespace {

#define DTYPE(Id, word, T, NAME, onnx, npy) \
  static_assert(static_cast<int>(DType::Id) == COLLAGE_##NAME, "dtype.h and dtypes.def number dtypes alike");
#include "runtime/core/dtypes.def"

}  // namespace

Status CProgram::add_value(const LibraryValue& value) {
  ints_.emplace_back(value.shape.begin(), value.shape.end());
  collage_value made{};
  made.dtype = static_cast<int32_t>(value.dtype);
  made.rank = static_cast<int32_t>(value.shape.size());
  made.shape = ints_.back().data();
  made.layout = keep(value.layout);
  made.encoding = keep(value.encoding);
  if (!value.constant.is_empty_handle()) {
    made.constant = tensors_.emplace_back(value.constant).data();
    made.constant_bytes = value.constant.bytes();
    if (!value.encoding.empty()) {
      Result<std::vector<std::byte>> bytes = encode_constant(value.constant, value.encoding);
      if (!bytes) return bytes.status();
      encoded_.push_back(std::move(*bytes));
      made.constant = encoded_.back().data();
      made.constant_bytes = encoded_.back().size();
    }
  }
  values_.push_back(made);
  return Status::ok();
}

bool CProgram::add_attr(const std::string& name, const AttrValue& value, std::vector<collage_attr>* attrs) {
  collage_attr made{};
  made.name = keep(name);
  made.text = "";
  if (const auto* number = std::get_if<int64_t>(&value)) {
    made.kind = COLLAGE_INT;
    made.number = *number;
    made.real = static_cast<double>(*number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    made.kind = COLLAGE_FLOAT;
    made.real = *real;
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    made.kind = COLLAGE_TEXT;
    made.text = keep(*text);
  } else if (const auto* ints = std::get_if<Ints>(&value)) {
    made.kind = COLLAGE_INTS;
    made.count = ints->size();
    made.numbers = ints_.emplace_back(*ints).data();
  } else if (const auto* floats = std::get_if<Floats>(&value)) {
    made.kind = COLLAGE_FLOATS;
    made.count = floats->size();
    made.reals = reals_.emplace_back(*floats).data();
  } else {
    return false;
  }
  attrs->push_back(made);
  return true;
}

Status CProgram::add_op(const LibraryOp& op) {
  std::vector<collage_attr> attrs;
  for (const auto& [name, value] : op.attrs) {
    if (!add_attr(name, value, &attrs)) {
      return Status::error("attribute `" + name + "` of `" + op.op + "` is of a kind that plug-ins are not given");
    }
  }
  collage_op made{};
  made.name = keep(op.op);
  made.inputs = indices_.emplace_back(op.inputs.begin(), op.inputs.end()).data();
  made.input_count = op.inputs.size();
  made.outputs = indices_.emplace_back(op.outputs.begin(), op.outputs.end()).data();
  made.output_count = op.outputs.size();
  made.attr_count = attrs.size();
  made.attrs = attrs_.emplace_back(std::move(attrs)).data();
  ops_.push_back(made);
  return Status::ok();
}

void CProgram::add_call(const LoweringCall& call) {
  std::vector<collage_attr> args;
  for (const LoweringArg& arg : call.args) {
    if (!arg.is_slot()) {
      add_attr(arg.name, arg.value, &args);
      continue;
    }
    collage_attr made{};
    made.name = keep(arg.name);
    made.text = "";
    made.kind = COLLAGE_VALUE;
    made.number = arg.slot;
    args.push_back(made);
  }
  collage_call made{};
  made.rule = keep(call.rule);
  made.symbol = keep(call.symbol);
  made.arg_count = args.size();
  made.args = attrs_.emplace_back(std::move(args)).data();
  made.ops = indices_.emplace_back(call.ops.begin(), call.ops.end()).data();
  made.op_count = call.ops.size();
  calls_.push_back(made);
}

Status CProgram::build(const LibraryProgram& program, int threads) {
  for (const LibraryValue& value : program.values) {
    if (Status status = add_value(value); !status) return status;
  }
  for (const LibraryOp& op : program.ops) {
    if (Status status = add_op(op); !status) return status;
  }
  for (const LoweringCall& call : program.calls) add_call(call);
  const auto& inputs = indices_.emplace_back(program.inputs.begin(), program.inputs.end());
  const auto& outputs = indices_.emplace_back(program.outputs.begin(), program.outputs.end());
  program_ = {values_.size(), values_.data(), ops_.size(),    ops_.data(),    calls_.size(), calls_.data(),
              inputs.size(),  inputs.data(),  outputs.size(), outputs.data(), threads};
  return Status::ok();
}

}  // namespace collage::runtime
