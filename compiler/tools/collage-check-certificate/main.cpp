// SPDX-License-Identifier: Apache-2.0
// `collage-check-certificate FILE`: checks that the placement in a certificate is valid, costs what it states, and that
// the proof shows the bound. A certificate that does not hold is an error in the input; one that holds and claims more
// than it proves has an exit code of its own. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "compiler/certificate/judge_file.h"
#include "runtime/support/explain.h"
#include "runtime/support/print.h"
#include "runtime/tools/command_line/app_text.h"
#include "runtime/tools/command_line/guarded_main.h"

namespace {

using collage::certificate::FileJudgement;
using enum collage::tools::ExitCode;

int run(int argc, char** argv) {
  CLI::App app("checks a certificate that `collagec --certificate FILE` wrote: the placement, its cost, its bound",
               "collage-check-certificate");
  std::string path, code;
  collage::tools::add_text_flags(app);
  app.add_option("file", path, "the certificate")->type_name("FILE");
  app.add_option("--explain", code, "explain a diagnostic: CG0433")->type_name("CODE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kSuccess : kWrongUsage;
  }
  if (!code.empty()) return collage::support::explain(code) ? kSuccess : kWrongUsage;
  if (path.empty()) {
    collage::support::print(
        stderr,
        "error: a certificate is needed: `collage-check-certificate FILE`\nRun with --help for more information.\n");
    return kWrongUsage;
  }
  const FileJudgement judged = collage::certificate::judge_file(path);
  collage::support::print("{}", judged.report);
  collage::support::print(stderr, "{}", judged.diagnostics);
  if (judged.verdict == FileJudgement::Verdict::Refused) return kInputError;
  return judged.verdict == FileJudgement::Verdict::Proven ? kSuccess : kNotProven;
}

}  // namespace

int main(int argc, char** argv) {
  return collage::tools::guarded_main("collage-check-certificate", [&] { return run(argc, argv); });
}
