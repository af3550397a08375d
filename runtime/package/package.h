// SPDX-License-Identifier: Apache-2.0
// A compiled model as one file, `.collage`: what a process needs to run it without the compiler.
//
//     about       JSON: versions, the processor that the code needs
//     plan        CBOR: plan/plan.h by the names of its fields, and where kernels begin in the code
//     code        machine code, position-independent
//     placed      the placed model as text, for people
//     constants   the host's constant region as it lies in memory, then other tensors: each at a multiple of 4096
//
// The file is mapped, and constants are used where they are: two processes share them. package_file.h describes the
// frame around these sections.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/core/status.h"
#include "runtime/exec/code.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

struct Package {
  Plan plan;
  std::shared_ptr<const Code> code;
  int threads = 1;     ///< that it was compiled for
  std::string placed;  ///< the placed model as text; may be empty
  std::string about;   ///< JSON; of a package that was read
};

/// Writes beside `path`, then renames. What the processor must have is taken from the code, versions from this process.
Status write_package(const std::string& path, const Package& package);

/// Fails with the reason, which does not name the file, for anything but a whole package that this machine can run. Of
/// a package that was read, the plan is valid, and its kernels are in its code.
Result<Package> read_package(const std::string& path);

/// Whether bytes are the beginning of a package, of whatever version.
bool looks_like_package(std::string_view bytes);

}  // namespace collage::runtime
