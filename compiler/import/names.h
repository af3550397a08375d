// SPDX-License-Identifier: Apache-2.0
// Names of values in an ONNX model: what is defined, what is read, and whether they are text at all.
#pragma once

#include <string>

#include "compiler/import/emitter.h"
#include "compiler/import/proto.h"
#include "compiler/support/diagnostic.h"

namespace collage::import {

using NameSet = std::set<std::string, std::less<>>;

/// Of the graph and the branches inside it.
ModelNames collect_names(const onnx::GraphProto& proto);

/// What a node reads, its branches included.
NameSet names_read(const onnx::NodeProto& node);

/// A result of the node has the name of one of its operands.
bool reads_itself(const onnx::NodeProto& node);

/// Names end up in messages, in our text and in JSON, all of which are UTF-8: an error for each that is not.
bool check_names(const onnx::GraphProto& proto, const std::string& file, support::Diagnostics& diags);

}  // namespace collage::import
