// SPDX-License-Identifier: Apache-2.0
// How far every way to run a case is from the same arithmetic in f64.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/rules/rule_set.h"
#include "compiler/request/activate.h"
#include "tests/accuracy/cases.h"

namespace collage::testing {

/// In units of the result's magnitude, max|y|.
struct Error {
  double greatest = 0;
  double rms = 0;
};

/// The worse of both, each by itself.
Error worse(const Error& a, const Error& b);

struct CaseErrors {
  std::string problem;  ///< it could not be built or run, or generated code left it to a reference kernel
  Error reference;      ///< the reference kernels in f32: they sum in double and round once
  Error plain;          ///< plain_f32.h
  /// By processor (``, `haswell`, …), over all layouts that the rules of the host offer.
  std::map<std::string, Error> ours{};
  std::map<std::string, Error> libraries{};  ///< by backend
  int layouts = 0;                           ///< of `ours`
};

/// `processors` are those that generated code is made for; this machine must be able to run it.
CaseErrors measure_errors(const AccuracyCase& one, const ir::RuleSet& rules,
                          const std::vector<request::Activation>& activations,
                          const std::vector<std::string>& processors);

}  // namespace collage::testing
