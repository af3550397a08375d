// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/stage_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/driver/command.h"
#include "compiler/report/compare/staged_comparison.h"
#include "compiler/report/json_text.h"
#include "compiler/report/simulated.h"
#include "compiler/report/summary_line.h"
#include "compiler/request/constraints.h"
#include "compiler/request/option_table.h"
#include "compiler/request/select_nodes.h"
#include "compiler/request/write_model.h"
#include "include/collage/version.h"
#include "runtime/support/write_file.h"

namespace collage::driver {
namespace {

namespace fs = std::filesystem;
using support::Code;

/// `a.ir` of stage 2  =>  `a.stage2.ir`
std::string name_of_stage(const std::string& name, size_t number) {
  return request::with_infix(name, fmt::format("stage{}", number));
}

bool needs_placement(const request::Request& request) {
  return !is_shown_before_search(request.emit) && request.emit != request::Emit::Candidates;
}

/// What begins a comment in the text that is shown.
std::string_view comment_of(request::Emit emit) {
  switch (emit) {
    case request::Emit::Llvm: return ";";
    case request::Emit::Asm: return "#";
    default: return "//";
  }
}

std::string title_of(const stages::KeptStage& stage) {
  const std::string& inputs = stage.report.inputs;
  return fmt::format("{}, for {}", stage.report.where, inputs.empty() ? "all inputs" : inputs);
}

/// What the command asks of one stage as of a whole model.
request::Request request_of(const request::Request& whole, const stages::KeptStage& stage) {
  request::Request one = whole;
  one.run = {};
  one.checks = false;  // each run was checked
  const bool has_run = whole.command == request::CommandName::Run || whole.command == request::CommandName::Check ||
                       whole.command == request::CommandName::Bench;
  if (has_run) one.command = request::CommandName::Compile;
  one.json = {};  // one document for all
  request::for_each_output(one, [&](std::string& path) { path = name_of_stage(path, stage.number); });
  return one;
}

bool asks_question(const request::Request& request) {
  return request.command == request::CommandName::Why || request.command == request::CommandName::WhyNot;
}

/// Returns the nodes that `why` or `why-not` asks about.
const std::string& nodes_asked(const request::Request& request) {
  return request.command == request::CommandName::Why ? request.questions.why : request.questions.why_not.front();
}

/// Whether the question is about nodes of this stage.
bool has_nodes_asked(const request::Request& request, const ir::Graph& graph, const support::Diagnostics& diags) {
  if (!asks_question(request)) return true;
  support::Diagnostics unheard(diags.sources());
  return request::select_nodes(nodes_asked(request), graph, "why", unheard).has_value();
}

class StageCommands {
 public:
  explicit StageCommands(const StagedCommand& command) : command_(command), request_(command.request) {}

  void run(const std::vector<stages::KeptStage>& stages) {
    bool is_asked_of_any = false;
    for (const stages::KeptStage& stage : stages) {
      if (!has_nodes_asked(request_, stage.graph, command_.diags)) continue;
      is_asked_of_any = true;
      const bool has_run_time_shapes = stage.report.has_run_time_shapes;
      request::Settings settings =
          stages::settings_of_stage(request_.settings, stage.graph, has_run_time_shapes, command_.diags);
      const bool is_left_out =
          needs_placement(request_) && !stages::needs_compiling(stage.graph, has_run_time_shapes, settings);
      print_title(stage, is_left_out);
      if (!is_left_out) work_on(stage, std::move(settings));
      if (command_.diags.has_errors()) break;
    }
    if (is_compared()) return show_comparisons(stages);
    if (is_asked_of_any || !asks_question(request_)) return;
    command_.diags.error_at(Code::BadOption, std::string(row_of(request_.command).word),
                            "no stage has such a node: `{}`", nodes_asked(request_));
  }

 private:
  bool is_compared() const { return request_.command == request::CommandName::Compare; }

  void print(std::string_view text) const {
    if (command_.output.result) command_.output.result(text);
  }

  /// Tables of `compare` have their own titles.
  void print_title(const stages::KeptStage& stage, bool is_left_out) const {
    if (is_compared()) return;
    const std::string end = is_left_out ? ": little work, run by the reference kernels" : "";
    if (request_.emit == request::Emit::All) {
      print(fmt::format("{:<12}{}{}\n", fmt::format("stage {}", stage.number), title_of(stage), end));
    } else if (request_.output.empty() || is_left_out) {
      print(fmt::format("{} stage {}: {}{}\n", comment_of(request_.emit), stage.number, title_of(stage), end));
    }
  }

  void work_on(const stages::KeptStage& stage, request::Settings settings) {
    command_.clock.begin_compilation();
    request::Request one = request_of(request_, stage);
    one.settings = std::move(settings);
    const fs::path path = name_of_stage(command_.source.path().string(), stage.number);
    request::ModelFile file{
        path, {stage.graph, {}}, request::files_of_constants(stage.graph, path.parent_path().string())};
    auto compilation = compilation::Compilation::open(std::move(file), command_.rules, one.settings, command_.diags);
    if (compilation == nullptr) return;
    compilation->set_listener(command_.listener);
    Command command{one, command_.output, command_.sources, command_.diags, command_.clock, *compilation};
    command.is_stage = true;
    for (const ir::Tensor& input : stage.inputs) command.inputs.push_back({input});
    report::Comparison compared;
    if (is_compared()) command.compared = &compared;
    run_request(command);
    if (!is_compared() || compared.rows.empty()) return;
    simulated_ =
        report::simulated_line(compilation->activations(), backends_with(compared), one.settings.allows_simulated);
    comparisons_.push_back(
        {stage.number, stage.report.where, stage.report.inputs, stage.report.runs, std::move(compared)});
  }

