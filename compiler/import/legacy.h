// SPDX-License-Identifier: Apache-2.0
// Operators as opsets before 17 defined them -> their form in opset 17. `upgrade.cpp` says which opsets each is for.
#pragma once

#include "compiler/import/emitter.h"

namespace collage::import {

bool axes_operand(PendingNode& node, Emitter& emitter);
bool cast_by_name(PendingNode& node, Emitter& emitter);
bool clip_bounds(PendingNode& node, Emitter& emitter);
bool concat_axis(PendingNode& node, Emitter& emitter);
bool constant_fill(PendingNode& node, Emitter& emitter);
bool drop_output_sequence(PendingNode& node, Emitter& emitter);
bool gemm_broadcast(PendingNode& node, Emitter& emitter);
bool legacy_broadcast(PendingNode& node, Emitter& emitter);
bool norm_as_int(PendingNode& node, Emitter& emitter);
bool pad_operands(PendingNode& node, Emitter& emitter);
bool prelu_slope(PendingNode& node, Emitter& emitter);
bool rename_scatter(PendingNode& node, Emitter& emitter);
bool reshape_operand(PendingNode& node, Emitter& emitter);
bool slice_operands(PendingNode& node, Emitter& emitter);
bool softmax_of_flattened(PendingNode& node, Emitter& emitter);
bool split_operand(PendingNode& node, Emitter& emitter);
bool to_resize(PendingNode& node, Emitter& emitter);
bool top_k_operand(PendingNode& node, Emitter& emitter);

}  // namespace collage::import
