// SPDX-License-Identifier: Apache-2.0
// Part of OnnxImporter: graphs inside nodes that take the node's place, or a part of it.
//
//     If {then_branch = …, else_branch = …}           =>  the branch that a constant condition chooses
//     FlexAttention {score_mod = …, prob_mod = …}     =>  its parts (compositions/flex_attention.h) and its graphs
#include <algorithm>

#include "compiler/import/branch.h"
#include "compiler/import/compositions/flex_attention.h"
#include "compiler/import/onnx_importer.h"

namespace collage::import {

using ir::Tensor;
using ir::ValueId;
using support::Code;

bool OnnxImporter::add_branch(const onnx::NodeProto& node, const std::string& place) {
  ValueId condition = node.input_size() == 1 ? find_operand(node.input(0)) : ValueId();
  const Tensor* chosen = emitter_.constant(condition);
  if (chosen == nullptr || chosen->count() != 1) {
    return diags_.error_at(Code::NotConstant, place, "the condition of an If must be constant");
  }
  std::string wanted = runtime::element_as_double(chosen->view(), 0) != 0 ? "then_branch" : "else_branch";
  const onnx::GraphProto* branch = graph_of(node, wanted);
  if (branch == nullptr || branch->output_size() != node.output_size()) {
    return diags_.error_at(Code::BadModel, place, "`{}` does not give the {} results of the node", wanted,
                           node.output_size());
  }
  return add_body(*branch, {}, {node.output().begin(), node.output().end()}, place, node.name());
}

bool OnnxImporter::add_body(const onnx::GraphProto& body, const std::vector<std::string>& operands,
                            const std::vector<std::string>& results, const std::string& place,
                            const std::string& origin) {
  std::optional<onnx::GraphProto> own = with_own_names(body, operands, results, place, emitter_);
  if (!own) return false;
  size_t errors_before = diags_.error_count();
  add_initializers(*own);
  for (const auto& inner : own->node()) add_node(inner);
  if (diags_.error_count() > errors_before) return false;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = own->output(static_cast<int>(i)).name();
    if (results[i].empty()) continue;
    ValueId value = find_operand(name);
    if (!value.is_valid()) {
      if (failed_.contains(name)) return false;
      return diags_.error_at(Code::UndefinedValue, place, "its graph gives `{}`, which nothing defines", name);
    }
    if (name == results[i]) continue;
    if (!emitter_.emit({"Identity", {value}, {}, {results[i]}, place, origin})) return false;
  }
  return true;
}

bool OnnxImporter::add_flex_attention(const onnx::NodeProto& node, PendingNode pending) {
  if (!read_attributes(node, pending, {"score_mod", "prob_mod"})) return false;
  Composition c(std::move(pending), emitter_);
  FlexAttention parts(c);
  const ValueId scores = add_modification(node, "score_mod", c, parts.scores());
  const ValueId probabilities = add_modification(node, "prob_mod", c, parts.probabilities(scores));
  parts.write_result(probabilities);
  return c.finish();
}

ValueId OnnxImporter::add_modification(const onnx::NodeProto& node, const std::string& name, Composition& c,
                                       ValueId value) {
  auto body = std::find_if(node.attribute().begin(), node.attribute().end(),
                           [&name](const auto& attribute) { return attribute.name() == name; });
  if (!c.is_good() || body == node.attribute().end()) return value;
  if (!c.need(body->has_g() && body->g().input_size() == 1 && body->g().output_size() == 1,
              fmt::format("`{}` is no graph of one tensor that gives one", name))) {
    return {};
  }
  const std::string operand = graph_.value(value).name;
  const std::string result = emitter_.take_name(operand + "." + name, true);
  const bool is_added = add_body(body->g(), {operand}, {result}, c.node().where, node.name());
  const ValueId changed = is_added ? find_operand(result) : ValueId();
  if (!is_added) {
    c.fail();
  } else {
    c.need(emitter_.type(changed) == emitter_.type(value),
           fmt::format("`{}` makes {} of {}", name, ir::to_string(emitter_.type(changed)),
                       ir::to_string(emitter_.type(value))));
  }
  return changed;
}

}  // namespace collage::import
