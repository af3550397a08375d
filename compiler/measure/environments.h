// SPDX-License-Identifier: Apache-2.0
// The environments (environment.h) of all candidates of a compilation: one for each active backend. The compiler keys
// costs with them; a worker that measures for others announces those that it can measure (fleet/).
#pragma once

#include <map>
#include <string>

#include "compiler/codegen/target/code_target.h"
#include "compiler/place/candidates/candidates.h"

namespace collage::measure {

/// On which costs are measured.
struct TargetMachine {
  std::string machine;  ///< `describe_machine` there
  std::string build;    ///< `describe_build` there
  friend bool operator==(const TargetMachine&, const TargetMachine&) = default;
};

class Environments {
 public:
  /// `backends`: the active ones, by whose order those of plans are named.
  Environments(const place::ActiveBackends& backends, const TargetMachine& target, int threads,
               const codegen::CodeTarget& code);

  /// The environment of a backend's candidates; that of the implicit host for every other name.
  const std::string& of(const std::string& backend) const;
  const std::string& of_plans() const { return of_plans_; }
  /// By backend; "" for the implicit host.
  const std::map<std::string, std::string>& all() const { return by_backend_; }

 private:
  std::map<std::string, std::string> by_backend_;
  std::string of_plans_;
};

/// True for a backend whose rules say `cost exec`.
bool has_cost_program(const place::ActiveBackend& active);
/// The folder in which its program runs.
std::string folder_of_program(const place::ActiveBackend& active);

}  // namespace collage::measure
