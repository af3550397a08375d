// SPDX-License-Identifier: Apache-2.0
// `collagec backends --json`, and collage_backends_json.
#pragma once

#include <string>
#include <vector>

#include "compiler/request/backend_list.h"

namespace collage::report {

/// `[{name, kind, runs_by, reason, rules, file}]`; `reason` where a backend is absent.
std::string to_json(const std::vector<request::BackendInfo>& list);

}  // namespace collage::report
