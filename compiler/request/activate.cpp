// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/activate.h"

#include <algorithm>
#include <charconv>

#include "compiler/codegen/jit.h"
#include "compiler/request/library_trial.h"
#include "compiler/sema/rules/check_expr.h"
#include "runtime/core/joined.h"
#include "runtime/core/text.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"
#include "runtime/support/file_access.h"

namespace collage::driver {
namespace {

using support::Code;

/// What the rule file's author wrote that would run in or beside this program, and may not; empty: nothing.
std::string forbidden_code(const ir::Backend& backend, const CodePermission& permission) {
  if (backend.runtime == ir::RuntimeKind::Plugin && !permission.plugins)
    return fmt::format("plug-in `{}` is code of whoever wrote the rule file: `--allow-code` lets it run",
                       backend.library);
  if (!backend.cost_program.empty() && !permission.cost_programs)
    return fmt::format(
        "its costs are asked of the program `{}`: `--allow-code` lets it run, `--costs=estimate` does without",
        backend.cost_program);
  if (backend.runtime != ir::RuntimeKind::Plugin || permission.outside) return "";
  if (!runtime::leads_out_of_its_folder(backend.library)) return "";
  return fmt::format("plug-in `{}` {}: {}", backend.library, support::kOutside, support::kOutsideHint);
}

/// Loads the plug-in, if it has one.
std::string absence(const ir::Backend& backend, const CodePermission& permission) {
  if (std::string forbidden = forbidden_code(backend, permission); !forbidden.empty()) return forbidden;
  if (backend.runtime == ir::RuntimeKind::Plugin)
    return runtime::plugin_absence(runtime::plugin_library(backend.library, backend.file));
  if (backend.runtime == ir::RuntimeKind::Library && !runtime::has_library(backend.library))
    return fmt::format("this build has no library `{}`", backend.library);
  return "";
}

/// Backends whose `needs` are not met are absent, and so are those that need them in turn. All that are left know what
/// the machine has.
void check_needs(std::vector<Activation>& all, const std::vector<bool>& asked, const codegen::CodeTarget& code) {
  auto environment = std::make_shared<match::Environment>();
  environment->generator_refusal = [code, tiles = codegen::tile_obstacle(code.cpu)](std::string_view generator) {
    return codegen::generator_refusal(generator, code.numerics, tiles);
  };
  environment->makes_nan = trial_for_nan();
  environment->keeps_special_values = code.numerics == codegen::Numerics::Strict;
  for (std::string_view library : runtime::library_names()) {
    environment->libraries.emplace(library, runtime::library_version(library));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (asked[i] && all[i].absent.empty()) {
      environment->backends.emplace(all[i].active.backend->name, all[i].active.backend->version);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Activation& activation : all) {
      const ir::Backend& backend = *activation.active.backend;
      for (const ir::Need& need : backend.needs) {
        if (!activation.absent.empty()) break;
        activation.absent = match::unmet(need, *environment);
      }
      if (!activation.absent.empty()) changed = environment->backends.erase(backend.name) > 0 || changed;
    }
  }
  for (Activation& activation : all) activation.active.environment = environment;
}

/// `16`, `true`, `fast` as the type that the attribute is declared with.
std::optional<runtime::AttrValue> parse_value(const ir::AttrDecl& decl, const std::string& text) {
  if (decl.type == ir::ExprType::String) return runtime::AttrValue(text);
  if (decl.type == ir::ExprType::Bool) {
    if (text != "true" && text != "false") return std::nullopt;
    return runtime::AttrValue(int64_t{text == "true"});
  }
  const char* end = text.data() + text.size();
  if (decl.unit != ir::Unit::None) {
    double number = 0;
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc()) return std::nullopt;
    std::string_view unit_text(stop, end);
    while (unit_text.starts_with(' ')) unit_text.remove_prefix(1);
    ir::Unit unit = decl.unit;  // of a number alone, in SI
    if (!unit_text.empty()) number = sema::si_value(number, unit_text, &unit);
    if (unit != decl.unit) return std::nullopt;
    return runtime::AttrValue(number);
  }
  if (std::holds_alternative<double>(decl.fallback)) {
    double number = 0;
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return std::nullopt;
    return runtime::AttrValue(number);
  }
  int64_t number = 0;
  auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return runtime::AttrValue(number);
}

std::string allowed_text(const ir::AttrDecl& decl) {
  return runtime::joined(decl.allowed, ", ", [](const auto& value) { return runtime::to_string(value); });
}

bool set_attr(Activation& activation, const std::string& setting, support::Diagnostics& diags) {
  const ir::Backend& backend = *activation.active.backend;
  std::string where = "-t " + backend.name;
  size_t equals = setting.find('=');
  if (equals == std::string::npos)
    return diags.error_at(Code::BadOption, where, "`{}` is not `attribute=value`", setting);
  std::string name = setting.substr(0, equals), text = setting.substr(equals + 1);
  const ir::AttrDecl* decl = backend.find_attr(name);
  if (decl == nullptr) {
    std::vector<std::string> names;
    for (const ir::AttrDecl& attr : backend.attrs) names.push_back(attr.name);
    return diags.error_at(Code::BadOption, where, "backend `{}` has no attribute `{}`", backend.name, name)
        .did_you_mean(support::closest(name, names));
  }
  std::optional<runtime::AttrValue> value = parse_value(*decl, text);
  if (!value)
    return diags.error_at(Code::BadOption, where, "`{}` is no value for `{}`", text, name)
        .note(decl->span, "declared here");
  auto is_value = [&](const runtime::AttrValue& allowed) { return equal(allowed, *value); };
  if (!decl->allowed.empty() && std::none_of(decl->allowed.begin(), decl->allowed.end(), is_value)) {
    return diags.error_at(Code::BadOption, where, "`{}` must be one of {}, not {}", name, allowed_text(*decl), text)
        .note(decl->span, "declared here");
  }
  activation.active.attrs[name] = *value;
  return true;
}

}  // namespace

