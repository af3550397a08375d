// SPDX-License-Identifier: Apache-2.0
// `collage-run`: runs compiled models, packages, without the compiler. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "include/collage/version.h"
#include "runtime/core/host_space.h"
#include "runtime/package/package.h"
#include "runtime/runner/bench_requests.h"
#include "runtime/runner/choose_shape.h"
#include "runtime/runner/cluster_report.h"
#include "runtime/runner/cluster_trace.h"
#include "runtime/runner/faults.h"
#include "runtime/runner/known_runs.h"
#include "runtime/runner/run_json.h"
#include "runtime/runner/trace.h"
#include "runtime/support/explain.h"
#include "runtime/support/print.h"
#include "runtime/support/write_file.h"
#include "runtime/tools/collage-run/about_text.h"
#include "runtime/tools/collage-run/ranks.h"
#include "runtime/tools/collage-run/run_options.h"
#include "runtime/tools/command_line/app_text.h"
#include "runtime/tools/command_line/guarded_main.h"
#include "runtime/tools/command_line/short_waits.h"

namespace {

using namespace collage;
using enum tools::ExitCode;
using support::Code;

int wrong_usage(std::string_view message) {
  support::print(stderr, "error: {}\nRun with --help for more information.\n", message);
  return kWrongUsage;
}

/// A package, and what it is to do. From several specialisations it loads the one that the inputs ask for.
class PackageRun {
 public:
  PackageRun(std::string file, const tools::RunOptions& options, tools::Ranks& ranks, support::SourceManager& sources,
             support::Diagnostics& diags)
      : file_(std::move(file)),
        options_(options),
        request_(options.run),
        ranks_(ranks),
        sources_(sources),
        diags_(diags) {}

  /// False after errors.
  bool run() {
    runtime::Result<runtime::PackageSet> set = runtime::PackageSet::open(file_);
    const std::string key = set ? "package " + set->digest() : "";
    const runtime::TimeLimit limit(options_.timeout);
    if (!ranks_.mpi().agree(set.status(), key, limit, Code::CannotRead, file_, diags_)) return false;
    if (options_.about) return print_about(*set);
    if (options_.placed) return print_placed(*set), true;
    if (set->is_cluster()) return run_over_hosts(*set);
    if (ranks_.mpi().count() != 1) {
      return diags_.error_at(Code::RunFailed, file_, "{}",
                             "is for one host, and each rank of mpirun would run all of it: run it without mpirun");
    }
    const int threads = options_.threads > 0 ? options_.threads : set->threads();
    std::optional<runtime::ShapeChoice> choice = runtime::ShapeChoice();
    if (set->is_shaped()) choice = runner::choose_shape(request_, set->shapes(), diags_);
    if (!choice || (options_.check && !check_others(*set, choice->variant, threads))) return false;
    runtime::Result<runtime::Package> package = set->load(choice->variant);
    if (!package) return diags_.error_at(Code::CannotRead, file_, "{}", package.message());
    if (set->is_shaped() && !options_.json) {
      support::print("{:<12}{}\n", "shapes", runner::print(*choice, set->shapes()));
    }
    const bool good = run(*package, threads, *choice);
    if (set->is_shaped() && !json_.is_null()) json_["shapes"] = runner::print(*choice, set->shapes());
    return good;
  }

  /// Results of what was run.
  const nlohmann::ordered_json& json() const { return json_; }

 private:
  /// False after an error.
  bool print_about(const runtime::PackageSet& set) {
    if (options_.json) {
      json_ = nlohmann::ordered_json::parse(set.about(), nullptr, false);
      return true;
    }
    const runtime::Result<std::string> text = tools::about_text(set);
    if (!text) return diags_.error_at(Code::CannotRead, file_, "{}", text.message());
    support::print("{}", *text);
    return true;
  }

  static void print_placed(const runtime::PackageSet& set) {
    if (set.is_cluster()) return support::print("{}", set.placed(0));
    for (size_t i = 0; i < set.count(); ++i) {
      if (set.is_shaped()) support::print("// {}\n", set.shapes().name_of(i));
      support::print("{}", set.placed(i));
    }
  }

