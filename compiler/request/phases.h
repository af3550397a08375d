// SPDX-License-Identifier: Apache-2.0
// The phases of the active backends as passes to run: vetted ones, and rewrites of rule files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes/phases.h"
#include "compiler/place/candidates/candidates.h"

namespace collage::request {

/// How often each rewrite was applied.
using RewriteCounts = std::map<std::string, int>;

/// The passes that run before candidates are searched.
passes::Schedule pre_schedule(const place::ActiveBackends& active);

/// Passes that run the steps in order, without those that would take away a form that a rule is about: `fuse_quantized`
/// where it is products between conversions, `fuse_normalizations` where it is the parts of a layer norm. They refer to
/// `active` and to `counts`, which must live on.
std::vector<passes::Pass> runnable(const passes::Schedule& schedule, const place::ActiveBackends& active,
                                   RewriteCounts* counts);

/// `layer_norm 12x, strip_identity 1x`: those that were applied, or "".
std::string to_string(const RewriteCounts& counts);

}  // namespace collage::request