  /// The backends of all comparisons so far, and those of one more.
  const std::vector<std::string>& backends_with(const report::Comparison& comparison) {
    for (const std::string& backend : comparison.backends) {
      if (std::find(backends_.begin(), backends_.end(), backend) == backends_.end()) backends_.push_back(backend);
    }
    return backends_;
  }

  /// After an error those that there are, if any.
  void show_comparisons(const std::vector<stages::KeptStage>& stages) {
    if (comparisons_.empty() && command_.diags.has_errors()) return;
    if (request_.json.is_asked) {
      nlohmann::ordered_json json;
      json["collage"] = COLLAGE_VERSION;
      json["model"] = {{"name", stages.empty() ? "" : stages.front().graph.name}};
      json["compare"] = to_json(comparisons_);
      if (request_.json.is_printed()) return print(report::printed(json));
      if (!support::write_file(request_.json.file, report::printed(json), command_.diags)) return;
    }
    if (comparisons_.empty()) {
      print(fmt::format("{:<12}nothing: the reference kernels run every stage\n", "compare"));
    } else {
      print(report::print(comparisons_, command_.output.width) +
            report::summary_lines(simulated_, command_.output.width));
    }
  }

  const StagedCommand& command_;
  const request::Request& request_;
  std::vector<report::StageComparison> comparisons_;
  std::vector<std::string> backends_;
  std::string simulated_;
};

/// `%a`, `%b` and 3 more
std::string names_text(const std::set<std::string>& names) {
  constexpr size_t kMostNamed = 6;
  std::string text;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named == kMostNamed) return text + fmt::format(" and {} more", names.size() - named);
    text += fmt::format("{}`%{}`", named++ == 0 ? "" : ", ", name);
  }
  return text;
}

/// Nodes of several stages are never in one partition: a warning where some of them can be together, else an error.
bool check_together(const std::string& text, const std::vector<stages::KeptStage>& stages,
                    support::Diagnostics& diags) {
  const std::string option = "--together " + text;
  std::set<std::string> all;
  std::map<std::set<std::string>, size_t> number_of;  // a body may have been made a stage for several inputs
  for (const stages::KeptStage& stage : stages) {
    const std::set<std::string> names = request::together_in_part(text, stage.graph, diags);
    if (names.empty()) continue;
    all.insert(names.begin(), names.end());
    number_of.try_emplace(names, stage.number);
  }
  if (all.empty()) return diags.error_at(Code::BadOption, option, "no stage has such nodes");
  if (all.size() == 1)
    return diags.error_at(Code::BadOption, option, "names one node, `%{}`: together with what?", *all.begin());
  if (number_of.count(all) != 0) return true;
  std::map<size_t, const std::set<std::string>*> by_number;
  bool is_met = false;
  for (const auto& [names, number] : number_of) {
    by_number[number] = &names;
    is_met = is_met || names.size() > 1;
  }
  auto report = is_met ? diags.warning_at(Code::BadOption, option,
                                          "these nodes lie in several stages: only those of one stage are together")
                       : diags.error_at(Code::BadOption, option, "these nodes lie in stages of their own");
  for (const auto& [number, names] : by_number)
    report.note("stage {} has {}{}", number, names_text(*names), is_met && names->size() == 1 ? ", left out" : "");
  return is_met;
}

}  // namespace

bool asks_about_stages(const request::Request& request) {
  const request::PlacementRequest& placement = request.placement;
  const bool asks_for_files = !placement.save.empty() || !placement.certificate.empty() || !request.report.empty();
  constexpr request::CommandSet kOfStages = request::CommandName::Compare | request::CommandName::Why |
                                            request::CommandName::WhyNot | request::CommandName::VerifyCosts |
                                            request::CommandName::Profile | request::CommandName::Trace |
                                            request::CommandName::Bisect;
  return request.emit != request::Emit::All || kOfStages.has(request.command) || !request.passes.print_after.empty() ||
         asks_for_files;
}

bool check_constraints(const request::Settings& settings, const std::vector<stages::KeptStage>& stages,
                       support::Diagnostics& diags) {
  const auto check = [&](const std::string& option, const std::vector<std::string>& texts) -> bool {
    for (const std::string& text : texts) {
      const bool is_met = std::any_of(stages.begin(), stages.end(), [&](const stages::KeptStage& stage) {
        return !request::constraint_in_part(text, false, stage.graph, diags).empty();
      });
      if (is_met) continue;
      return diags.error_at(Code::BadOption, option + " " + text, "no stage has such nodes");
    }
    return true;
  };
  return check("--place", settings.place) && check("--forbid", settings.forbid) &&
         std::all_of(settings.together.begin(), settings.together.end(),
                     [&](const std::string& text) { return check_together(text, stages, diags); });
}

void work_on_stages(const StagedCommand& command, const std::vector<stages::KeptStage>& stages) {
  StageCommands(command).run(stages);
}

}  // namespace collage::driver
