// SPDX-License-Identifier: Apache-2.0
// oneDNN as a library: program -> simplified program -> schedule -> kernel.
#include <dnnl.h>

#include "runtime/libraries/library.h"
#include "runtime/libraries/onednn/builder.h"
#include "runtime/libraries/onednn/kernel.h"
#include "runtime/libraries/onednn/simplify.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {

Result<std::unique_ptr<LibraryKernel>> prepare_onednn(const LibraryProgram& program, int threads) {
  try {
    ThreadScope scope(threads);  // primitives are chosen for a number of threads
    LibraryProgram simplified = onednn::simplify(program);
    Result<onednn::Schedule> schedule = onednn::Builder(simplified).build();
    if (!schedule) return schedule.status();
    return onednn::make_kernel(std::move(*schedule), threads);
  } catch (const dnnl::error& error) {
    return Status::error(std::string("oneDNN: ") + error.message);
  }
}

std::string version_of_onednn() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch) +
         " isa " + std::to_string(dnnl_get_effective_cpu_isa()) + " " + version->hash;
}

}  // namespace collage::runtime
