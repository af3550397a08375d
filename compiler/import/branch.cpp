// SPDX-License-Identifier: Apache-2.0
// Each branch has its own scope: other branches may reuse its names.
//
//   y = If(c) {then_branch = {a = Relu(x), b = Neg(a), outputs: b}, …}  =>  {a.1 = Relu(x), y = Neg(a.1), outputs: y}
#include "compiler/import/branch.h"

#include "compiler/import/names.h"

namespace collage::import {

std::optional<onnx::GraphProto> with_own_names(const onnx::GraphProto& body, const std::vector<std::string>& operands,
                                               const std::vector<std::string>& results, const std::string& place,
                                               Emitter& emitter, const std::string& prefix) {
  NewNames wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i].empty()) wanted.emplace(body.output(static_cast<int>(i)).name(), results[i]);
  }
  NewNames names;
  auto define = [&](const std::string& name, const std::string& new_name) -> bool {
    if (names.emplace(name, new_name).second) return true;
    return emitter.diags().error_at(support::Code::Redefinition, place, "its graph defines `{}` twice", name);
  };
  auto own_name = [&](const std::string& name) { return emitter.take_name(prefix + name, emitter.is_read(name)); };
  onnx::GraphProto copy = body;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& name = body.input(static_cast<int>(i)).name();
    if (!name.empty() && !define(name, operands[i])) return std::nullopt;
  }
  auto define_constant = [&](std::string& name) -> bool {
    if (!define(name, own_name(name))) return false;
    rename(name, names);
    return true;
  };
  for (auto& initializer : *copy.mutable_initializer()) {
    if (!define_constant(*initializer.mutable_name())) return std::nullopt;
  }
  for (auto& sparse : *copy.mutable_sparse_initializer()) {
    if (!define_constant(*sparse.mutable_values()->mutable_name())) return std::nullopt;
  }
  for (const auto& inner : body.node()) {
    for (const std::string& output : inner.output()) {
      if (output.empty()) continue;
      auto result = wanted.find(output);
      if (!define(output, result == wanted.end() ? own_name(output) : result->second)) return std::nullopt;
    }
  }
  for (auto& inner : *copy.mutable_node()) {
    rename_operands(inner, names);
    for (std::string& output : *inner.mutable_output()) rename(output, names);
  }
  for (auto& output : *copy.mutable_output()) rename(*output.mutable_name(), names);
  return copy;
}

}  // namespace collage::import