std::optional<std::vector<Activation>> activate(const ir::RuleSet& rules, const std::vector<std::string>& targets,
                                                support::Diagnostics& diags, const codegen::CodeTarget& code,
                                                const CodePermission& permission) {
  std::vector<Activation> all;
  std::vector<std::string> names;
  for (const ir::Backend& backend : rules.backends) {
    all.push_back({{&backend, {}, nullptr}, ""});
    names.push_back(backend.name);
  }
  const auto find_absence = [&](Activation& activation) {
    activation.absent = absence(*activation.active.backend, permission);
  };
  if (targets.empty()) {
    for (Activation& activation : all) find_absence(activation);
    check_needs(all, std::vector<bool>(all.size(), true), code);
    return all;
  }
  std::vector<bool> asked(all.size(), false);
  bool good = true;
  for (const std::string& target : targets) {
    std::vector<std::string> parts = runtime::split(target, ',');
    auto it = std::find(names.begin(), names.end(), parts[0]);
    if (it == names.end()) {
      if (parts[0] == "host" && parts.size() == 1) continue;  // always there, with or without rules
      good = diags.error_at(Code::BadOption, "-t", "no rule file declares a backend `{}`", parts[0])
                 .did_you_mean(support::closest(parts[0], names));
      continue;
    }
    auto at = static_cast<size_t>(it - names.begin());
    asked[at] = true;
    for (size_t i = 1; i < parts.size(); ++i) good &= set_attr(all[at], parts[i], diags);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (asked[i]) find_absence(all[i]);
  }
  check_needs(all, asked, code);
  for (size_t i = 0; i < all.size(); ++i) {
    if (asked[i] && !all[i].absent.empty()) {
      good = diags.error_at(Code::UnknownDevice, "-t " + names[i], "{}", all[i].absent);
    }
  }
  if (!good) return std::nullopt;
  std::vector<Activation> active;
  for (size_t i = 0; i < all.size(); ++i) {
    if (asked[i]) active.push_back(all[i]);
  }
  return active;
}

bool allow_rounding(const std::vector<std::string>& options, std::vector<Activation>* activations,
                    support::Diagnostics& diags) {
  bool good = true;
  for (const std::string& option : options) {
    size_t equals = option.find('=');
    std::string backend = equals == std::string::npos ? "" : option.substr(0, equals);
    std::set<runtime::StorageType> types;
    for (const std::string& name : runtime::split(option.substr(equals == std::string::npos ? 0 : equals + 1), ',')) {
      if (std::optional<runtime::StorageType> type = runtime::parse_storage_type(name)) {
        types.insert(*type);
      } else {
        good = diags.error_at(Code::BadOption, "--allow", "there is no dtype `{}`", name)
                   .did_you_mean(support::closest(name, runtime::storage_type_names()));
      }
    }
    std::vector<std::string> names;
    bool is_known = backend.empty();
    for (Activation& activation : *activations) {
      names.push_back(activation.active.backend->name);
      if (!backend.empty() && names.back() != backend) continue;
      is_known = true;
      activation.active.allowed.insert(types.begin(), types.end());
    }
    if (is_known) continue;
    good = diags.error_at(Code::BadOption, "--allow", "no active backend is called `{}`", backend)
               .did_you_mean(support::closest(backend, names));
  }
  return good;
}

plan::PlanTargets plan_targets(const ir::RuleSet& rules, const std::vector<Activation>& activations, int threads) {
  plan::BackendAttrs attrs;
  for (const Activation& activation : activations) {
    for (const auto& [name, value] : activation.active.attrs) attrs[activation.active.backend->name].set(name, value);
  }
  plan::PlanTargets targets = plan::make_targets(rules, attrs);
  targets.threads = threads;
  for (plan::BackendTarget& target : targets.backends) {
    for (const Activation& activation : activations) {
      if (activation.active.backend->name == target.name) target.environment = activation.active.environment;
    }
  }
  return targets;
}

}  // namespace collage::driver
