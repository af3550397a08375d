// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pass_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "compiler/ir/placement/print.h"
#include "compiler/ir/placement/verify.h"

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

class PassRunner {
 public:
  PassRunner(ir::Graph& graph, const PassOptions& options, support::Diagnostics& diags)
      : graph_(graph), options_(options), context_{diags}, prints_all_(contains(options.print_after, "all")) {
    if (options.history != nullptr) options.history->push_back({"", graph});
  }

  /// Runs each once, and again where another one changed the graph since.
  std::vector<PassReport> run_group(const std::vector<const Pass*>& group) {
    constexpr size_t kMostRounds = 8;
    std::vector<PassReport> reports;
    for (const Pass* pass : group) reports.push_back({pass->name});
    size_t unchanged = 0;  // how many of the last runs changed nothing
    const size_t most_runs = group.size() * (group.size() > 1 ? kMostRounds : 1);
    for (size_t run = 0; run < most_runs && unchanged < group.size(); ++run) {
      const size_t at = run % group.size();
      const bool has_changed = run_pass(*group[at], run < group.size(), &reports[at]);
      unchanged = has_changed ? 0 : unchanged + 1;
    }
    return reports;
  }

 private:
  bool run_pass(const Pass& pass, bool is_first, PassReport* report) {
    const auto start = std::chrono::steady_clock::now();
    const bool has_changed = pass.run(graph_, context_);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    report->changed = report->changed || has_changed;
    report->seconds += spent.count();
    if (has_changed) ir::verify(graph_);
    if (has_changed && options_.history != nullptr) options_.history->push_back({pass.name, graph_});
    const bool is_asked = prints_all_ || contains(options_.print_after, pass.name);
    if (options_.print && is_asked && (has_changed || is_first)) {
      options_.print(fmt::format("// after {}{}\n{}", pass.name, has_changed ? "" : " (unchanged)",
                                 ir::print(graph_, ir::Elements::Few)));
    }
    return has_changed;
  }

  ir::Graph& graph_;
  const PassOptions& options_;
  PassContext context_;
  bool prints_all_;
};

}  // namespace

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
#define PASS(name, doc) Pass{#name, doc, name, true},
#include "compiler/passes/passes.def"
  };
  return passes;
}

const std::vector<Form>& all_forms() {
  static const std::vector<Form> forms = {
#define PASS(name, doc)
#define FORM(pass, makes, ...) Form{(static_cast<void>(&pass), #pass), makes, {__VA_ARGS__}},
#include "compiler/passes/passes.def"
  };
  return forms;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  return names;
}

const Pass* find_pass(std::string_view name) {
  const std::vector<Pass>& passes = all_passes();
  const auto found = std::find_if(passes.begin(), passes.end(),
                                  [wanted = canonical(name)](const Pass& pass) { return pass.name == wanted; });
  return found == passes.end() ? nullptr : &*found;
}

std::optional<std::vector<PassReport>> run_passes(ir::Graph& graph, const std::vector<Pass>& passes,
                                                  const PassOptions& options, support::Diagnostics& diags) {
  bool is_good = check_names(options.disabled, passes, false, "--disable-pass", diags);
  is_good = check_names(options.print_after, passes, true, "--print-after", diags) && is_good;
  if (!is_good) return std::nullopt;
  PassRunner runner(graph, options, diags);
  std::vector<PassReport> reports;
  std::vector<const Pass*> group;  // passes that stand together and repeat
  const auto flush = [&] {
    for (PassReport& report : runner.run_group(group)) reports.push_back(std::move(report));
    group.clear();
  };
  for (const Pass& pass : passes) {
    if (contains(options.disabled, pass.name)) continue;
    if (!pass.is_repeated) flush();
    group.push_back(&pass);
    if (!pass.is_repeated) flush();
  }
  flush();
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
