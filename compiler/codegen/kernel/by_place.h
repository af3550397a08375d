// SPDX-License-Identifier: Apache-2.0
// Pointwise operators whose results depend on where an element stands:
//
//   Trilu    the element on one side of a diagonal of its matrix, 0 on the other
//   OneHot   `on` where the place along the axis is the index, `off` elsewhere; indices broadcast along the axis
//
// A run decides the elements and the indices. A diagonal, or values, that it decides too have no code.
#pragma once

#include "compiler/codegen/kernel/epilogue.h"
#include "compiler/codegen/kernel/pointwise.h"

namespace collage::codegen {

/// Returns false if the node must run on its reference kernel. Expects one of these operators.
bool takes_by_place(const ir::Graph& graph, ir::NodeId node);

/// Returns whether the lanes of such a space have the places that the node asks for; those of other nodes always have.
/// One inner dimension is enough.
bool has_places(const ir::Graph& graph, ir::NodeId node, const IterationSpace& space);

/// The axis of a OneHot in its result.
size_t one_hot_axis(const ir::Graph& graph, const ir::Node& node);

/// Emits Trilu. `places` has as many lanes as the nest.
Expr vector_triangle(Nest& nest, const ir::Graph& graph, const ir::Node& node, const Expr& x, const LanePlaces& places);

/// Emits OneHot.
Expr vector_one_hot(Nest& nest, const ir::Graph& graph, const ir::Node& node, const Expr& indices,
                    const LanePlaces& places);

}  // namespace collage::codegen
