// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/calibrate_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/execution/mpi_ranks.h"
#include "compiler/sema/build_rules.h"
#include "compiler/support/write_file.h"
#include "compiler/syntax/link_text.h"
#include "compiler/tools/command_line/app_text.h"
#include "compiler/tools/command_line/seconds_option.h"
#include "runtime/cluster/collectives.h"
#include "runtime/cluster/link_measurement.h"
#include "runtime/core/host_space.h"

namespace collage::tools {
namespace {

using runtime::PairFigures;
using runtime::Status;
using support::Code;

/// What a link has to state so that the slowest way over it is what was measured.
struct LinkFigures {
  double bytes_per_second = 0;
  double latency = 0;
};

class Calibration {
 public:
  Calibration(std::vector<std::string> files, std::string output, support::SourceManager& sources,
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
      fmt::print("{:<12}{} - {}: {:.3g} us, {:.3g} GB/s\n", &pair == figures->data() ? "measured" : "",
                 runtime::host_space(pair.a), runtime::host_space(pair.b), pair.latency * 1e6,
                 pair.bytes_per_second / 1e9);
    }
    return write(*rules->cluster, *figures);
  }

  execution::MpiRanks& ranks() { return ranks_; }

 private:
  /// Returns nullopt after errors: one is that there are not as many ranks as hosts.
  std::optional<ir::RuleSet> read_rules() {
    std::optional<ir::RuleSet> rules = sema::load_rules(sources_, files_, diags_);
    if (!rules) return std::nullopt;
    if (rules->cluster == nullptr) {
      return diags_.error_at(Code::RunFailed, files_.front(), "{}", "declares no cluster");
    }
    const ir::Cluster& cluster = *rules->cluster;
    for (const ir::SwitchDecl& declared : rules->switches) switches_.insert(declared.name);
    const bool are_enough = ranks_.check_count(cluster.host_count(), fmt::format("cluster `{}` has", cluster.name),
                                               "collagec calibrate " + files_.front(), files_.front(), diags_);
    if (!are_enough) return std::nullopt;
    return rules;
  }

  /// Of the links of hosts [first, first + count). Over a switch a message passes two of them, each with half of the time.
  static LinkFigures figures_of(const std::vector<PairFigures>& pairs, int first, int count, bool is_to_switch) {
    const auto is_one = [&](int rank) { return rank >= first && rank < first + count; };
    LinkFigures worst;
    for (const PairFigures& pair : pairs) {
      if (!is_one(pair.a) && !is_one(pair.b)) continue;
      worst.latency = std::max(worst.latency, pair.latency / (is_to_switch ? 2 : 1));
      worst.bytes_per_second =
          worst.bytes_per_second == 0 ? pair.bytes_per_second : std::min(worst.bytes_per_second, pair.bytes_per_second);
    }
    return worst;
  }

  /// From `link lan` to the end of its properties: of the block, or before what comes next in it.
  support::Span with_properties(support::Span link) const {
    const std::string_view text = sources_.text(link.file);
    size_t end = std::min(text.find('}', link.end), text.size());
    for (const std::string_view next :
         {" link ", "\tlink ", " memory ", "\tmemory ", " devices ", "\tdevices ", "//"}) {
      end = std::min(end, text.find(next, link.end));
    }
    end = std::min(text.find_last_not_of(" \t\r\n", end - 1) + 1, end);
    return {link.file, link.begin, static_cast<uint32_t>(end)};
  }

  /// The texts of links that change, by where they stand. A link that a shape was made of is one text for many links.
  bool write(const ir::Cluster& cluster, const std::vector<PairFigures>& pairs) {
    if (pairs.empty())
      return diags_.error_at(Code::RunFailed, files_.front(), "{}", "one host has no links to measure");
    std::map<uint32_t, std::pair<support::Span, std::string>> edits;
    int first = 0;
    for (const ir::HostDecl& host : cluster.hosts) {
      for (const ir::Link& link : host.links) {
        // Not those to devices of the host.
        const bool is_between_hosts = link.to == runtime::host_space(0) || switches_.contains(link.to);
        if (!link.span.is_valid() || !is_between_hosts) continue;
        const LinkFigures figures = figures_of(pairs, first, host.count, link.to != runtime::host_space(0));
        const support::Span all = with_properties(link.span);
        const auto text = syntax::with_figures(sources_.text(all), figures.bytes_per_second, figures.latency);
        if (!text)
          return diags_.error(Code::RunFailed, link.span, "the bandwidth is not a number that can be replaced");
        edits[all.begin] = {all, *text};
      }
      first += host.count;
    }
    if (edits.empty())
      return diags_.error_at(Code::RunFailed, files_.front(), "{}",
                             "no host has a link to `host` or a switch; rings, tori and trees keep their figures");
    const support::FileId file = edits.begin()->second.first.file;
    std::string text(sources_.text(file));
    for (auto at = edits.rbegin(); at != edits.rend(); ++at) {  // the last first: places before it stay
      const support::Span& span = at->second.first;
      if (span.file == file) text.replace(span.begin, span.end - span.begin, at->second.second);
    }
    const std::string path = output_.empty() ? std::string(sources_.name(file)) : output_;
    if (!support::write_file(path, text, diags_)) return false;
    fmt::print("{:<12}{}\n", "wrote", path);
    return true;
  }

  std::vector<std::string> files_;
  std::string output_;
  std::set<std::string> switches_;
  support::SourceManager& sources_;
  support::Diagnostics& diags_;
  execution::MpiRanks ranks_;
};

}  // namespace

int run_calibrate_command(int argc, char** argv) {
  CLI::App app("measures the links between the hosts of a cluster, under mpirun", "collagec calibrate");
  std::vector<std::string> files;
  std::string output;
  double start = runtime::MpiOptions().start.count();
  app.add_option("rules", files, "The rule file that declares the cluster, and others that it needs")
      ->type_name("FILE…")
      ->required();
  app.add_option("-o", output, "Write the file with the measured figures here, instead of over it")->type_name("FILE");
  add_seconds(app, "--start-timeout", start, "How long it may take until all ranks are there; 0: no limit");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  Calibration calibration(std::move(files), std::move(output), sources, diags);
  const int code = calibration.run(runtime::TimeLimit(start)) ? kSuccess : kInputError;
  if (calibration.ranks().prints_errors()) fmt::print(stderr, "{}", diags.render());
  std::fflush(stdout);
  calibration.ranks().leave(code);
  return code;
}

}  // namespace collage::tools
