// SPDX-License-Identifier: Apache-2.0
// Runs passes over a graph: on or off, timed, printed, verified.
//
// Passes are for models without a placement. Where the user placed nodes by hand the graph is built as it is written:
// the driver then runs no pass. A pinned node is never removed, merged or evaluated: the pin would be lost without a
// word.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/diagnostic.h"

namespace collage::passes {

struct PassContext {
  support::Diagnostics& diags;
};

/// True if the graph changed.
using PassFunction = std::function<bool(ir::Graph&, PassContext&)>;

#define PASS(name, doc) bool name(ir::Graph& graph, PassContext& context);
#include "compiler/passes/passes.def"
#undef PASS

struct Pass {
  std::string name;
  std::string_view doc;
  PassFunction run;
};

/// In the order of `passes.def`.
const std::vector<Pass>& all_passes();
/// `fold_constants`, or `fold-constants`. Null if there is none.
const Pass* find_pass(std::string_view name);

struct PassOptions {
  std::vector<std::string> disabled;
  std::vector<std::string> print_after;         ///< names, or `all`
  std::function<void(std::string_view)> print;  ///< where graphs go
};

struct PassReport {
  std::string name;
  bool changed = false;
  double seconds = 0;
};

/// Runs `passes` in order, each on what the one before left, and verifies the graph after each. Names in the options
/// that are no passes, neither of `passes` nor vetted, are errors (BadOption) and nothing runs.
std::optional<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, support::Diagnostics& diags);

/// A table for `--time-passes`.
std::string to_string(const std::vector<PassReport>& reports);

}  // namespace collage::passes
