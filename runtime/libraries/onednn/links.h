// SPDX-License-Identifier: Apache-2.0
// Elementwise operators as oneDNN's eltwise and binary algorithms: what can hang on another primitive as a post-op,
// and, where nothing is in front of it, be a primitive of its own.
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

/// `op` as a function of its operand `x`, or nothing if it is no such function or its parameters are not constant. The
/// other operand of a binary link may need broadcasting, `x` may not.
std::optional<Link> link_of(const LibraryProgram& program, const LibraryOp& op, int x);

/// Links as post-ops want them: linear functions in a row become one.
std::vector<Link> merged(const std::vector<Link>& links);

}  // namespace collage::runtime::onednn
