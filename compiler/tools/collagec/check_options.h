// SPDX-License-Identifier: Apache-2.0
// Options that each are right, together.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "compiler/request/requests.h"

namespace collage::tools {

/// What is wrong with the options of a request, one sentence, or "": they exclude each other, need others, or name a
/// file that another one reads or writes. `given`: their names.
std::string wrong_combination(const request::Request& request, const std::set<std::string_view>& given);

}  // namespace collage::tools
