// SPDX-License-Identifier: Apache-2.0
// What stands for the handles of include/collage/compiler.h. Handles share what they need of each other, so that they
// can be freed in any order.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compilation/answer_questions.h"
#include "compiler/compilation/compilation.h"
#include "include/collage/compiler.h"

namespace collage::api {

/// A diagnostic with the texts that a `collage_diagnostic` points to.
struct DiagnosticTexts {
  std::string code, file, message;
};

struct CompilerState {
  support::SourceManager sources;
  std::optional<support::Diagnostics> diags;  ///< always there; made again to clear it
  request::Request request;
  std::shared_ptr<const request::RuleFiles> rules;  ///< null: the default rules, which are read when they are needed
  std::map<size_t, DiagnosticTexts> texts;          ///< of diagnostics that were asked for
  std::string rendered;
  collage_listener listener = nullptr;
  void* listener_context = nullptr;
  std::atomic<bool> stops = false;  ///< collage_compiler_stop: the step at work, or the next one

  CompilerState();
  /// Passes progress on to `listener`, and stops with `stops`. Refers to this state.
  runner::WorkListener work_listener() const;
  void clear_diagnostics();
  /// Returns null after errors.
  std::shared_ptr<const request::RuleFiles> find_rules();
};

/// False after an error: no setting of that name, a value that is none.
bool change_setting(CompilerState& state, const std::string& name, const std::string& value);

/// False, with an error, where the runtime library is not the one that this library was built with: they share more
/// than
/// the ABI.
bool check_runtime(support::Diagnostics& diags);

/// A finished search, and what is needed to explain or compile it.
struct PlacedModel {
  std::shared_ptr<CompilerState> state;
  std::unique_ptr<compilation::Compilation> compilation;
  std::optional<compilation::Candidates> candidates;
  std::optional<search::FoundPlacement> found;  ///< absent where the model came placed
  ir::Placement placement;
  std::optional<compilation::Candidates> measured;  ///< with all costs; absent until they are asked for

  /// Returns the candidates with the costs that are known.
  const compilation::Candidates& known() const { return measured ? *measured : *candidates; }
};

/// Returns null after errors, or where it was stopped.
std::shared_ptr<PlacedModel> place_model(std::shared_ptr<CompilerState> state, const request::ModelFile& model);

/// Measures what the search did without. False after an error, or where it was stopped.
bool measure(PlacedModel& placed);

/// Answers about the placement, by the costs that are known. Returns nullopt after an error.
std::optional<compilation::Answers> answer(const PlacedModel& placed, const request::QuestionRequest& request);
/// The same as lines.
std::optional<std::string> explain(const PlacedModel& placed, const request::QuestionRequest& request);

}  // namespace collage::api

struct collage_compiler {
  std::shared_ptr<collage::api::CompilerState> state;
};

struct collage_model {
  std::shared_ptr<collage::api::CompilerState> state;
  std::shared_ptr<const collage::request::ModelFile> file;
};

struct collage_placement {
  std::shared_ptr<collage::api::PlacedModel> placed;
};
