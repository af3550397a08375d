// SPDX-License-Identifier: Apache-2.0
// The judge of a certificate file. It shares no code with the searches of place/: a plan that it accepts is a solution
// of the written problem and costs what the file says, and no solution of that problem costs less than `bound`.
//
// In the order of the checks: the problem follows problem.h; the plan covers every node once, runs in some order, keeps
// to counts, conflicts and memory, and costs what it says; the multipliers are some, and their bound is no lower than
// the file says. That the search had nothing left to look at (`optimal` by exhaustion) cannot be seen from outside.
#pragma once

#include <optional>

#include "compiler/certificate/certificate_file.h"
#include "compiler/certificate/format_trees.h"

namespace collage::certificate {

/// What was found to hold.
struct Judgement {
  Wide cost = 0;
  std::optional<Wide> bound;  ///< by the multipliers; nothing: there are none
};

/// Or the first thing that is wrong.
runtime::Result<Judgement> check_certificate(const CertificateFile& file);

// The parts of it, each with what is wrong. Each expects that those before it found nothing.

/// Lists ascending, readers after writers, and candidates that say how they read and write what crosses their border.
runtime::Status check_problem(const CertificateFile& file);

/// Cover, cycles, counts, conflicts, memory.
runtime::Status check_execution(const CertificateFile& file);

/// Candidates and conversions together.
runtime::Result<Wide> cost_of_plan(const CertificateFile& file);

/// The bound that the multipliers prove (check_bound.cpp).
runtime::Result<Wide> bound_of_multipliers(const CertificateFile& file);

/// `%conv1`; `node 3` where nodes have no names.
std::string node_text(const CertificateFile& file, place::NodeId node);
std::string value_text(const CertificateFile& file, place::ProblemValueId value);
/// `candidate 7 (conv_relu on npu[0])`
std::string candidate_text(const CertificateFile& file, place::CandidateId candidate);
/// `12.5us`
std::string cost_text(Wide cost);

}  // namespace collage::certificate
