// SPDX-License-Identifier: Apache-2.0
// The judge of a certificate file. It shares no code with the searches of place/: a plan that it accepts is a solution
// of the written problem and costs what the file says, and no solution of that problem costs less than `bound`.
//
// In the order of the checks: the problem follows problem.h; the plan covers every node once, runs in some order, keeps
// to counts, conflicts and memory, its regions can be joined, and it costs what it says; the proof shows the bound that
// the file gives it. What the search claims beyond that bound is not shown.
#pragma once

#include <optional>

#include "compiler/certificate/certificate_file.h"
#include "compiler/certificate/format_trees.h"

namespace collage::certificate {

/// The claims that were found to hold.
struct Judgement {
  Wide cost = 0;
  std::optional<Wide> bound;  ///< by the proof; nothing: there is none

  /// Whether the proof shows all that the file claims of the plan.
  bool shows_claim(const CertificateFile& file) const {
    return file.solution.bound.count() <= 0 || (bound && *bound >= file.solution.bound.count());
  }
};

/// Or the first thing that is wrong.
runtime::Result<Judgement> check_certificate(const CertificateFile& file);

/// The result as lines of text.
std::string report(const CertificateFile& file, const Judgement& judgement);

// The parts of it, each with what is wrong. Each expects that those before it found nothing.

/// Lists ascending, readers after writers, and candidates that say how they read and write what crosses their border.
runtime::Status check_problem(const CertificateFile& file);

/// Cover, cycles, counts, conflicts, memory: of these candidates as a plan.
runtime::Status check_execution(const CertificateFile& file, const std::vector<place::CandidateId>& chosen);

/// What the plan saves by joining units into regions (check_regions.cpp).
runtime::Result<Wide> saved_by_regions(const CertificateFile& file);
/// The most that these candidates could save, whatever is joined.
Wide most_saved_by_regions(const CertificateFile& file, const std::vector<place::CandidateId>& chosen);

/// Candidates and conversions together; `kUnreachable` where some value cannot be had as it is read. Or: that there are
/// too many formats to say.
runtime::Result<Wide> cost_of_candidates(const CertificateFile& file, const std::vector<place::CandidateId>& chosen);

/// The bound that the proof shows (check_bound.cpp).
runtime::Result<Wide> bound_of_proof(const CertificateFile& file);
/// The same, but no more than the plan costs; nothing: the proof is refused, or shows nothing.
std::optional<place::Cost> shown_by_proof(const CertificateFile& file);

/// `%conv1`; `node 3` where nodes have no names.
std::string node_text(const CertificateFile& file, place::NodeId node);
std::string value_text(const CertificateFile& file, place::ProblemValueId value);
/// `candidate 7 (conv_relu on npu[0])`
std::string candidate_text(const CertificateFile& file, place::CandidateId candidate);
/// `12.5us`
std::string cost_text(Wide cost);

}  // namespace collage::certificate
