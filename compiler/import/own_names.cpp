// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/own_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compiler/import/names.h"
#include "compiler/import/stage.h"

namespace collage::import {
namespace {

/// Calls `act(std::string&)` with each name that the graph defines, but not the bodies inside it. Names that are left
/// out define nothing.
template <typename Act>
void for_each_definition(onnx::GraphProto& graph, const Act& act) {
  const auto visit = [&act](std::string* name) {
    if (!name->empty()) act(*name);
  };
  for (auto& input : *graph.mutable_input()) visit(input.mutable_name());
  for (auto& initializer : *graph.mutable_initializer()) visit(initializer.mutable_name());
  for (auto& sparse : *graph.mutable_sparse_initializer()) visit(sparse.mutable_values()->mutable_name());
  for (auto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) visit(&output);
  }
}

/// Renames values that the body defines, also where bodies inside it read them.
void rename_values(onnx::GraphProto& body, const NewNames& names) {
  if (names.empty()) return;
  for_each_definition(body, [&names](std::string& name) { rename(name, names); });
  for (auto& node : *body.mutable_node()) rename_operands(node, names);
  for (auto& output : *body.mutable_output()) rename(*output.mutable_name(), names);
}

class OwnNames {
 public:
  explicit OwnNames(const onnx::GraphProto& graph) {
    ModelNames names = collect_names(graph);
    taken_ = std::move(names.taken);
    taken_.merge(names.read);
  }

  /// Visits the bodies in a graph whose own names stay.
  void visit(onnx::GraphProto& graph) {
    if (std::none_of(graph.node().begin(), graph.node().end(), has_body)) return;
    std::vector<std::string> added;
    for_each_definition(graph, [&](const std::string& name) {
      if (around_.insert(name).second) added.push_back(name);
    });
    for (auto& node : *graph.mutable_node()) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) separate(*attribute.mutable_g());
      }
    }
    for (const std::string& name : added) around_.erase(name);
  }

 private:
  void separate(onnx::GraphProto& body) {
    NewNames names;
    for_each_definition(body, [&](const std::string& name) {
      if (around_.contains(name) && !names.contains(name)) names.emplace(name, new_name(name));
    });
    rename_values(body, names);
    visit(body);
  }

  std::string new_name(const std::string& base) {
    for (int& i = last_suffix_[base];;) {
      std::string name = fmt::format("{}.{}", base, ++i);
      if (taken_.insert(name).second) return name;
    }
  }

  NameSet taken_;   ///< in all of the graph
  NameSet around_;  ///< defined by the graphs around the nodes that are visited
  std::map<std::string, int, std::less<>> last_suffix_;
};

}  // namespace

void give_own_names(onnx::GraphProto& graph) {
  if (std::any_of(graph.node().begin(), graph.node().end(), has_body)) OwnNames(graph).visit(graph);
}

void rename_bodies(onnx::NodeProto& node, const std::function<std::string(const std::string&)>& own_name) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) continue;
    onnx::GraphProto& body = *attribute.mutable_g();
    // Bodies inside first: their names are new then, and hide none of the new names around them.
    for (auto& inner : *body.mutable_node()) rename_bodies(inner, own_name);
    NewNames names;
    for_each_definition(body, [&](const std::string& name) {
      if (!names.contains(name)) names.emplace(name, own_name(name));
    });
    rename_values(body, names);
  }
}

}  // namespace collage::import