  /// On each rank of `mpirun`.
  bool run_over_hosts(const runtime::PackageSet& set) {
    for (const auto& [option, is_given] :
         {std::pair("--faults", !options_.faults.empty()), {"--instances", !options_.requests.instances.empty()}}) {
      if (is_given) return diags_.error_at(Code::BadOption, option, "{}", "is for packages of one host");
    }
    if (options_.packages.size() > 1) {
      return diags_.error_at(Code::BadOption, file_, "{}", "is for several hosts: run it alone");
    }
    runtime::ClusterProgram* program = ranks_.open(file_, set, options_, diags_);
    if (program == nullptr) return false;
    const runtime::Transport& transport = program->transport();
    bool good = true;
    if (transport.rank() == 0) {
      good = run_first(*program);
      program->end();
    } else if (runtime::Status status = program->serve(); !status) {
      return fail_over_hosts(transport, status);
    }
    if (runtime::Status status = transport.failure(); !status) {
      return good ? fail_over_hosts(transport, status) : false;
    }
    return finish_over_hosts(*program, good);
  }

  bool fail_over_hosts(const runtime::Transport& transport, const runtime::Status& status) {
    return diags_.error_at(Code::RunFailed, runtime::host_space(transport.rank()), "{}", status.message());
  }

  /// What rank 0 does: it has the inputs and outputs.
  bool run_first(runtime::ClusterProgram& program) {
    runtime::Executor& executor = program.executor(0);
    const runtime::Plan& plan = ranks_.known();
    const runner::ModelPorts ports = runner::ports_of(plan);
    const runner::RunRequest request = requested();
    const std::optional<std::vector<runner::BoundInput>> inputs = runner::bind_inputs(request, ports, diags_);
    if (!inputs || !can_write_files()) return false;
    const std::vector<runtime::Tensor> first = runner::inputs_of_run(ports, *inputs, 0);
    json_ = {{"collage", COLLAGE_VERSION},
             {"model", ports.model},
             {"threads", ranks_.threads()},
             {"hosts", program.transport().size()}};
    bool good = !options_.check || check(plan, executor);
    if (good && request.is_asked) good = run_once(request, ports, *inputs, {}, executor);
    if (good && options_.bench > 0) good = bench(plan, first, ranks_.threads(), executor);
    if (good && options_.requests.is_asked()) {
      const std::optional<runner::RequestTimes> report = runner::bench_cluster(program, options_.bench, first, diags_);
      if (!report) return false;
      json_["requests"] = runner::cluster_json(*report);
      if (!options_.json) support::print("{}", runner::print(*report));
    }
    // The last run of all is the one that is reported and traced.
    const int runs = good && (options_.bench > 0 || options_.trace.is_asked()) ? 2 : 0;
    for (int run = 0; run < runs; ++run) {
      if (auto outputs = executor.run(first); !outputs) {
        return diags_.error_at(Code::RunFailed, ports.model, "{}", outputs.message());
      }
    }
    return good;
  }

  /// What all ranks do together after the runs. There are reports only if those of the first rank were `good`.
  bool finish_over_hosts(const runtime::ClusterProgram& program, bool good) {
    const bool reports_all = good && program.transport().rank() == 0;
    if (options_.bench > 0) {
      const auto reports = runner::gather_reports(program);
      if (!reports) return fail_over_hosts(program.transport(), reports.status());
      if (reports_all) json_["cluster"] = runner::cluster_json(*reports, ranks_.known().predicted);
      if (reports_all && !options_.json) support::print("{}", runner::print(*reports, ranks_.known().predicted));
    }
    if (!options_.trace.is_asked()) return good;
    const auto traced = runner::gather_trace(program);
    if (!traced) return fail_over_hosts(program.transport(), traced.status());
    if (!*traced || !good) return good;
    if (options_.trace.prints) support::print("{}", runner::print(**traced));
    return runner::write_trace(options_.trace, **traced, diags_);
  }

  /// Checks files that are written after the runs.
  bool can_write_files() {
    return support::can_write(options_.bench_json, "--bench-json", diags_) &&
           support::can_write(options_.trace.file, "--trace", diags_);
  }

