// SPDX-License-Identifier: Apache-2.0
// The fields of everything that a plan is made of, once: the writer and the reader of packages call `fields` with an
// archive that takes the name and the place of each. A struct that gets a field no longer compiles here: name it, and
// count kPackageVersion (package_file.h) up.
#pragma once

#include <algorithm>
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

/// Calls the archive with the name and the place of each field; `names` is `a, b, c`.
template <typename Archive, typename... Fields>
void visit_fields(Archive& archive, std::string_view names, Fields&... fields) {
  const auto next = [&names] {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 2, names.size()));
    return name;
  };
  (archive(next(), fields), ...);
}

#define COLLAGE_VISIT(...) visit_fields(a, #__VA_ARGS__, __VA_ARGS__)

/// COLLAGE_FIELDS(LinkHop, from, to, duplex): all fields of the struct, in their order.
#define COLLAGE_FIELDS(Type, ...)        \
  template <typename Archive>            \
  void fields(Archive& a, Type& whole) { \
    auto& [__VA_ARGS__] = whole;         \
    COLLAGE_VISIT(__VA_ARGS__);          \
  }

COLLAGE_FIELDS(MemorySpace, name, arena_bytes, constant_bytes, capacity)
COLLAGE_FIELDS(LinkHop, from, to, duplex)
COLLAGE_FIELDS(DeviceSpec::Link, to, bytes_per_second, latency, duplex, hops)
COLLAGE_FIELDS(DeviceSpec, space, kind, attrs, links, copy_queue)
COLLAGE_FIELDS(Quantisation, scale, zero)
COLLAGE_FIELDS(Storage, type, quantisation)
COLLAGE_FIELDS(TensorForm, layout, storage)
COLLAGE_FIELDS(StoredTensor, dtype, shape, form, encoding, encoded_bytes)
COLLAGE_FIELDS(Buffer, name, space, is_constant, offset, tensor)
COLLAGE_FIELDS(ConstantInit, buffer, data)
COLLAGE_FIELDS(LoweringArg, name, slot, value)
COLLAGE_FIELDS(LoweringCall, rule, kind, symbol, args, ops, results, precision)
COLLAGE_FIELDS(LibraryValue, dtype, shape, constant, layout, encoding)
COLLAGE_FIELDS(LibraryOp, op, attrs, inputs, outputs)
COLLAGE_FIELDS(LibraryProgram, values, ops, inputs, outputs, calls)
COLLAGE_FIELDS(OpCall, op, attrs, inputs, outputs, checked)
COLLAGE_FIELDS(KernelCall, symbol, buffers, extent, grain, scratch_bytes, name)
COLLAGE_FIELDS(LibraryCall, library, program, inputs, outputs, text)
COLLAGE_FIELDS(HostStep, partition, calls)
COLLAGE_FIELDS(DeviceStep, partition, device, ops, duration, calls)
COLLAGE_FIELDS(ConvertStep, from, to, cost, kernel)
COLLAGE_FIELDS(PlanPartition, name, backend, instance, nodes, cost, rules)
COLLAGE_FIELDS(KnownRun, inputs, outputs)

/// The fields of the call stand beside the partition.
template <typename Archive>
void fields(Archive& a, LibraryStep& whole) {
  auto& [partition, call] = whole;
  a("partition", partition);
  fields(a, call);
}

template <typename Archive>
void fields(Archive& a, PlanPort& whole) {
  auto& [name, buffer, is_apart] = whole;
  a("name", name);
  a("buffer", buffer);
  a("apart", is_apart);
}

template <typename Archive>
void fields(Archive& a, Plan& whole) {
  auto& [model, part, spaces, devices, buffers, constants, host_constants, partitions, steps, lanes, inputs, outputs,
         predicted, is_concurrent, known_runs] = whole;
  static_cast<void>(part);            // the package knows whose section it is
  static_cast<void>(host_constants);  // a section of its own
  COLLAGE_VISIT(model, spaces, devices, buffers, constants, partitions, steps, lanes, inputs, outputs, predicted,
                is_concurrent, known_runs);
}

#undef COLLAGE_FIELDS
#undef COLLAGE_VISIT

}  // namespace collage::runtime
