// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace collage::passes {
namespace {

std::string canonical(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [name](const std::string& n) { return canonical(n) == name; });
}

bool check_names(const std::vector<std::string>& names, const std::vector<Pass>& passes, bool all_is_name,
                 std::string_view option, support::Diagnostics& diags) {
  bool is_good = true;
  for (const std::string& name : names) {
    std::vector<std::string> known;
    for (const Pass& pass : passes) known.push_back(pass.name);
    bool is_known = std::find(known.begin(), known.end(), canonical(name)) != known.end();
    if (is_known || find_pass(name) != nullptr || (all_is_name && name == "all")) continue;
    for (std::string& pass : pass_names()) known.push_back(std::move(pass));
    diags.error_at(support::Code::BadOption, std::string(option), "there is no pass `{}`", name)
        .did_you_mean(support::closest(canonical(name), known));
    is_good = false;
  }
  return is_good;
}

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
#define PASS(name, doc) Pass{#name, doc, name},
#define ON_REQUEST(...)
#include "compiler/passes/passes.def"
#undef ON_REQUEST
#undef PASS
  };
  return passes;
}

const std::vector<Pass>& passes_on_request() {
  static const std::vector<Pass> passes = {
#define PASS(...)
#define ON_REQUEST(name, doc) Pass{#name, doc, name},
#include "compiler/passes/passes.def"
#undef ON_REQUEST
#undef PASS
  };
  return passes;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto* passes : {&all_passes(), &passes_on_request()}) {
    for (const Pass& pass : *passes) names.push_back(pass.name);
  }
  return names;
}

const Pass* find_pass(std::string_view name) {
  std::string wanted = canonical(name);
  for (const auto* passes : {&all_passes(), &passes_on_request()}) {
    for (const Pass& pass : *passes) {
      if (pass.name == wanted) return &pass;
    }
  }
  return nullptr;
}

std::optional<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, support::Diagnostics& diags) {
  bool is_good = check_names(options.disabled, passes, false, "--disable-pass", diags);
  is_good = check_names(options.print_after, passes, true, "--print-after", diags) && is_good;
  if (!is_good) return std::nullopt;
  bool print_all = contains(options.print_after, "all");
  std::vector<PassReport> reports;
  PassContext context{diags};
  if (options.history != nullptr) options.history->push_back({"", graph});
  for (const Pass& pass : passes) {
    if (contains(options.disabled, pass.name)) continue;
    auto start = std::chrono::steady_clock::now();
    bool changed = pass.run(graph, context);
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    reports.push_back({pass.name, changed, spent.count()});
    ir::verify(graph);
    if (changed && options.history != nullptr) options.history->push_back({pass.name, graph});
    if (!options.print || !(print_all || contains(options.print_after, pass.name))) continue;
    options.print(fmt::format("// after {}{}\n{}", pass.name, changed ? "" : " (unchanged)", ir::print(graph)));
  }
  return reports;
}

std::string to_string(const std::vector<PassReport>& reports) {
  std::string text = "pass                    seconds  changed\n";
  for (const PassReport& report : reports) {
    text += fmt::format("{:<20} {:>10.6f}  {}\n", report.name, report.seconds, report.changed ? "yes" : "no");
  }
  return text;
}

}  // namespace collage::passes
