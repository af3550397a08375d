// SPDX-License-Identifier: Apache-2.0
// Waiting OpenMP threads of this program sleep soon where other programs run: runtime/pool/short_waits.h.
#pragma once

namespace collage::tools {

/// Starts this program again with the setting. Returns where no setting is needed, the user has chosen one, or the
/// program was started in an unusual way (through the dynamic loader, by another name).
void restart_with_short_waits(char** argv);

}  // namespace collage::tools
