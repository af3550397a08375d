// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/activate.h"

#include <algorithm>
#include <filesystem>

#include "compiler/codegen/jit.h"
#include "compiler/ir/rules/how_to_activate.h"
#include "compiler/request/library_trial.h"
#include "compiler/request/target_words.h"
#include "runtime/core/text.h"
#include "runtime/libraries/library.h"
#include "runtime/libraries/plugin/plugin.h"
#include "runtime/support/file_access.h"

namespace collage::request {
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
  if (permission.outside || !has_plugin_outside(backend)) return "";
  return fmt::format("plug-in `{}` {}: {}", backend.library, support::kOutside, support::kOutsideHint);
}

bool is_named(const ir::Backend& backend, const BackendRequest& request) {
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return request.allows_simulated || has(request.files, backend.file) || has(request.named, backend.name) ||
         std::any_of(backend.devices.begin(), backend.devices.end(),
                     [&](const ir::DeviceDecl& device) { return has(request.named, device.name); });
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

}  // namespace

bool has_plugin_outside(const ir::Backend& backend) {
  namespace fs = std::filesystem;
  if (backend.runtime != ir::RuntimeKind::Plugin) return false;
  if (runtime::leads_out_of_its_folder(backend.library)) return true;
  const fs::path folder = fs::path(backend.file).parent_path(), beside = folder / backend.library;
  std::error_code error;
  return fs::exists(beside, error) && !support::FileAccess({backend.file}).allows(beside.string(), folder.string());
}

std::optional<std::vector<Activation>> activate(const ir::RuleSet& rules, const BackendRequest& request,
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
  if (request.targets.empty()) {
    for (Activation& activation : all) {
      const ir::Backend& backend = *activation.active.backend;
      activation.is_unnamed_model = is_simulated(backend) && !is_named(backend, request);
      if (activation.is_unnamed_model) {
        activation.absent = ir::how_to_activate(backend);
      } else {
        find_absence(activation);
      }
    }
    check_needs(all, std::vector<bool>(all.size(), true), code);
    return all;
  }
  const std::optional<std::vector<bool>> named = read_targets(request.targets, all, diags);
  if (!named) return std::nullopt;
  const std::vector<bool>& asked = *named;
  bool good = true;
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

}  // namespace collage::request
