// SPDX-License-Identifier: Apache-2.0
// Runs passes over a graph: on or off, timed, printed, verified.
//
// Passes are for models without a placement. If the user placed nodes by hand, the driver runs no pass and the graph is
// built as written. A pinned node is never removed, merged or evaluated: the pin would be lost without a message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/analysis/evaluate.h"
#include "compiler/ir/graph/graph.h"
#include "runtime/support/diagnostic.h"

namespace collage::passes {

struct PassContext {
  support::Diagnostics& diags;
  ir::FoldBudget fold_budget{};  ///< of all passes together
};

/// Returns true if the graph changed.
using PassFunction = std::function<bool(ir::Graph&, PassContext&)>;

#define PASS(name, doc) bool name(ir::Graph& graph, PassContext& context);
#include "compiler/passes/passes.def"

struct Pass {
  std::string name;
  std::string_view doc;
  PassFunction run;
  bool is_repeated = false;  ///< runs again where a pass beside it in the list changed the graph
};

/// In the order of `passes.def`.
const std::vector<Pass>& all_passes();
std::vector<std::string> pass_names();
/// Finds a pass by name, `fold_constants` or `fold-constants`. Returns null if there is none.
const Pass* find_pass(std::string_view name);

/// What a pass takes apart or puts together.
struct Form {
  std::string_view pass;
  std::string_view makes;               ///< the operator that the pass writes; none: it takes the form apart
  std::vector<std::string_view> takes;  ///< operators
};

/// The forms of passes.def.
const std::vector<Form>& all_forms();

/// A graph, and the pass that made it; the first one, as given, has no pass.
struct PassSnapshot {
  std::string pass;
  ir::Graph graph;
};

struct PassOptions {
  std::vector<std::string> disabled;
  std::vector<std::string> print_after;          ///< names, or `all`
  std::function<void(std::string_view)> print;   ///< prints a graph
  std::vector<PassSnapshot>* history = nullptr;  ///< gets the graph as given, and after each pass that changed it
};

struct PassReport {
  std::string name;
  bool changed = false;
  double seconds = 0;  ///< of all its runs
};

/// Runs `passes` in order and verifies the graph after each. Passes of passes.def that stand together run again, a
/// bounded number of times, until none of them changes anything: what one makes, another may take up. A name in the
/// options that is neither in `passes` nor in passes.def is an error (BadOption); then nothing runs.
std::optional<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, support::Diagnostics& diags);

/// A table for `--time-passes`.
std::string to_string(const std::vector<PassReport>& reports);

}  // namespace collage::passes
