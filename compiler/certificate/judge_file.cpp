// SPDX-License-Identifier: Apache-2.0
#include "compiler/certificate/judge_file.h"

#include "compiler/certificate/check_certificate.h"
#include "runtime/support/diagnostic.h"

namespace collage::certificate {

FileJudgement judge_file(const std::string& path) {
  using support::Code;
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  const auto refuse = [&](Code code, const std::string& why) {
    diags.error_at(code, path, "{}", why);
    return FileJudgement{FileJudgement::Verdict::Refused, {}, diags.render()};
  };
  const runtime::Result<support::FileId> id = sources.load(path);
  if (!id) return refuse(Code::CannotRead, "cannot read: " + id.message());
  const runtime::Result<CertificateFile> file = read_certificate(sources.text(*id));
  if (!file) return refuse(Code::BadCertificate, file.message());
  const runtime::Result<Judgement> judgement = check_certificate(*file);
  if (!judgement) return refuse(Code::CertificateRefuted, judgement.message());
  using enum FileJudgement::Verdict;
  return {judgement->shows_claim(*file) ? Proven : NotProven, report(*file, *judgement), {}};
}

}  // namespace collage::certificate
