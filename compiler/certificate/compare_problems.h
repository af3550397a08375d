// SPDX-License-Identifier: Apache-2.0
// Whether the problem of a certificate is one that was made again, from the model and the rules.
#pragma once

#include <functional>
#include <string>

#include "compiler/certificate/certificate_file.h"

namespace collage::certificate {

struct Comparison {
  /// Whether the cost of a candidate of `made` was measured, so that the certificate's cost is accepted unchecked.
  std::function<bool(place::CandidateId)> is_trusted;
  bool trusts_conversions = false;  ///< their costs were measured
  /// The plan may have candidates beside those of the problem: partitions of a placement file.
  bool may_add = false;
};

struct Compared {
  std::string difference;    ///< the first one; empty: there is none
  size_t trusted_costs = 0;  ///< of candidates
  size_t added = 0;          ///< candidates that only the certificate has
};

/// `stated` and `made` as `read_certificate` gives them.
Compared compare_problems(const CertificateFile& stated, const CertificateFile& made, const Comparison& comparison);

}  // namespace collage::certificate