  /// To be timed alone, a model takes whatever it is not given.
  runner::RunRequest requested() const {
    runner::RunRequest request = request_;
    request.asked_by = "--input";
    request.is_asked = (options_.bench == 0 && !options_.trace.is_asked() && !options_.check) ||
                       !request.results.empty() || !request.expected.empty() || !request.labels.empty();
    return request;
  }

  /// `--check` of all specialisations but one. False after errors.
  bool check_others(const runtime::PackageSet& set, size_t one, int threads) {
    for (size_t i = 0; i < set.count(); ++i) {
      if (i == one) continue;
      runtime::Result<runtime::Package> package = set.load(i);
      if (!package) return diags_.error_at(Code::CannotRead, file_, "{}", package.message());
      auto executor = runtime::Executor::load(package->plan, *package->code, threads);
      if (!executor) return diags_.error_at(Code::RunFailed, package->plan.model, "{}", executor.message());
      if (!options_.json) support::print("{:<12}{}\n", "shapes", set.shapes().name_of(i));
      if (!check(package->plan, **executor)) return false;
    }
    return true;
  }

  /// `threads`: of all requests together.
  bool run(const runtime::Package& package, int threads, const runtime::ShapeChoice& choice) {
    const runner::ModelPorts ports = runner::ports_of_choice(runner::ports_of(package.plan), choice);
    const runner::RunRequest request = requested();
    const std::optional<std::vector<runner::BoundInput>> inputs = runner::bind_inputs(request, ports, diags_);
    if (!inputs || !can_write_files()) return false;
    runtime::LoadOptions load;
    if (!options_.faults.empty()) {
      std::vector<std::string> spaces;
      for (const runtime::DeviceSpec& device : package.plan.devices) spaces.push_back(device.space);
      const std::optional<runner::Faults> faults = runner::read_faults(options_.faults, sources_, diags_);
      if (!faults) return false;
      load.faults = runner::make_injector(*faults, spaces, diags_);
    }
    // Without the compiler, what a lost device ran is moved as it is.
    const int of_run = options_.threads > 0 ? threads : package.run_threads();
    auto mover = std::make_shared<runtime::PlanMover>(package.plan, package.code, of_run, load);
    auto executor = runtime::Executor::load(package.plan, *package.code, of_run, load, std::move(mover));
    if (!executor) return diags_.error_at(Code::RunFailed, ports.model, "{}", executor.message());
    json_ = {{"collage", COLLAGE_VERSION}, {"model", ports.model}, {"threads", of_run}};
    bool good = !options_.check || check(package.plan, **executor);
    if (good && request.is_asked) good = run_once(request, ports, *inputs, choice.padding, **executor);
    const auto first_inputs = [&] { return choice.padding.pad(runner::inputs_of_run(ports, *inputs, 0)); };
    if (good && options_.trace.is_asked()) good = trace(first_inputs(), **executor);
    if (good && options_.bench > 0) good = bench(package.plan, first_inputs(), of_run, **executor);
    if (good && options_.requests.is_asked()) good = bench_requests(package, first_inputs(), threads, load);
    if (!options_.json) support::print("{}", runner::print_recovery(**executor));
    json_["faults"] = runner::recovery_json(**executor);
    return good;
  }

  bool check(const runtime::Plan& plan, runtime::Executor& executor) {
    const std::optional<runner::KnownRunsReport> report =
        runner::check_known_runs(plan, executor, options_.run.tolerance, diags_);
    if (!report) return false;
    json_["check"] = runner::known_runs_json(*report);
    if (!options_.json) support::print("{}", runner::print(*report));
    return true;
  }

  bool run_once(const runner::RunRequest& request, const runner::ModelPorts& ports,
                const std::vector<runner::BoundInput>& inputs, const runtime::RowPadding& padding,
                runtime::Executor& executor) {
    std::optional<runner::RunResult> result = runner::run_model(ports, inputs, executor, {}, diags_, padding);
    if (!result) return false;
    const bool good = runner::judge_result(request, ports, &*result, diags_);
    json_.update(runner::result_json(*result, ports));
    if (!options_.json) support::print("{}", runner::print(*result, ports));
    return good;
  }

