// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/requests.h"

#include "compiler/import/tensor_proto.h"
#include "compiler/request/rule_files.h"
#include "runtime/core/text.h"

namespace collage::request {

place::SearchOptions Settings::search() const {
  place::SearchOptions search;
  search.max_seconds = budget;
  search.keeps_multipliers = keeps_multipliers;
  if (max_states > 0) {
    search.max_states = max_states;
  } else if (budget) {
    search.max_states = kUnlimitedStates;
  }
  return search;
}

std::vector<std::string> Settings::named_backends() const {
  std::vector<std::string> words = runtime::split(strategy.substr(strategy.find(':') + 1), ',');
  words.insert(words.end(), named.begin(), named.end());
  for (const std::string& option : place) words.push_back(option.substr(option.rfind('=') + 1));
  for (const std::vector<std::string>* options : {&memory, &allow}) {
    for (const std::string& option : *options) words.push_back(option.substr(0, option.find('=')));
  }
  for (std::string& word : words) word = word.substr(0, word.find('['));
  return words;
}

bool Request::executes() const {
  switch (command) {
    case CommandName::Run:
    case CommandName::Check:
    case CommandName::Bench:
    case CommandName::Profile:
    case CommandName::Trace:
    case CommandName::VerifyCosts:
    case CommandName::Bisect: return true;
    case CommandName::Compare: return runs > 0;
    default: return false;
  }
}

const runner::TensorFormats& tensor_formats() {
  static const runner::TensorFormats kFormats = {{".pb", import::read_tensor_pb, import::write_tensor_pb}};
  return kFormats;
}

void complete(Request& request) {
  using enum CommandName;
  const CommandName command = request.command;
  if (request.rules.empty()) request.rules = default_rules();
  request.model.allows_outside = request.settings.allows_outside;
  request.checks = request.checks || command == Check;
  request.run.is_asked = command == Run;
  request.run.asked_by = row_of(command).word;
  request.run.formats = tensor_formats();
  request.settings.keeps_multipliers = !request.placement.certificate.empty();
  CostRequest& costs = request.settings.costs;
  // What lists or explains candidates shows all of their costs.
  costs.measures_all = costs.measures_all || command == Compare || command == Diff || command == Why ||
                       command == WhyNot || request.emit == Emit::Candidates;
  // Machines that are not here take part in a simulation, and cannot be timed.
  if (command == Simulate) request.settings.allows_simulated = true;
  if (command == Simulate && costs.mode == CostMode::Choose) costs.mode = CostMode::Estimate;
}

}  // namespace collage::request
