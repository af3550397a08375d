// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a plan is made of, once: the writer and the reader of packages call `fields` with an archive
// that takes the name and the place of each. A field that is added to a struct of the plan is added here.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "runtime/core/attributes.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// The names of the alternatives of a variant, in their order.
template <typename Variant>
struct AlternativeNames;

template <>
struct AlternativeNames<AttrValue> {
  static constexpr std::array<std::string_view, 7> names = {"int",    "float", "text",  "ints",
                                                            "floats", "texts", "tensor"};
};
template <>
struct AlternativeNames<HostCall> {
  static constexpr std::array<std::string_view, 3> names = {"kernel", "op", "library"};
};
template <>
struct AlternativeNames<Step> {
  static constexpr std::array<std::string_view, 4> names = {"host", "library", "device", "convert"};
};

template <typename Archive>
void fields(Archive& a, MemorySpace& space) {
  a("name", space.name);
  a("arena_bytes", space.arena_bytes);
  a("constant_bytes", space.constant_bytes);
  a("capacity", space.capacity);
}

template <typename Archive>
void fields(Archive& a, DeviceSpec::Link& link) {
  a("to", link.to);
  a("bytes_per_second", link.bytes_per_second);
  a("latency", link.latency);
  a("duplex", link.duplex);
}

template <typename Archive>
void fields(Archive& a, DeviceSpec& device) {
  a("space", device.space);
  a("kind", device.kind);
  a("attrs", device.attrs);
  a("links", device.links);
  a("copy_queue", device.copy_queue);
}

template <typename Archive>
void fields(Archive& a, Quantisation& quantisation) {
  a("scale", quantisation.scale);
  a("zero", quantisation.zero);
}

template <typename Archive>
void fields(Archive& a, Storage& storage) {
  a("type", storage.type);
  a("quantisation", storage.quantisation);
}

template <typename Archive>
void fields(Archive& a, TensorForm& form) {
  a("layout", form.layout);
  a("storage", form.storage);
}

template <typename Archive>
void fields(Archive& a, StoredTensor& tensor) {
  a("dtype", tensor.dtype);
  a("shape", tensor.shape);
  a("form", tensor.form);
  a("encoding", tensor.encoding);
  a("encoded_bytes", tensor.encoded_bytes);
}

template <typename Archive>
void fields(Archive& a, Buffer& buffer) {
  a("name", buffer.name);
  a("space", buffer.space);
  a("is_constant", buffer.is_constant);
  a("offset", buffer.offset);
  a("tensor", buffer.tensor);
}

template <typename Archive>
void fields(Archive& a, ConstantInit& constant) {
  a("buffer", constant.buffer);
  a("data", constant.data);
}

template <typename Archive>
void fields(Archive& a, LoweringArg& arg) {
  a("name", arg.name);
  a("slot", arg.slot);
  a("value", arg.value);
}

template <typename Archive>
void fields(Archive& a, LoweringCall& call) {
  a("rule", call.rule);
  a("kind", call.kind);
  a("symbol", call.symbol);
  a("args", call.args);
  a("ops", call.ops);
  a("results", call.results);
}

template <typename Archive>
void fields(Archive& a, LibraryValue& value) {
  a("dtype", value.dtype);
  a("shape", value.shape);
  a("constant", value.constant);
  a("layout", value.layout);
  a("encoding", value.encoding);
}

template <typename Archive>
void fields(Archive& a, LibraryOp& op) {
  a("op", op.op);
  a("attrs", op.attrs);
  a("inputs", op.inputs);
  a("outputs", op.outputs);
}

template <typename Archive>
void fields(Archive& a, LibraryProgram& program) {
  a("values", program.values);
  a("ops", program.ops);
  a("inputs", program.inputs);
  a("outputs", program.outputs);
  a("calls", program.calls);
}

template <typename Archive>
void fields(Archive& a, OpCall& call) {
  a("op", call.op);
  a("attrs", call.attrs);
  a("inputs", call.inputs);
  a("outputs", call.outputs);
  a("checked", call.checked);
}

template <typename Archive>
void fields(Archive& a, KernelCall& call) {
  a("symbol", call.symbol);
  a("buffers", call.buffers);
  a("extent", call.extent);
  a("grain", call.grain);
  a("scratch_bytes", call.scratch_bytes);
  a("name", call.name);
}

/// Of what a library runs: a call of a host step, and a step.
template <typename Archive, typename Call>
void library_fields(Archive& a, Call& call) {
  a("library", call.library);
  a("program", call.program);
  a("inputs", call.inputs);
  a("outputs", call.outputs);
  a("text", call.text);
}

template <typename Archive>
void fields(Archive& a, LibraryCall& call) {
  library_fields(a, call);
}

template <typename Archive>
void fields(Archive& a, HostStep& step) {
  a("partition", step.partition);
  a("calls", step.calls);
}

template <typename Archive>
void fields(Archive& a, LibraryStep& step) {
  a("partition", step.partition);
  library_fields(a, step);
}

template <typename Archive>
void fields(Archive& a, DeviceStep& step) {
  a("partition", step.partition);
  a("device", step.device);
  a("ops", step.ops);
  a("duration", step.duration);
  a("calls", step.calls);
}

template <typename Archive>
void fields(Archive& a, ConvertStep& step) {
  a("from", step.from);
  a("to", step.to);
  a("cost", step.cost);
  a("kernel", step.kernel);
}

template <typename Archive>
void fields(Archive& a, PlanPartition& partition) {
  a("name", partition.name);
  a("backend", partition.backend);
  a("instance", partition.instance);
  a("nodes", partition.nodes);
  a("cost", partition.cost);
}

template <typename Archive>
void fields(Archive& a, PlanPort& port) {
  a("name", port.name);
  a("buffer", port.buffer);
}

/// `host_constants` is a section of its own.
template <typename Archive>
void fields(Archive& a, Plan& plan) {
  a("model", plan.model);
  a("spaces", plan.spaces);
  a("devices", plan.devices);
  a("buffers", plan.buffers);
  a("constants", plan.constants);
  a("partitions", plan.partitions);
  a("steps", plan.steps);
  a("lanes", plan.lanes);
  a("inputs", plan.inputs);
  a("outputs", plan.outputs);
  a("predicted", plan.predicted);
  a("is_concurrent", plan.is_concurrent);
}

}  // namespace collage::runtime
