// SPDX-License-Identifier: Apache-2.0
// Runs type inference of one operator on operands made on the spot.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/analysis/infer.h"

namespace collage::ir {

class OneNode {
 public:
  OneNode() : diags(sources) {}

  ValueId input(Shape shape, DType dtype = DType::F32) {
    return graph.add_input(graph.unique_name("x"), {dtype, std::move(shape)});
  }

  ValueId ints(std::vector<int64_t> values) {
    Constant constant;
    constant.data = Tensor(DType::I64, {static_cast<int64_t>(values.size())});
    if (!values.empty()) std::memcpy(constant.data.data(), values.data(), constant.data.bytes());
    return graph.add_constant(graph.unique_name("c"), std::move(constant));
  }

  template <typename T>
  ValueId scalar(DType dtype, T value) {
    Constant constant;
    constant.data = Tensor(dtype, {});
    constant.data.as<T>()[0] = value;
    return graph.add_constant(graph.unique_name("c"), std::move(constant));
  }

  /// Result types as text, `f32[1, 2] f32[3]`; or the first error, with its code.
  std::string infer(std::string_view name, std::vector<ValueId> inputs,
                    std::vector<std::pair<std::string, runtime::AttrValue>> attrs = {}, size_t results = 1) {
    const OpDef* op = find_op(name);
    if (op == nullptr) return "no such operator";
    AttrMap map;
    for (auto& [key, value] : attrs) map.set(key, value);
    NodeSource source;
    source.where = "test";
    size_t before = diags.records().size();
    auto types = infer_node(graph, *op, inputs, map, results, source, diags);
    if (types) {
      std::string text;
      for (const TensorType& type : *types) text.append(text.empty() ? "" : " ").append(to_string(type));
      return diags.records().size() == before ? text : "a result, but also an error";
    }
    if (diags.records().size() == before) return "failed without an error";
    const support::DiagnosticRecord& record = diags.records()[before];
    return fmt::format("{}: {}", support::code_name(record.code), record.message);
  }

  support::SourceManager sources;
  support::Diagnostics diags;
  Graph graph;
};

inline runtime::AttrValue ints(std::vector<int64_t> values) {
  return values;
}
inline runtime::AttrValue integer(int64_t value) {
  return value;
}
inline runtime::AttrValue text(std::string value) {
  return value;
}

}  // namespace collage::ir
