// SPDX-License-Identifier: Apache-2.0
// The settings of a state by name (collage_compiler_set): a row for each.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "compiler/api/state.h"
#include "compiler/place/strategies.h"
#include "compiler/request/bindings.h"
#include "runtime/pool/pool.h"

namespace collage::api {
namespace {

using support::Code;

template <typename Number>
std::optional<Number> parse_number(const std::string& text, Number least, Number most) {
  Number number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= least && number <= most)) {
    return std::nullopt;
  }
  return number;
}

/// Stores what was parsed. False where nothing was.
template <typename Place, typename Value>
bool store(Place& place, const std::optional<Value>& value) {
  if (value) place = *value;
  return value.has_value();
}

/// An empty value clears the list.
bool add(std::vector<std::string>& list, const std::string& value) {
  if (value.empty()) {
    list.clear();
  } else {
    list.push_back(value);
  }
  return true;
}

bool set_costs(CompilerState& s, const std::string& value) {
  if (value != "measured" && value != "estimate") return false;
  s.settings.costs.mode = value == "measured" ? driver::CostMode::Measured : driver::CostMode::Estimate;
  return true;
}

bool set_budget(CompilerState& s, const std::string& value) {
  if (!store(s.max_seconds, parse_number<double>(value, 0, driver::kMostSeconds))) return false;
  s.settings.search = driver::search_options(s.max_states, s.max_seconds);
  return true;
}

bool set_max_states(CompilerState& s, const std::string& value) {
  if (!store(s.max_states, parse_number<uint64_t>(value, 1, driver::kMostStates))) return false;
  s.settings.search = driver::search_options(s.max_states, s.max_seconds);
  return true;
}

bool set_shape(CompilerState& s, const std::string& value) {
  if (value.empty()) s.bindings.clear();
  return value.empty() || driver::add_bindings(value, "shape", s.bindings).empty();
}

bool set_buckets(CompilerState& s, const std::string& value) {
  if (value.empty()) s.buckets.clear();
  // What is wrong in its second size changes nothing.
  std::vector<std::vector<ir::ShapeBinding>> buckets = s.buckets;
  const std::string wrong = value.empty() ? "" : driver::add_buckets(value, buckets);
  if (!wrong.empty()) return s.diags->error_at(Code::BadOption, "buckets", "{}", wrong);
  s.buckets = std::move(buckets);
  return true;
}

/// Whether the strategy exists, and its backends do, shows when a model is placed.
bool set_strategy(CompilerState& s, const std::string& value) {
  const place::StrategyRow* row = place::find_strategy(value);
  if (row != nullptr && place::is_measured({row->kind, {}})) {
    return s.diags->error_at(Code::BadOption, "strategy",
                             "`{}` runs the placements that it compares, which only the command does", row->name);
  }
  s.settings.strategy = value;
  return true;
}

bool set_flag(bool& flag, const std::string& value) {
  if (value != "true" && value != "false") return false;
  flag = value == "true";
  return true;
}

bool set_text(std::string& text, const std::string& value) {
  text = value;
  return true;
}

struct Row {
  std::string_view name;
  std::string_view form;  ///< what a value looks like
  bool (*set)(CompilerState&, const std::string& value);
};

constexpr Row kRows[] = {
    {"allow", "[BACKEND=]DTYPES", [](CompilerState& s, const std::string& v) { return add(s.settings.allow, v); }},
    {"allow-code", "`true` or `false`",
     [](CompilerState& s, const std::string& v) { return set_flag(s.settings.allows_code, v); }},
    {"allow-outside", "`true` or `false`",
     [](CompilerState& s, const std::string& v) { return set_flag(s.settings.allows_outside, v); }},
    {"buckets", "NAME=N,N…", set_buckets},
    {"budget", "SECONDS", set_budget},
    {"cache", "FOLDER",
     [](CompilerState& s, const std::string& v) { return store(s.settings.cache, std::optional(v)); }},
    {"cost-db", "FILE or postgresql://…",
     [](CompilerState& s, const std::string& v) { return store(s.settings.costs.database, std::optional(v)); }},
    {"cost-db-lost", "`forget`, `estimate` or FILE",
     [](CompilerState& s, const std::string& v) { return set_text(s.settings.costs.when_lost, v); }},
    {"costs", "`measured` or `estimate`", set_costs},
    {"cpu", "a processor", [](CompilerState& s, const std::string& v) { return set_text(s.settings.code.cpu, v); }},
    {"forbid", "NODES=BACKEND", [](CompilerState& s, const std::string& v) { return add(s.settings.forbid, v); }},
    {"max-states", "a number", set_max_states},
    {"measure-on", "arch=, cpu=, host= or name= of workers",
     [](CompilerState& s, const std::string& v) { return set_text(s.settings.costs.measure_on, v); }},
    {"memory", "DEVICE=SIZE", [](CompilerState& s, const std::string& v) { return add(s.settings.memory, v); }},
    {"numerics", "`strict`, `f32` or `fast`",
     [](CompilerState& s, const std::string& v) {
       return store(s.settings.code.numerics, codegen::parse_numerics(v));
     }},
    {"objective", "an objective",
     [](CompilerState& s, const std::string& v) {
       const place::Objective* objective = place::parse_objective(v, "objective", *s.diags);
       if (objective != nullptr) s.settings.objective = objective;
       return objective != nullptr;
     }},
    {"place", "NODES=BACKEND", [](CompilerState& s, const std::string& v) { return add(s.settings.place, v); }},
    {"placement", "FILE", [](CompilerState& s, const std::string& v) { return set_text(s.followed, v); }},
    {"shape", "NAME=1x3x224x224 or NAME=1..512", set_shape},
    {"strategy", "a strategy", set_strategy},
    {"strict", "`true` or `false`",
     [](CompilerState& s, const std::string& v) { return set_flag(s.settings.is_strict, v); }},
    {"target", "NAME[,attribute=value]",
     [](CompilerState& s, const std::string& v) { return add(s.settings.targets, v); }},
    {"threads", "1 … 1024",
     [](CompilerState& s, const std::string& v) {
       return store(s.settings.threads, parse_number<int>(v, 1, runtime::kMostThreads));
     }},
    {"together", "NODES,NODES…", [](CompilerState& s, const std::string& v) { return add(s.settings.together, v); }},
};

}  // namespace

bool change_setting(CompilerState& state, const std::string& name, const std::string& value) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) { return one.name == name; });
  if (row == std::end(kRows)) {
    std::vector<std::string> names;
    for (const Row& one : kRows) names.emplace_back(one.name);
    return state.diags->error_at(Code::BadOption, name, "no such setting").did_you_mean(support::closest(name, names));
  }
  const size_t errors = state.diags->error_count();
  if (row->set(state, value)) return true;
  if (state.diags->error_count() > errors) return false;
  return state.diags->error_at(Code::BadOption, name, "`{}` is not {}", value, row->form);
}

}  // namespace collage::api
