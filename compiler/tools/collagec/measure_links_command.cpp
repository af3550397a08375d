// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/measure_links_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/driver/measured_links.h"
#include "compiler/sema/rules/build_rules.h"
#include "runtime/cluster/collectives.h"
#include "runtime/cluster/link_measurement.h"
#include "runtime/core/duration.h"
#include "runtime/core/host_space.h"
#include "runtime/runner/mpi_ranks.h"
#include "runtime/support/print.h"
#include "runtime/support/write_file.h"
#include "runtime/tools/command_line/app_text.h"
#include "runtime/tools/command_line/seconds_option.h"

namespace collage::tools {
namespace {

using runtime::PairFigures;
using runtime::Status;
using support::Code;

class LinkMeasurement {
 public:
  LinkMeasurement(std::vector<std::string> files, std::string output, support::SourceManager& sources,
                  support::Diagnostics& diags)
      : files_(std::move(files)), output_(std::move(output)), sources_(sources), diags_(diags) {}

  /// On each rank; the file is read by the first. False after errors.
  bool run(runtime::TimeLimit start) {
    if (runtime::find_mpi_launch() && !ranks_.start(start, diags_)) return false;
    const bool is_first = !ranks_.has_started() || ranks_.transport()->rank() == 0;
    const std::optional<ir::RuleSet> rules = is_first ? read_rules() : std::nullopt;
    if (!ranks_.has_started()) return false;
    const Status read = rules || !is_first ? Status::ok() : Status::error("the rules cannot be used");
    const Status agreed = runtime::agree(*ranks_.transport(), read, "");
    if (Status lost = ranks_.transport()->failure(); !lost) {
      return diags_.error_at(Code::RunFailed, "mpirun", "{}", lost.message());
    }
    if (!agreed) return false;  // the first rank says why
    const auto figures = runtime::measure_links(*ranks_.transport());
    if (!figures) return diags_.error_at(Code::RunFailed, "mpirun", "{}", figures.message());
    if (!is_first) return true;
    for (const PairFigures& pair : *figures) {
      support::print("{:<12}{} - {}: {}, {:.3g} GB/s\n", &pair == figures->data() ? "measured" : "",
                     runtime::host_space(pair.a), runtime::host_space(pair.b),
                     human(runtime::Duration::seconds(pair.latency)), pair.bytes_per_second / 1e9);
    }
    return write(*rules, *figures);
  }

  runner::MpiRanks& ranks() { return ranks_; }

 private:
  /// Returns nullopt after errors: one is that there are not as many ranks as hosts.
  std::optional<ir::RuleSet> read_rules() {
    std::optional<ir::RuleSet> rules = sema::load_rules(sources_, files_, diags_);
    if (!rules) return std::nullopt;
    if (rules->cluster == nullptr) {
      return diags_.error_at(Code::RunFailed, files_.front(), "{}", "declares no cluster");
    }
    const ir::Cluster& cluster = *rules->cluster;
    const bool are_enough = ranks_.check_count(cluster.host_count(), fmt::format("cluster `{}` has", cluster.name),
                                               "collagec measure-links " + files_.front(), files_.front(), diags_);
    if (!are_enough) return std::nullopt;
    return rules;
  }

  bool write(const ir::RuleSet& rules, const std::vector<PairFigures>& pairs) {
    const auto made = driver::with_measured_links(rules, pairs, sources_, files_.front(), diags_);
    if (!made) return false;
    const std::string& path = output_.empty() ? made->path : output_;
    const auto replaces = output_.empty() ? runtime::Replaces::Anything : runtime::Replaces::WhatWasNotRead;
    if (!support::write_file(path, made->text, diags_, replaces)) return false;
    support::print("{:<12}{}\n", "wrote", path);
    return true;
  }

  std::vector<std::string> files_;
  std::string output_;
  support::SourceManager& sources_;
  support::Diagnostics& diags_;
  runner::MpiRanks ranks_;
};

}  // namespace

int run_measure_links_command(int argc, char** argv) {
  CLI::App app("measures the links between the hosts of a cluster, under mpirun", "collagec measure-links");
  std::vector<std::string> files;
  std::string output;
  double start = runtime::MpiOptions().start.count();
  use_help_text(app);
  app.add_option("rules", files, "the rule file that declares the cluster, and others that it needs")
      ->type_name("FILE…")
      ->required();
  app.add_option("-o", output, "write the file with the measured figures here, instead of over it")->type_name("FILE");
  add_seconds(app, "--start-timeout", start, "how long it may take until all ranks are there; 0: no limit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  LinkMeasurement measurement(std::move(files), std::move(output), sources, diags);
  const int code = measurement.run(runtime::TimeLimit(start)) ? kSuccess : kInputError;
  if (measurement.ranks().prints_errors()) support::print(stderr, "{}", diags.render());
  std::fflush(stdout);
  measurement.ranks().leave(code);
  return code;
}

}  // namespace collage::tools
