// SPDX-License-Identifier: Apache-2.0
#include "compiler/api/state.h"

#include <cstring>

#include "compiler/request/placement_file.h"
#include "compiler/request/written_partitions.h"
#include "runtime/core/host_capabilities.h"

namespace collage::api {

CompilerState::CompilerState() : diags(sources) {
  request.settings.threads = runtime::host_capabilities().processors;
}

void CompilerState::clear_diagnostics() {
  diags.emplace(sources);
  texts.clear();
}

std::shared_ptr<const request::RuleFiles> CompilerState::find_rules() {
  if (rules == nullptr)
    rules = request::read_rule_files(request::default_rules(), sources, *diags, request.settings.allows_outside);
  return rules;
}

runner::WorkListener CompilerState::work_listener() const {
  const auto pass_on = [this](const runner::Progress& progress) {
    if (listener == nullptr) return;
    const collage_progress now{name_of(progress.work), progress.done, progress.of, progress.detail.c_str()};
    listener(listener_context, &now);
  };
  runner::WorkListener made;
  made.begin = [pass_on](runner::Work work) { pass_on({work, 0, 0, ""}); };
  made.progress = pass_on;
  made.waiting = [pass_on](const std::string& process, double) {
    pass_on({runner::Work::Measuring, 0, 0, "waiting until " + process + " has measured"});
  };
  made.stop = made.stop_measuring = &stops;
  return made;
}

namespace {

std::optional<ir::Placement> followed_placement(CompilerState& state, const sema::Model& model) {
  if (state.request.placement.follow.empty()) return model.placement;
  return request::read_placement_for(model, state.request.placement.follow, "placement", state.sources, *state.diags);
}

bool search(PlacedModel& placed) {
  const compilation::Compilation& compilation = *placed.compilation;
  const ir::Placement& written = compilation.model().placement;
  if (request::is_fully_placed(compilation.graph(), written)) {
    placed.placement = request::complete_costs(written, placed.candidates->built);
    return true;
  }
  placed.found = compilation.find_placement(*placed.candidates, compilation.strategy(), *placed.state->diags);
  if (placed.found) placed.placement = placed.found->placement;
  return placed.found.has_value();
}

}  // namespace

bool check_runtime(support::Diagnostics& diags) {
  if (std::strcmp(collage_runtime_version(), COLLAGE_VERSION) == 0) return true;
  return diags.error_at(support::Code::BackendFailed, "libcollage_runtime",
                        "its version is {}, that of libcollage_compiler {}", collage_runtime_version(),
                        COLLAGE_VERSION);
}

std::shared_ptr<PlacedModel> place_model(std::shared_ptr<CompilerState> state, const request::ModelFile& model) {
  support::Diagnostics& diags = *state->diags;
  std::shared_ptr<const request::RuleFiles> rules = state->find_rules();
  if (rules == nullptr) return nullptr;
  auto placed = std::make_shared<PlacedModel>();
  placed->state = state;
  placed->compilation = compilation::Compilation::open(model, std::move(rules), state->request.settings, diags);
  if (placed->compilation == nullptr) return nullptr;
  placed->compilation->set_listener(state->work_listener());
  if (!placed->compilation->run_passes({}, diags) || state->stops) return nullptr;
  std::optional<ir::Placement> written = followed_placement(*state, placed->compilation->model());
  if (!written) return nullptr;
  placed->candidates = placed->compilation->find_candidates(std::move(*written), nullptr, diags);
  if (!placed->candidates || state->stops || !search(*placed) || state->stops) return nullptr;
  return placed;
}

bool measure(PlacedModel& placed) {
  if (placed.measured || placed.candidates->built.lazy.not_needed == 0) return true;
  auto measured = placed.compilation->measure_all(*placed.candidates, *placed.state->diags);
  if (!measured || placed.state->stops) return false;
  placed.measured = std::move(measured);
  return true;
}

std::optional<compilation::Answers> answer(const PlacedModel& placed, const request::QuestionRequest& request) {
  std::optional<compilation::EarlierPlacement> earlier;
  if (placed.found) earlier.emplace(compilation::EarlierPlacement{*placed.found, *placed.candidates});
  return compilation::answer_questions(*placed.compilation, placed.known(), earlier, request, *placed.state->diags);
}

std::optional<std::string> explain(const PlacedModel& placed, const request::QuestionRequest& request) {
  std::optional<compilation::Answers> answers = answer(placed, request);
  if (!answers) return std::nullopt;
  return answers->text();
}

}  // namespace collage::api
