// SPDX-License-Identifier: Apache-2.0
// Makes code for processors, whether this machine can run it or not: what a generator accepts, LLVM must make code of
// that needs nothing from outside.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/jit.h"
#include "compiler/ir/graph/graph.h"

namespace collage::codegen_test {

/// Those that COLLAGE_PROCESSORS names, separated by commas; `all`: every instruction set that changes what is
/// generated, and processors of the last fifteen years. Without the variable, one for each width of vectors.
std::vector<std::string> processors_to_try();

class CodeMaker {
 public:
  explicit CodeMaker(const std::vector<std::string>& processors);

  /// Lowers all nodes as one partition, for each processor. Returns what was refused, a line each; the failures that
  /// `options` explain, such as a generator that a processor lacks, are none.
  std::string make(const ir::Graph& graph, const codegen::LowerOptions& options = {});

  /// Numbers of kernels, each text once: a row for dtype and operator, a column for each processor. Refused ones are
  /// shown as `3!`.
  std::string table() const;

 private:
  struct Processor {
    std::string name;
    std::unique_ptr<codegen::Jit> jit;
  };
  struct Count {
    size_t made = 0;
    size_t refused = 0;
  };

  std::vector<Processor> processors_;
  std::map<std::pair<std::string, std::string>, std::vector<Count>> counts_;
};

}  // namespace collage::codegen_test
