// SPDX-License-Identifier: Apache-2.0
// The settings of a state by name (collage_compiler_set): rows of compiler/request/options.def.
#include "compiler/api/state.h"
#include "compiler/place/strategies.h"
#include "compiler/request/option_values.h"

namespace collage::api {

bool change_setting(CompilerState& state, const std::string& name, const std::string& value) {
  // Whether other strategies exist, and their backends do, shows when a model is placed.
  const place::StrategyRow* strategy = name == "strategy" ? place::find_strategy(value) : nullptr;
  if (strategy != nullptr && place::is_measured({strategy->kind, {}})) {
    return state.diags->error_at(support::Code::BadOption, name,
                                 "`{}` runs the placements that it compares, which only the command does",
                                 strategy->name);
  }
  if (!request::set_by_name(name, value, state.request, *state.diags)) return false;
  state.request.settings.has_own_threads |= name == "threads";
  return true;
}

}  // namespace collage::api
