// SPDX-License-Identifier: Apache-2.0
// The commands of `collagec`. They print nothing and never exit: texts go to an Output as soon as they are known,
// errors and warnings come back with the outcome.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compiler/request/requests.h"
#include "runtime/core/wrapped.h"
#include "runtime/runner/work_listener.h"

namespace collage::driver {

/// Where texts go, as soon as they are known. Functions may be empty.
struct Output {
  std::function<void(std::string_view)> result{};  ///< what was asked for
  std::function<void(std::string_view)> note{};    ///< about the work itself: what each stage took
  size_t width = runtime::kUsualWidth;             ///< of lines for people, in columns
};

enum class Verdict { Done, BadInput, BadUsage };

struct Outcome {
  Verdict verdict = Verdict::Done;  ///< BadUsage: only options are wrong
  std::string diagnostics{};        ///< errors and warnings as lines
};

/// Does what the request asks for.
Outcome run_command(request::Request request, const Output& output, const runner::WorkListener& listener);

}  // namespace collage::driver
