// SPDX-License-Identifier: Apache-2.0
// What passes ask when they look for a form of several nodes, from its result to its operands.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/graph/operands.h"
#include "compiler/passes/graph_edit.h"

namespace collage::passes {

/// The free node with this operator that makes `id`, its first result; null if there is none.
const ir::Node* made_by(const GraphEdit& edit, ir::ValueId id, std::string_view op);

/// Read by nothing but `readers` operands, and no output: it goes away where these do.
bool is_read_by(const GraphEdit& edit, ir::ValueId id, size_t readers);

/// `made_by`, and read by nothing but `readers` operands.
const ir::Node* private_made_by(const GraphEdit& edit, ir::ValueId id, std::string_view op, size_t readers = 1);

/// The element of a constant that has one; nullopt for other values.
std::optional<double> number_of(const GraphEdit& edit, ir::ValueId id);
/// Whether that is `wanted`, as far as f32 can tell.
bool is_number(const GraphEdit& edit, ir::ValueId id, double wanted);

/// An operand of a node with two, and the other one, which is a number.
struct WithNumber {
  ir::ValueId value;
  double number = 0;
  bool number_is_second = true;
};
/// Returns nullopt where no operand is a number, or both are, and where the number changes the shape.
std::optional<WithNumber> with_number(const GraphEdit& edit, const ir::Node& node);

/// v where `node` is an operation of v and `wanted`, in any order; invalid otherwise.
ir::ValueId beside_number(const GraphEdit& edit, const ir::Node* node, double wanted);
/// The operand beside `one`, which must be one of two; invalid otherwise.
ir::ValueId beside(const ir::Node* node, ir::ValueId one);

/// Axes of a reduction, from its attribute or constant operand, in order and not negative; nullopt if they are
/// computed.
std::optional<std::vector<int64_t>> reduced_axes(const GraphEdit& edit, const ir::Node& node);

/// Whether an extent of the value is 0.
bool has_zero(const GraphEdit& edit, ir::ValueId id);

/// Elements of a constant operand of whole numbers; nullopt if it is left out or no constant.
std::optional<std::vector<int64_t>> whole_numbers(const ir::Graph& graph, const ir::Node& node, size_t operand);

}  // namespace collage::passes
