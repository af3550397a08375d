// SPDX-License-Identifier: Apache-2.0
// What stopped the rules of a backend at a node, as rows of an answer: equal reasons of several rules are one line, the
// members of a family one name.
//
//     conv, conv_act (2)  grouped convolution (rules/npu.rules:19, 38)
//     conv_clip           `%c` is read by Mul, need Clip (rules/onednn.rules:60)
#pragma once

#include <vector>

#include "compiler/match/refusals.h"
#include "compiler/report/explain/answer.h"
#include "runtime/support/source_manager.h"

namespace collage::report {

/// In the order of `misses`; the labels are the names of the rules.
std::vector<AnswerRow> refusal_rows(const ir::Backend& backend, const std::vector<match::NearMiss>& misses,
                                    const support::SourceManager& sources);

}  // namespace collage::report
