// SPDX-License-Identifier: Apache-2.0
// The one layout of a rule file: `collage-rules fmt`, and an editor's "format document".
//
//     rule r{match y=Relu( x )             =>    rule r {
//     where rank(x)==4 else "rank"                 match y = Relu(x)
//     where dtype(x)==f32 else "dtype"}            where rank(x) == 4     else "rank"
//                                                  where dtype(x) == f32  else "dtype"
//                                                }
//
// It works on tokens, so it needs no change where the grammar grows, but for the words that start a statement. The
// layout depends on the tokens, the comments, and where blank lines are, and on nothing else: formatting twice changes
// nothing.
#pragma once

#include <string>

#include "runtime/support/source_manager.h"

namespace collage::rules_tool {

/// Expects a file that parses. What comes out has the same tokens and the same comments in the same order (checked).
std::string format_rules(const support::SourceManager& sources, support::FileId file);

}  // namespace collage::rules_tool
