// SPDX-License-Identifier: Apache-2.0
// What rewrites of a node share: its operands, names for values beside it, attributes that became operands.
#pragma once

#include <string>
#include <string_view>

#include "compiler/import/emitter.h"

namespace collage::import {

/// Reports that the node has a meaning that no operator of the graph has. Returns false.
bool unsupported(const PendingNode& node, Emitter& emitter, const std::string& what);

/// Name of the first result, or of the operator where there is none.
std::string result_name(const PendingNode& node);
/// `y.axes` for the result `y`.
std::string name_for(const PendingNode& node, std::string_view what);

bool has_input(const PendingNode& node, size_t i);
void set_input(PendingNode& node, size_t i, ir::ValueId value);

/// {axes = [1]}  =>  operand `i`
void ints_to_operand(PendingNode& node, Emitter& emitter, std::string_view attr, size_t i);

/// Removes unused results beyond the first; returns false if one of them is read.
bool keep_first_result(PendingNode& node, const Emitter& emitter);

}  // namespace collage::import
