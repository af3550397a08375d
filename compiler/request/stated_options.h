// SPDX-License-Identifier: Apache-2.0
// The options on which a placement problem depends, as a certificate states them: by flag, with the values that were
// given. One table says which they are, how they are read back into a request, and what each means in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/request/requests.h"

namespace collage::request {

using StatedOptions = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Those that differ from what a request has without options.
StatedOptions stated_options(const Request& request);

/// Sets them. Returns why not; empty: all are set.
std::string set_stated_options(const StatedOptions& options, Request& request);

/// `--forbid *=npu: nodes do not run there`, a line for each value.
std::vector<std::string> in_words(const StatedOptions& options);

}  // namespace collage::request
