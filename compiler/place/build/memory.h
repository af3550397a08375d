// SPDX-License-Identifier: Apache-2.0
// What values and resident constants take in the memories of devices, and of the hosts of a cluster: at least, and on
// devices what plan/emit_steps.h makes of a candidate.
//
//   - a constant that a rule wants encoded takes its encoded bytes, once for each encoding;
//   - a value inside a candidate has memory where an operator of the device writes it or a match of a rule does;
//   - one within a match whose rule says what its kernel computes (`semantics`) has it where that has an equal
//     intermediate:
//
//         Relu(MatMul(a, b)), semantics Relu(MatMul(a, b))  =>  the product has memory
//         Relu(Relu(a)), semantics Relu(a)                  =>  nothing inside has
//
//   - libraries, plug-ins and code for the host have no memory for values inside, nor have bodies that `phase post`
//     rewrites.
#pragma once

#include "compiler/place/build/built_problem.h"

namespace collage::place {

/// Sets the bytes of all values and constants, and which constants and inner values each candidate keeps on its device;
/// with a cluster, on its host.
void add_memory(const ir::Graph& graph, const ActiveBackends& backends, BuiltProblem* built);

}  // namespace collage::place
