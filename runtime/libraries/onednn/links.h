// SPDX-License-Identifier: Apache-2.0
// Elementwise operators as oneDNN's eltwise and binary algorithms: post-ops of the primitive before them, or separate
// primitives if there is none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/libraries/onednn/layout.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime::onednn {

/// One step y = f(x) or y = f(x, operand) of a chain.
struct Link {
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  float alpha = 0;
  float beta = 0;
  int operand = -1;  ///< value; -1: an eltwise algorithm
  std::string text;

  bool is_binary() const { return operand >= 0; }
  bool is_identity() const { return algorithm == dnnl::algorithm::undef; }
};

/// `op` as a function of its operand `x`; nullopt if it is not such a function or its parameters are not constant. The
/// other operand of a binary link may need broadcasting, `x` may not.
std::optional<Link> link_of(const LibraryProgram& program, const LibraryOp& op, int x);

/// Links as post-ops: consecutive linear functions become one.
std::vector<Link> merged(const std::vector<Link>& links);

}  // namespace collage::runtime::onednn
