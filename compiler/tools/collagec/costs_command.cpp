// SPDX-License-Identifier: Apache-2.0
#include "compiler/tools/collagec/costs_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "compiler/costs_tool/commands.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/app_text.h"

namespace collage::tools {
namespace {

using costs_tool::CostsRequest;
using costs_tool::Form;

class CostsApp {
 public:
  CostsApp() : diags_(sources_) {
    app_.require_subcommand(0, 1);
    use_help_text(app_);
    CLI::App* list = add("list", "shows costs, one a line", [this] { return list_costs(request_, diags_); });
    add_filter(list);
    add_form(list);
    CLI::App* show = add("show", "shows all that is known of costs", [this] { return show_costs(request_, diags_); });
    show->add_option("id", request_.names, "as `list` shows them, or the beginning")->type_name("ID…")->required();
    CLI::App* export_ = add("export", "writes costs to a file", [this] { return export_costs(request_, diags_); });
    export_->add_option("file", request_.names, "NAME.csv or NAME.json; without one, standard output")
        ->type_name("[FILE]")
        ->expected(0, 1);
    add_filter(export_);
    add_form(export_);
    CLI::App* import = add("import", "reads costs from files that `export` wrote",
                           [this] { return import_costs(request_, sources_, diags_); });
    import->add_option("file", request_.names, "CSV or JSON")->type_name("FILE…")->required();
    CLI::App* merge =
        add("merge", "reads costs from other databases", [this] { return merge_costs(request_, diags_); });
    merge->add_option("database", request_.names, "their files, or addresses of servers")
        ->type_name("DATABASE…")
        ->required();
    add_filter(merge);
    CLI::App* prune = add("prune", "removes costs", [this] { return prune_costs(request_, diags_); });
    add_filter(prune);
    prune->add_flag("--dry-run", request_.is_dry, "remove nothing; show what would go");
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? kSuccess : kWrongUsage;
    }
    if (!command_) {
      support::print(stderr,
                     "error: a command is needed: `collagec costs list`\nRun with --help for more information.\n");
      return kWrongUsage;
    }
    // As collagec's option, an empty name means that there is none.
    request_.database = database_.value_or(measure::default_cost_database());
    if (request_.database.empty()) {
      support::print(stderr, "error: no database: `--cost-db NAME` names one\n");
      return kWrongUsage;
    }
    const bool is_good = command_();
    std::fflush(stdout);
    support::print(stderr, "{}", diags_.render());
    return is_good ? kSuccess : kInputError;
  }

 private:
  CLI::App* add(const char* name, const char* what, std::function<bool()> command) {
    CLI::App* added = app_.add_subcommand(name, what);
    added->add_option("--cost-db", database_, "the database: a file, or postgresql://USER@HOST/DATABASE")
        ->type_name("NAME");
    added->callback([this, command] { command_ = command; });
    return added;
  }
  void add_filter(CLI::App* command) {
    costs_tool::Filter& filter = request_.filter;
    command->add_option("--backend", filter.backends, "only of this one; repeatable")
        ->type_name("NAME")
        ->allow_extra_args(false);
    command->add_option("--state", filter.states, "only good, disturbed, failed or refused ones; repeatable")
        ->type_name("STATE")
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"good", "disturbed", "failed", "refused"}));
    command->add_option("--older", filter.older_days, "only those measured so many days ago or earlier")
        ->type_name("DAYS")
        ->check([](const std::string& text) {
          double days = 0;
          const bool is_good = CLI::detail::lexical_cast(text, days) && days >= 0;
          return is_good ? std::string() : fmt::format("`{}` is no number of days", text);
        });
    command->add_flag("--foreign", filter.only_foreign, "only those of other processors than this machine's");
  }
  void add_form(CLI::App* command) {
    CLI::Option* csv = command->add_flag_callback(
        "--csv", [this] { request_.form = Form::Csv; }, "as CSV");
    command
        ->add_flag_callback(
            "--json", [this] { request_.form = Form::Json; }, "as JSON")
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
