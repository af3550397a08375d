// SPDX-License-Identifier: Apache-2.0
// Names of values in an ONNX model: which are defined, which are read, and whether they are valid text.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"
#include "runtime/support/diagnostic.h"

namespace collage::import {

using NameSet = std::set<std::string, std::less<>>;
/// Old name -> new name.
using NewNames = std::map<std::string, std::string, std::less<>>;

/// Gives `name` its new name, if it has one.
void rename(std::string& name, const NewNames& names);
/// Renames what a node reads, the graphs inside it included. Names that such a graph defines hide outer ones.
void rename_operands(onnx::NodeProto& node, const NewNames& names);

/// Shows control characters in names of the graph and the branches inside it: support/visible.h.
void make_names_visible(onnx::GraphProto& proto);

/// Names defined and read in the graph and the branches inside it.
ModelNames collect_names(const onnx::GraphProto& proto);

/// Names that a node reads, including its branches.
NameSet names_read(const onnx::NodeProto& node);

/// The name of a node in the names of what it unfolds into: its own, or that of its first result.
std::string label_of(const onnx::NodeProto& node);
/// Where the node is, for messages: `m.onnx: node 'conv1' (Conv)`.
std::string place_of(const onnx::NodeProto& node, const std::string& file);

/// The graph in the attribute `name`; nullptr if there is none.
const onnx::GraphProto* graph_of(const onnx::NodeProto& node, std::string_view name);

/// Returns whether a result of the node has the name of one of its operands.
bool reads_itself(const onnx::NodeProto& node);

/// Reports each name that is not UTF-8: names appear in messages, in model text and in JSON.
bool check_names(const onnx::GraphProto& proto, const std::string& file, support::Diagnostics& diags);
bool check_names(const onnx::FunctionProto& function, const std::string& place, support::Diagnostics& diags);

}  // namespace collage::import
