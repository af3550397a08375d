// SPDX-License-Identifier: Apache-2.0
// How ONNX Runtime, LiteRT and Torch-TensorRT group what a backend supports: waves over the graph in topological order
// that take all supported nodes they reach, then all others, and so on. Nodes of a wave need not hang together.
//
//     x -> conv -> softmax -> conv', x -> relu     supported but for softmax   =>   {conv, relu} {conv'}
#pragma once

#include "compiler/place/policies/place_regions.h"

namespace collage::place {

/// The claimed blocks of each wave, in their order. After: the quotient of the waves is acyclic.
BlockGroups waves(const Blocks& blocks, const Table<NodeId, bool>& claimed, bool starts_with_claimed);

}  // namespace collage::place
