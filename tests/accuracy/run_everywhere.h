// SPDX-License-Identifier: Apache-2.0
// Runs a small graph in every way that the rule files of this build offer for it as a whole.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compiler/codegen/target/code_target.h"
#include "compiler/ir/graph/graph.h"
#include "compiler/ir/rules/rule_set.h"
#include "compiler/request/activate.h"

namespace collage::testing {

/// All of `rules/`, with what this build and machine can run.
class Backends {
 public:
  /// `left_out`: names of backends that do not run.
  explicit Backends(const codegen::CodeTarget& code, std::set<std::string, std::less<>> left_out = {});

  /// A backend, and the formats at its boundary.
  struct Way {
    std::string backend;
    std::string formats;
    bool is_code = false;  ///< no reference kernel runs
  };
  using Visit = std::function<void(const Way&, const std::vector<runtime::Tensor>& results)>;

  /// Calls `visit` for each candidate that holds the whole graph, with what it makes of the inputs. Returns a problem,
  /// or "".
  std::string run(const ir::Graph& graph, const std::vector<runtime::Tensor>& inputs, const Visit& visit) const;

 private:
  support::SourceManager sources_;
  ir::RuleSet rules_;
  std::vector<request::Activation> activations_;
  std::set<std::string, std::less<>> left_out_;
};

}  // namespace collage::testing
