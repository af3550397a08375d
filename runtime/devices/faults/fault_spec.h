// SPDX-License-Identifier: Apache-2.0
// The language of `--faults`: which commands of which devices go wrong, and how. Statements end with `;` or a line,
// comments begin with `#`:
//
//     seed 7                                   # of the shares below; 0 if it is not given
//     npu[0]: lose after 3 launches            # the device is gone from its fourth launch on
//     npu:    flip 0.01 of copies              # every instance: one bit of one copy in a hundred
//     npu[1]: fail at copy 2, timeout 5 ms at launch 4
//     *:      out-of-memory at allocation 1    # every device
//
//     fault = "fail" | "flip" | "timeout" [time] | "lose" | "out-of-memory"
//     when  = "at" command number | "after" number commands | share "of" commands
//
// Commands are copies, launches and allocations, each counted from 1 for every device by itself, constants that are
// loaded included. A copy between devices counts for the one that sends; changes of layout on a device are launches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/core/duration.h"

namespace collage::runtime {

enum class FaultKind { Fail, Flip, Timeout, Lose, OutOfMemory };
enum class FaultCommand { Copy, Launch, Allocation };

struct FaultRule {
  enum class When { At, After, Share };

  std::string device;  ///< `npu[0]`; `npu`: its instances; `*`: all
  FaultKind kind = FaultKind::Fail;
  Duration patience{};  ///< of a timeout
  FaultCommand command = FaultCommand::Copy;
  When when = When::At;
  int64_t number = 0;  ///< At, After
  double share = 0;    ///< Share: 0 to 1
  std::string text{};  ///< as it was written, for messages
  size_t begin = 0;    ///< where the device is written

  /// True if it is a fault of that device.
  bool is_of(std::string_view space) const;
};

struct FaultSpec {
  uint64_t seed = 0;
  std::vector<FaultRule> rules{};
};

/// Bytes [begin, end) of the text are wrong.
struct FaultSpecError {
  size_t begin = 0;
  size_t end = 0;
  std::string message;
};

std::variant<FaultSpec, FaultSpecError> parse_fault_spec(std::string_view text);

/// `copy`, `launch`, `allocation`
std::string_view name_of(FaultCommand command);

}  // namespace collage::runtime
