// SPDX-License-Identifier: Apache-2.0
// `collagec backends`: what rule files declare, and what of it runs on this machine.
#pragma once

namespace collage::tools {

/// `argv[0]` is the word `backends`. Returns the exit code.
int run_backends_command(int argc, char** argv);

}  // namespace collage::tools
