// SPDX-License-Identifier: Apache-2.0
// `--certificate FILE`: what `collage-check-certificate` judges (certificate/certificate_file.h), of the placement that
// is built.
#pragma once

#include <optional>
#include <string>

#include "compiler/certificate/certificate_file.h"
#include "compiler/search/found_placement.h"

namespace collage::search {

/// The problem of the search with its names: a certificate that says nothing of a placement yet.
certificate::CertificateFile stated_problem(const SearchInput& input);

/// The certificate of a placement, with a proof (place/exact/bound/prove.h) that its judge has accepted. The problem is
/// that of the search; what a placement has beside its candidates, a partition of a placement file for instance, is
/// added to them.
certificate::CertificateFile certificate_of(const SearchInput& input, const FoundPlacement& found);

/// What the certificate proves, for the summary: `proven: 12.83 ms, which is the cost`.
std::string to_string(const certificate::CertificateFile& file);

}  // namespace collage::search
