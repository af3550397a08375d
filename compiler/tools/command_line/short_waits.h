// SPDX-License-Identifier: Apache-2.0
// Waiting threads of this program sleep soon: runtime/pool/short_waits.h.
#pragma once

namespace collage::tools {

/// Starts this program again with the setting. Returns where the user has chosen one, or where the program was started
/// in an unusual way (through the dynamic loader, by another name).
void restart_with_short_waits(char** argv);

}  // namespace collage::tools
