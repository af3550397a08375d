// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/costs_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "compiler/costs_tool/commands.h"
#include "runtime/tools/command_line/app_text.h"

namespace collage::tools {
namespace {

using costs_tool::CostsRequest;
using costs_tool::Form;

class CostsApp {
 public:
  CostsApp() : diags_(sources_) {
    app_.require_subcommand(0, 1);
    app_.set_help_flag("-h,--help", "Print this and exit");
    CLI::App* list = add("list", "Show costs, one a line", [this] { return list_costs(request_, diags_); });
    add_filter(list);
    add_form(list);
    CLI::App* show = add("show", "Show all that is known of costs", [this] { return show_costs(request_, diags_); });
    show->add_option("id", request_.names, "As `list` shows them, or the beginning")->required();
    CLI::App* export_ = add("export", "Write costs to a file", [this] { return export_costs(request_, diags_); });
    export_->add_option("file", request_.names, "NAME.csv or NAME.json; without one, standard output")->expected(0, 1);
    add_filter(export_);
    add_form(export_);
    CLI::App* import = add("import", "Read costs from files that `export` wrote",
                           [this] { return import_costs(request_, sources_, diags_); });
    import->add_option("file", request_.names, "CSV or JSON")->required();
    CLI::App* merge = add("merge", "Read costs from other databases", [this] { return merge_costs(request_, diags_); });
    merge->add_option("database", request_.names, "Their files, or addresses of servers")->required();
    add_filter(merge);
    CLI::App* prune = add("prune", "Remove costs", [this] { return prune_costs(request_, diags_); });
    add_filter(prune);
    prune->add_flag("--dry-run", request_.is_dry, "Remove nothing; show what would go");
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kSuccess : kWrongUsage;
    }
    if (!command_) {
      fmt::print(stderr, "error: a command is needed: `collagec costs list`\nRun with --help for more information.\n");
      return kWrongUsage;
    }
    // As collagec's option, an empty name means that there is none.
    request_.database = database_.value_or(measure::default_cost_database());
    if (request_.database.empty()) {
      fmt::print(stderr, "error: no database: `--cost-db NAME` names one\n");
      return kWrongUsage;
    }
    const bool is_good = command_();
    std::fflush(stdout);
    fmt::print(stderr, "{}", diags_.render());
    return is_good ? kSuccess : kInputError;
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<bool()> command) {
    CLI::App* added = app_.add_subcommand(name, what);
    added->add_option("--cost-db", database_, "The database: a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("NAME");
    added->callback([this, command] { command_ = command; });
    return added;
  }
  void add_filter(CLI::App* command) {
    costs_tool::Filter& filter = request_.filter;
    command->add_option("--backend", filter.backends, "Only of this one; repeatable")->allow_extra_args(false);
    command->add_option("--state", filter.states, "Only good, disturbed, failed or refused ones; repeatable")
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"good", "disturbed", "failed", "refused"}));
    command->add_option("--older", filter.older_days, "Only those measured so many days ago or earlier")
        ->type_name("DAYS")
        ->check([](const std::string& text) {
          double days = 0;
          const bool is_good = CLI::detail::lexical_cast(text, days) && days >= 0;
          return is_good ? std::string() : fmt::format("`{}` is no number of days", text);
        });
    command->add_flag("--foreign", filter.only_foreign, "Only those of other processors than this machine's");
  }
  void add_form(CLI::App* command) {
    CLI::Option* csv = command->add_flag_callback(
        "--csv", [this] { request_.form = Form::Csv; }, "As CSV");
    command
        ->add_flag_callback(
            "--json", [this] { request_.form = Form::Json; }, "As JSON")
        ->excludes(csv);
  }

  CLI::App app_{"lists, exchanges and removes measured costs", "collagec costs"};
  CostsRequest request_;
  std::optional<std::string> database_;
  support::SourceManager sources_;
  support::Diagnostics diags_;
  std::function<bool()> command_;
};

}  // namespace

int run_costs_command(int argc, char** argv) {
  return CostsApp().run(argc, argv);
}

}  // namespace collage::tools
