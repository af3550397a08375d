// SPDX-License-Identifier: Apache-2.0
// Random problems with their best plans and proofs, as certificates.
#pragma once

#include <optional>
#include <string>

#include "compiler/certificate/check_certificate.h"
#include "compiler/place/problem/proof.h"
#include "tests/differential/random_problem.h"

namespace collage::certificate {

/// Some problem with its best plan and a proof.
struct Case {
  place::Problem problem;
  place::Solution solution;
  place::Proof proof;
};

Names names_of(const place::Problem& problem);
std::string text_of(const Case& one);
/// Reads the certificate and judges it.
runtime::Result<Judgement> judge(const std::string& text);

/// With limits of all kinds, or regions, by seed.
place::Problem any_problem(place::RandomSource& random, uint64_t seed, size_t nodes);
/// A case of at most so many nodes; nothing: the problem has no solution, or the search sees too little to prove one.
/// Every second proof may have a sweep.
std::optional<Case> random_case(place::RandomSource& random, uint64_t seed, size_t most_nodes);

}  // namespace collage::certificate
