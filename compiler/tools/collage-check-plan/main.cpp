// SPDX-License-Identifier: Apache-2.0
// `collage-check-plan MODEL RULES… CERTIFICATE`: driver/check_plan.h. With a certificate alone, as in earlier
// versions, it judges that and says nothing of what it is about. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "compiler/certificate/judge_file.h"
#include "compiler/driver/check_plan.h"
#include "include/collage/export.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/app_text.h"
#include "runtime/tools/command_line/guarded_main.h"

namespace {

using collage::driver::PlanCheck;
using enum collage::tools::ExitCode;

int judge_alone(const std::string& path) {
  using collage::certificate::FileJudgement;
  const FileJudgement judged = collage::certificate::judge_file(path);
  collage::support::print(stderr, "{}", judged.diagnostics);
  if (judged.verdict == FileJudgement::Verdict::Refused) return kInputError;
  collage::support::print(
      "{}trusted     that the problem is that of a model and rules: `collage-check-plan MODEL RULES… {}`\n",
      judged.report, path);
  return judged.verdict == FileJudgement::Verdict::Proven ? kSuccess : kNotProven;
}

int run(int argc, char** argv) {
  CLI::App app(
      "checks what a certificate is about: makes its problem again from model and rules, judges plan and bound",
      "collage-check-plan");
  std::vector<std::string> paths;
  collage::driver::PlanCheckOptions options;
  collage::tools::add_text_flags(app);
  app.add_option("files", paths, "model, rule files or folders, certificate")->type_name("MODEL RULES... CERTIFICATE");
  app.add_flag("--allow-code", options.allows_code, "load the plug-ins that rule files name, as collagec did");
  app.add_flag("--allow-outside", options.allows_outside, "let model and rules lead to files outside their folders");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  if (paths.empty()) {
    collage::support::print(
        stderr,
        "error: a certificate is needed: `collage-check-plan MODEL RULES… CERTIFICATE`\nRun with --help for more "
        "information.\n");
    return kWrongUsage;
  }
  if (paths.size() == 1) return judge_alone(paths.front());
  const PlanCheck check =
      collage::driver::check_plan(paths.front(), {paths.begin() + 1, paths.end() - 1}, paths.back(), options);
  collage::support::print("{}", check.text);
  collage::support::print(stderr, "{}", check.diagnostics);
  if (check.verdict == PlanCheck::Verdict::Refused) return kInputError;
  return check.verdict == PlanCheck::Verdict::Proven ? kSuccess : kNotProven;
}

}  // namespace

extern "C" COLLAGE_API int collage_main_collage_check_plan(int argc, char** argv) {
  return collage::tools::guarded_main("collage-check-plan", [&] { return run(argc, argv); });
}
