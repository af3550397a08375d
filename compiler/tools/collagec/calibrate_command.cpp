// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/calibrate_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/execution/link_text.h"
#include "compiler/sema/build_rules.h"
#include "compiler/support/write_file.h"
#include "compiler/tools/command_line/app_text.h"
#include "runtime/cluster/link_measurement.h"
#include "runtime/cluster/mpi_transport.h"
#include "runtime/core/host_space.h"

namespace collage::tools {
namespace {

using runtime::PairFigures;
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

  /// On each rank. False after errors.
  bool run() {
    std::optional<ir::RuleSet> rules = sema::load_rules(sources_, files_, diags_);
    if (!rules) return false;
    if (rules->cluster == nullptr) {
      return diags_.error_at(Code::RunFailed, files_.front(), "{}", "declares no cluster");
    }
    const ir::Cluster& cluster = *rules->cluster;
    for (const ir::SwitchDecl& declared : rules->switches) switches_.insert(declared.name);
    const std::optional<runtime::MpiLaunch> launch = runtime::find_mpi_launch();
    const auto wrong_number = [&](const std::string& ranks) {
      return diags_.error_at(Code::RunFailed, files_.front(),
                             "cluster `{}` has {} hosts, and {}: `mpirun -n {} collagec calibrate {}`", cluster.name,
                             cluster.host_count(), ranks, cluster.host_count(), files_.front());
    };
    if (!launch) return wrong_number("this is one process");
    if (launch->size > 0 && launch->size != cluster.host_count()) {
      return wrong_number(fmt::format("mpirun started {}", launch->size));
    }
    auto transport = runtime::MpiTransport::start(*launch);
    if (!transport) return diags_.error_at(Code::RunFailed, "mpirun", "{}", transport.message());
    transport_ = std::move(*transport);
    if (transport_->size() != cluster.host_count()) {
      return wrong_number(fmt::format("mpirun started {}", transport_->size()));
    }
    const auto figures = runtime::measure_links(*transport_);
    if (!figures) return diags_.error_at(Code::RunFailed, "mpirun", "{}", figures.message());
    if (transport_->rank() != 0) return true;
    for (const PairFigures& pair : *figures) {
      fmt::print("{:<12}{} - {}: {:.3g} us, {:.3g} GB/s\n", &pair == figures->data() ? "measured" : "",
                 runtime::host_space(pair.a), runtime::host_space(pair.b), pair.latency * 1e6,
                 pair.bytes_per_second / 1e9);
    }
    return write(cluster, *figures);
  }

  /// After messages were printed.
  void leave(int code) {
    if (transport_ != nullptr) (void)transport_->leave(code);
  }

 private:
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
        const auto text = execution::with_figures(sources_.text(all), figures.bytes_per_second, figures.latency);
        if (!text)
          return diags_.error(Code::RunFailed, link.span, "the bandwidth is not a number that can be replaced");
        edits[all.begin] = {all, *text};
      }
      first += host.count;
    }
    if (edits.empty()) return diags_.error_at(Code::RunFailed, files_.front(), "{}", "the hosts state no links");
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
  std::shared_ptr<runtime::MpiTransport> transport_;
};

}  // namespace

int run_calibrate_command(int argc, char** argv) {
  CLI::App app("measures the links between the hosts of a cluster, under mpirun", "collagec calibrate");
  std::vector<std::string> files;
  std::string output;
  app.add_option("rules", files, "The rule file that declares the cluster, and others that it needs")
      ->type_name("FILE…")
      ->required();
  app.add_option("-o", output, "Write the file with the measured figures here, instead of over it")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  Calibration calibration(std::move(files), std::move(output), sources, diags);
  const int code = calibration.run() ? kSuccess : kInputError;
  fmt::print(stderr, "{}", diags.render());
  std::fflush(stdout);
  calibration.leave(code);
  return code;
}

}  // namespace collage::tools
