// SPDX-License-Identifier: Apache-2.0
// A host partition as C99 source that compiles alone: the same loop nests as the JIT's, as plain loops
// (`--emit=c`). Weights are parameters; the text contains only tables and packed panels that the compiler computed. All
// parameters are plain tensors, whatever layouts a placement has at the partition's boundary. The functions cannot
// fail: an index out of range selects the first or last element.
//
//     {%c = Conv(%x, %w), %y = Relu(%c)}  =>
//     void p0(const void *restrict x, const void *restrict w, void *restrict y, void *restrict workspace)
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/nest/loop_nest.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/core/status.h"

namespace collage::codegen {

struct CParameter {
  enum class Kind { Input, Weight, Output };
  Kind kind = Kind::Input;
  ir::ValueId value;
  std::string name;  ///< in the C text
};

struct CFunction {
  std::string symbol;
  std::string text;                    ///< kernels and the function, without the prelude
  std::vector<CParameter> parameters;  ///< in order; `void *restrict workspace` follows
  size_t workspace_bytes = 0;          ///< provided by the caller, aligned to 64 bytes
  std::set<Element> numbers = {};      ///< what its kernels compute in
};

/// Expects a convex set of nodes, ascending. `symbol` is a C name that is unique in the file. A failure names the
/// operator that has no generated code.
runtime::Result<CFunction> c_function(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes,
                                      const std::string& symbol);

/// Returns the whole file: a comment with the shapes, the prelude, the functions.
std::string c_file(const ir::Graph& graph, const std::vector<CFunction>& functions);

/// `layer4/conv-1` => `layer4_conv_1`; appends `_` to names that C or the file reserves.
std::string c_name(const std::string& name);

}  // namespace collage::codegen
