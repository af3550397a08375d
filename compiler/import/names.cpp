// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/names.h"

#include <algorithm>

#include "runtime/support/utf8.h"
#include "runtime/support/visible.h"

namespace collage::import {
namespace {

/// Collects the names of a graph and of the branches inside it, which read values of the graph around them.
void collect_values(const onnx::GraphProto& proto, NameSet* taken, NameSet* read) {
  for (const auto& input : proto.input()) taken->insert(input.name());
  for (const auto& initializer : proto.initializer()) taken->insert(initializer.name());
  for (const auto& sparse : proto.sparse_initializer()) taken->insert(sparse.values().name());
  for (const auto& node : proto.node()) {
    taken->insert(node.output().begin(), node.output().end());
    read->insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_values(attribute.g(), taken, read);
    }
  }
  for (const auto& output : proto.output()) read->insert(output.name());
}

/// Names that an inner graph reads of the graph around it. Names that it defines itself hide outer ones.
void rename_captures(onnx::GraphProto& graph, NewNames names) {
  for (const auto& input : graph.input()) names.erase(input.name());
  for (const auto& initializer : graph.initializer()) names.erase(initializer.name());
  for (const auto& sparse : graph.sparse_initializer()) names.erase(sparse.values().name());
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) names.erase(output);
  }
  for (auto& node : *graph.mutable_node()) rename_operands(node, names);
  for (auto& output : *graph.mutable_output()) rename(*output.mutable_name(), names);
}

void show_controls(std::string* name) {
  if (support::is_utf8(*name)) *name = support::visible(*name);
}

template <typename Values>
void show_controls_of(Values& values) {
  for (auto& value : values) show_controls(value.mutable_name());
}

}  // namespace

void rename(std::string& name, const NewNames& names) {
  if (auto it = names.find(name); it != names.end()) name = it->second;
}

void rename_operands(onnx::NodeProto& node, const NewNames& names) {
  for (std::string& input : *node.mutable_input()) rename(input, names);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_captures(*attribute.mutable_g(), names);
  }
}

void make_names_visible(onnx::GraphProto& proto) {
  show_controls(proto.mutable_name());
  show_controls_of(*proto.mutable_input());
  show_controls_of(*proto.mutable_output());
  show_controls_of(*proto.mutable_value_info());
  show_controls_of(*proto.mutable_initializer());
  for (auto& sparse : *proto.mutable_sparse_initializer()) show_controls(sparse.mutable_values()->mutable_name());
  for (auto& node : *proto.mutable_node()) {
    show_controls(node.mutable_name());
    for (std::string& input : *node.mutable_input()) show_controls(&input);
    for (std::string& output : *node.mutable_output()) show_controls(&output);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) make_names_visible(*attribute.mutable_g());
      for (auto& graph : *attribute.mutable_graphs()) make_names_visible(graph);
    }
  }
}

NameSet names_read(const onnx::NodeProto& node) {
  NameSet taken, read(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) collect_values(attribute.g(), &taken, &read);
  }
  return read;
}

std::string label_of(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

std::string place_of(const onnx::NodeProto& node, const std::string& file) {
  return fmt::format("{}: node '{}' ({})", file, label_of(node), node.op_type());
}

const onnx::GraphProto* graph_of(const onnx::NodeProto& node, std::string_view name) {
  const auto found = std::find_if(node.attribute().begin(), node.attribute().end(),
                                  [&name](const auto& attribute) { return attribute.name() == name; });
  return found != node.attribute().end() && found->has_g() ? &found->g() : nullptr;
}

bool reads_itself(const onnx::NodeProto& node) {
  return std::any_of(node.input().begin(), node.input().end(), [&node](const std::string& input) {
    return std::find(node.output().begin(), node.output().end(), input) != node.output().end();
  });
}

ModelNames collect_names(const onnx::GraphProto& proto) {
  ModelNames names;
  collect_values(proto, &names.taken, &names.read);
  for (const auto& output : proto.output()) names.outputs.insert(output.name());
  return names;
}

bool check_names(const onnx::FunctionProto& function, const std::string& place, support::Diagnostics& diags) {
  auto is_good = [](const std::string& name) { return support::is_utf8(name); };
  bool all = std::all_of(function.input().begin(), function.input().end(), is_good);
  for (const auto& node : function.node()) {
    all = all && support::is_utf8(node.name()) && std::all_of(node.output().begin(), node.output().end(), is_good);
  }
  return all || diags.error_at(support::Code::UnsupportedOnnx, place, "the name of a value is not UTF-8");
}

bool check_names(const onnx::GraphProto& proto, const std::string& file, support::Diagnostics& diags) {
  bool is_good = true;
  auto check = [&](const std::string& name, const std::string& place) {
    if (support::is_utf8(name)) return;
    is_good = diags.error_at(support::Code::UnsupportedOnnx, place, "the name of a value is not UTF-8");
  };
  for (int i = 0; i < proto.input_size(); ++i) check(proto.input(i).name(), fmt::format("{}: input {}", file, i));
  for (int i = 0; i < proto.initializer_size(); ++i)
    check(proto.initializer(i).name(), fmt::format("{}: initializer {}", file, i));
  for (int i = 0; i < proto.sparse_initializer_size(); ++i)
    check(proto.sparse_initializer(i).values().name(), fmt::format("{}: sparse initializer {}", file, i));
  for (int i = 0; i < proto.node_size(); ++i) {
    for (const std::string& output : proto.node(i).output())
      check(output, fmt::format("{}: node {} ({})", file, i, proto.node(i).op_type()));
  }
  return is_good;
}

}  // namespace collage::import