  bool trace(const std::vector<runtime::Tensor>& inputs, runtime::Executor& executor) {
    const std::optional<runner::Trace> traced = runner::trace_model(inputs, executor, diags_);
    if (!traced) return false;
    if (options_.trace.prints) support::print("{}", runner::print(*traced));
    return runner::write_trace(options_.trace, *traced, diags_);
  }

  bool bench_requests(const runtime::Package& package, const std::vector<runtime::Tensor>& inputs, int threads,
                      const runtime::LoadOptions& load) {
    const std::optional<runner::RequestsReport> report = runner::bench_requests(
        package.plan, package.code, threads, options_.requests, options_.bench, inputs, load, diags_);
    if (!report) return false;
    json_["requests"] = runner::requests_json(*report);
    if (!options_.json) support::print("{}", runner::print(*report));
    return true;
  }

  bool bench(const runtime::Plan& plan, const std::vector<runtime::Tensor>& inputs, int threads,
             runtime::Executor& executor) {
    const std::optional<runner::BenchReport> report =
        runner::bench_model(plan, inputs, options_.bench, executor, {}, diags_);
    if (!report) return false;
    json_["bench"] = runner::times_json(*report);
    if (!options_.json) support::print("{}", runner::print(*report));
    return options_.bench_json.empty() ||
           support::write_file(options_.bench_json, runner::to_json(*report, plan.model, "", threads), diags_);
  }

  std::string file_;
  const tools::RunOptions& options_;
  runner::RunRequest request_;  ///< that of the options, with what has been read
  tools::Ranks& ranks_;
  support::SourceManager& sources_;
  support::Diagnostics& diags_;
  nlohmann::ordered_json json_;
};

/// Runs each package, one after another; one that fails does not hinder the others. False after errors.
bool run_packages(const tools::RunOptions& options, tools::Ranks& ranks, support::SourceManager& sources,
                  support::Diagnostics& diags) {
  const bool are_many = options.packages.size() > 1;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  bool good = true;
  for (const std::string& file : options.packages) {
    if (are_many && !options.json && ranks.mpi().is_first()) support::print("package     {}\n", file);
    PackageRun package(file, options, ranks, sources, diags);
    good = package.run() && good;
    if (!package.json().is_null()) all.push_back(package.json());
    if (are_many && !package.json().is_null()) all.back()["package"] = file;
  }
  if (!options.json || all.empty()) return good;
  const nlohmann::ordered_json& document = are_many ? all : all.front();
  support::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return good;
}

int run(int argc, char** argv) {
  CLI::App app("runs a compiled model, a package that `collagec -o NAME.collage` wrote", "collage-run");
  tools::add_text_flags(app);
  tools::RunOptions options;
  tools::add_run_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success), kSuccess;
  } catch (const CLI::ParseError& error) {
    return wrong_usage(error.what());
  }
  if (!options.explain.empty()) return support::explain(options.explain) ? kSuccess : kWrongUsage;
  if (options.packages.empty()) return wrong_usage("a package is needed: `collage-run FILE`");
  if (std::string wrong = tools::wrong_combination(options); !wrong.empty()) return wrong_usage(wrong);
  // Starting again takes longer than many models: for one run it does not pay.
  if (options.bench > 0 && runner::MpiRanks::of_environment() == 1) tools::restart_with_short_waits(argv);
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  tools::Ranks ranks;
  const bool stops = options.about || options.placed;
  const bool starts = !stops && runner::MpiRanks::of_environment() != 1;
  const bool good = (!starts || ranks.mpi().start(runtime::TimeLimit(options.start_timeout), diags)) &&
                    run_packages(options, ranks, sources, diags);
  if (ranks.mpi().prints_errors()) support::print(stderr, "{}", diags.render());
  const bool only_usage = std::all_of(diags.records().begin(), diags.records().end(),
                                      [](const auto& record) { return record.code == Code::BadOption; });
  const int code = good ? kSuccess : only_usage ? kWrongUsage : kInputError;
  std::fflush(stdout);  // a rank that ends all others does not
  ranks.leave(code);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  return collage::tools::guarded_main("collage-run", [&] { return run(argc, argv); });
}
