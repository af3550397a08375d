// SPDX-License-Identifier: Apache-2.0
// Certificates -> judgements: refused with a reason, or read; then written again they are the same file, and the judge
// has an answer.
#include <cstdint>

#include "compiler/certificate/check_certificate.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

void check(std::string_view text) {
  const runtime::Result<certificate::CertificateFile> file = certificate::read_certificate(text);
  if (!file) {
    if (file.message().empty()) fail("refused without a word");
    return;
  }
  const std::string written = certificate::to_json(*file);
  const runtime::Result<certificate::CertificateFile> again = certificate::read_certificate(written);
  if (!again) fail("what was written cannot be read: " + again.message() + "\n" + written);
  if (certificate::to_json(*again) != written) fail("written, read and written:\n" + written);
  const runtime::Result<certificate::Judgement> judgement = certificate::check_certificate(*file);
  if (!judgement && judgement.message().empty()) fail("refuted without a word");
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
