// SPDX-License-Identifier: Apache-2.0
// Messages over a stream socket between the compiler and its measuring process: four bytes of length, then the text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/measure/stop.h"

namespace collage::measure {

/// The descriptor of the measuring process's end.
inline constexpr int kWorkerDescriptor = 3;

/// Plans that are timed beside each other may take so many times as long as one candidate.
inline constexpr double kPlanTimeouts = 6;

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

enum class Received { Message, Closed, TimedOut, Stopped };

/// Returns false if the other end is gone. Never raises SIGPIPE.
bool send_message(int descriptor, std::string_view text);

/// Waits until `deadline`, if there is one, or until `stop` is set. A message that is cut off or too long counts as
/// Closed.
Received receive_message(int descriptor, const Deadline& deadline, std::string* text, StopFlag stop = nullptr);

}  // namespace collage::measure
