// SPDX-License-Identifier: Apache-2.0
// `collage-check-certificate FILE`: checks that the placement in a certificate is valid, costs what it states, and that the
// proof shows the bound. A certificate that does not hold is an error in the input; one that holds and claims more than it
// proves has an exit code of its own. Exit codes: tools/command_line/program_text.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "compiler/certificate/check_certificate.h"
#include "compiler/support/diagnostic.h"
#include "compiler/support/explain.h"
#include "compiler/tools/command_line/app_text.h"

namespace {

using collage::support::Code;
namespace certificate = collage::certificate;
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
    fmt::print(
        stderr,
        "error: a certificate is needed: `collage-check-certificate FILE`\nRun with --help for more information.\n");
    return kWrongUsage;
  }
  collage::support::SourceManager sources;
  collage::support::Diagnostics diags(sources);
  const auto refuse = [&](Code kind, const std::string& why) {
    diags.error_at(kind, path, "{}", why);
    fmt::print(stderr, "{}", diags.render());
    return kInputError;
  };
  std::string why;
  const std::optional<collage::support::FileId> id = sources.load(path, &why);
  if (!id) return refuse(Code::CannotRead, "cannot read: " + why);
  const collage::runtime::Result<certificate::CertificateFile> file = certificate::read_certificate(sources.text(*id));
  if (!file) return refuse(Code::BadCertificate, file.message());
  const collage::runtime::Result<certificate::Judgement> judgement = certificate::check_certificate(*file);
  if (!judgement) return refuse(Code::CertificateRefuted, judgement.message());
  fmt::print("{}", certificate::report(*file, *judgement));
  return judgement->shows_claim(*file) ? kSuccess : kNotProven;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "error: out of memory\n");
    return kInputError;
  } catch (const std::exception& error) {
    fmt::print(stderr,
               "internal error: {}\nThis is a bug in collage-check-certificate, not in its input; please report it.\n",
               error.what());
    return kInternalError;
  }
}
