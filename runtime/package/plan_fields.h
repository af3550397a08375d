// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a plan is made of, once: the writer and the reader of packages call `fields` with an
// archive that takes the name and the place of each. A struct that gets a field no longer compiles here: name it, and
// count kPackageVersion (package_file.h) up.
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
void fields(Archive& a, MemorySpace& whole) {
  auto& [name, arena_bytes, constant_bytes, capacity] = whole;
  a("name", name);
  a("arena_bytes", arena_bytes);
  a("constant_bytes", constant_bytes);
  a("capacity", capacity);
}

template <typename Archive>
void fields(Archive& a, LinkHop& whole) {
  auto& [from, to, duplex] = whole;
  a("from", from);
  a("to", to);
  a("duplex", duplex);
}

template <typename Archive>
void fields(Archive& a, DeviceSpec::Link& whole) {
  auto& [to, bytes_per_second, latency, duplex, hops] = whole;
  a("to", to);
  a("bytes_per_second", bytes_per_second);
  a("latency", latency);
  a("duplex", duplex);
  a("hops", hops);
}

template <typename Archive>
void fields(Archive& a, DeviceSpec& whole) {
  auto& [space, kind, attrs, links, copy_queue] = whole;
  a("space", space);
  a("kind", kind);
  a("attrs", attrs);
  a("links", links);
  a("copy_queue", copy_queue);
}

template <typename Archive>
void fields(Archive& a, Quantisation& whole) {
  auto& [scale, zero] = whole;
  a("scale", scale);
  a("zero", zero);
}

template <typename Archive>
void fields(Archive& a, Storage& whole) {
  auto& [type, quantisation] = whole;
  a("type", type);
  a("quantisation", quantisation);
}

template <typename Archive>
void fields(Archive& a, TensorForm& whole) {
  auto& [layout, storage] = whole;
  a("layout", layout);
  a("storage", storage);
}

template <typename Archive>
void fields(Archive& a, StoredTensor& whole) {
  auto& [dtype, shape, form, encoding, encoded_bytes] = whole;
  a("dtype", dtype);
  a("shape", shape);
  a("form", form);
  a("encoding", encoding);
  a("encoded_bytes", encoded_bytes);
}

template <typename Archive>
void fields(Archive& a, Buffer& whole) {
  auto& [name, space, is_constant, offset, tensor] = whole;
  a("name", name);
  a("space", space);
  a("is_constant", is_constant);
  a("offset", offset);
  a("tensor", tensor);
}

template <typename Archive>
void fields(Archive& a, ConstantInit& whole) {
  auto& [buffer, data] = whole;
  a("buffer", buffer);
  a("data", data);
}

template <typename Archive>
void fields(Archive& a, LoweringArg& whole) {
  auto& [name, slot, value] = whole;
  a("name", name);
  a("slot", slot);
  a("value", value);
}

template <typename Archive>
void fields(Archive& a, LoweringCall& whole) {
  auto& [rule, kind, symbol, args, ops, results, precision] = whole;
  a("rule", rule);
  a("kind", kind);
  a("symbol", symbol);
  a("args", args);
  a("ops", ops);
  a("results", results);
  a("precision", precision);
}

template <typename Archive>
void fields(Archive& a, LibraryValue& whole) {
  auto& [dtype, shape, constant, layout, encoding] = whole;
  a("dtype", dtype);
  a("shape", shape);
  a("constant", constant);
  a("layout", layout);
  a("encoding", encoding);
}

template <typename Archive>
void fields(Archive& a, LibraryOp& whole) {
  auto& [op, attrs, inputs, outputs] = whole;
  a("op", op);
  a("attrs", attrs);
  a("inputs", inputs);
  a("outputs", outputs);
}

template <typename Archive>
void fields(Archive& a, LibraryProgram& whole) {
  auto& [values, ops, inputs, outputs, calls] = whole;
  a("values", values);
  a("ops", ops);
  a("inputs", inputs);
  a("outputs", outputs);
  a("calls", calls);
}

template <typename Archive>
void fields(Archive& a, OpCall& whole) {
  auto& [op, attrs, inputs, outputs, checked] = whole;
  a("op", op);
  a("attrs", attrs);
  a("inputs", inputs);
  a("outputs", outputs);
  a("checked", checked);
}

template <typename Archive>
void fields(Archive& a, KernelCall& whole) {
  auto& [symbol, buffers, extent, grain, scratch_bytes, name] = whole;
  a("symbol", symbol);
  a("buffers", buffers);
  a("extent", extent);
  a("grain", grain);
  a("scratch_bytes", scratch_bytes);
  a("name", name);
}

template <typename Archive>
void fields(Archive& a, LibraryCall& whole) {
  auto& [library, program, inputs, outputs, text] = whole;
  a("library", library);
  a("program", program);
  a("inputs", inputs);
  a("outputs", outputs);
  a("text", text);
}

template <typename Archive>
void fields(Archive& a, HostStep& whole) {
  auto& [partition, calls] = whole;
  a("partition", partition);
  a("calls", calls);
}

template <typename Archive>
void fields(Archive& a, LibraryStep& whole) {
  auto& [partition, library, program, inputs, outputs, text] = whole;
  a("partition", partition);
  a("library", library);
  a("program", program);
  a("inputs", inputs);
  a("outputs", outputs);
  a("text", text);
}

template <typename Archive>
void fields(Archive& a, DeviceStep& whole) {
  auto& [partition, device, ops, duration, calls] = whole;
  a("partition", partition);
  a("device", device);
  a("ops", ops);
  a("duration", duration);
  a("calls", calls);
}

template <typename Archive>
void fields(Archive& a, ConvertStep& whole) {
  auto& [from, to, cost, kernel] = whole;
  a("from", from);
  a("to", to);
  a("cost", cost);
  a("kernel", kernel);
}

template <typename Archive>
void fields(Archive& a, PlanPartition& whole) {
  auto& [name, backend, instance, nodes, cost, rules] = whole;
  a("name", name);
  a("backend", backend);
  a("instance", instance);
  a("nodes", nodes);
  a("cost", cost);
  a("rules", rules);
}

template <typename Archive>
void fields(Archive& a, PlanPort& whole) {
  auto& [name, buffer, is_apart] = whole;
  a("name", name);
  a("buffer", buffer);
  a("apart", is_apart);
}

template <typename Archive>
void fields(Archive& a, KnownRun& whole) {
  auto& [inputs, outputs] = whole;
  a("inputs", inputs);
  a("outputs", outputs);
}

template <typename Archive>
void fields(Archive& a, Plan& whole) {
  auto& [model, part, spaces, devices, buffers, constants, host_constants, partitions, steps, lanes, inputs, outputs,
         predicted, is_concurrent, known_runs] = whole;
  static_cast<void>(part);            // the package knows whose section it is
  static_cast<void>(host_constants);  // a section of its own
  a("model", model);
  a("spaces", spaces);
  a("devices", devices);
  a("buffers", buffers);
  a("constants", constants);
  a("partitions", partitions);
  a("steps", steps);
  a("lanes", lanes);
  a("inputs", inputs);
  a("outputs", outputs);
  a("predicted", predicted);
  a("is_concurrent", is_concurrent);
  a("known_runs", known_runs);
}

}  // namespace collage::runtime
