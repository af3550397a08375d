// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/pending_node.h"

namespace collage::import {

bool unsupported(const PendingNode& node, Emitter& emitter, const std::string& what) {
  return emitter.diags().error_at(support::Code::UnsupportedOnnx, node.where, "{}", what);
}

std::string result_name(const PendingNode& node) {
  return node.outputs.empty() ? node.op : node.outputs[0];
}

std::string name_for(const PendingNode& node, std::string_view what) {
  return result_name(node) + "." + std::string(what);
}

bool has_input(const PendingNode& node, size_t i) {
  return i < node.inputs.size() && node.inputs[i].is_valid();
}

void set_input(PendingNode& node, size_t i, ir::ValueId value) {
  if (node.inputs.size() <= i) node.inputs.resize(i + 1);
  node.inputs[i] = value;
}

void ints_to_operand(PendingNode& node, Emitter& emitter, std::string_view attr, size_t i) {
  if (!node.attrs.has(attr)) return;
  set_input(node, i, emitter.add_ints(name_for(node, attr), node.attrs.get_ints(attr)));
  node.attrs.erase(attr);
}

bool keep_first_result(PendingNode& node, const Emitter& emitter) {
  for (size_t i = 1; i < node.outputs.size(); ++i) {
    if (emitter.is_read(node.outputs[i])) return false;
  }
  if (node.outputs.size() > 1) node.outputs.resize(1);
  return true;
}

}  // namespace collage::import
