// SPDX-License-Identifier: Apache-2.0
// oneDNN as a library: program -> simplified program -> schedule -> kernel.
#include <dnnl.h>

#include "runtime/libraries/library.h"
#include "runtime/libraries/onednn/builder.h"
#include "runtime/libraries/onednn/kernel.h"
#include "runtime/libraries/onednn/simplify.h"
#include "runtime/pool/pool.h"

namespace collage::runtime {
namespace {

/// By value of the simplified program: the operator of the program that it is made for; -1: none. A value that only the
/// simplified one has is made for what reads it: where BatchNormalization => Mul, Add, the product is for it, too.
std::vector<int> operators_of(const LibraryProgram& program, const LibraryProgram& simplified) {
  std::vector<int> made_for(simplified.values.size(), -1);
  for (size_t i = 0; i < program.ops.size(); ++i) {
    for (int output : program.ops[i].outputs) {
      if (output >= 0) made_for[static_cast<size_t>(output)] = static_cast<int>(i);
    }
  }
  for (auto op = simplified.ops.rbegin(); op != simplified.ops.rend(); ++op) {
    if (op->outputs.empty() || op->outputs[0] < 0) continue;
    for (int input : op->inputs) {
      if (input < static_cast<int>(program.values.size())) continue;
      made_for[static_cast<size_t>(input)] = made_for[static_cast<size_t>(op->outputs[0])];
    }
  }
  return made_for;
}

}  // namespace

Result<std::unique_ptr<LibraryKernel>> prepare_onednn(const LibraryProgram& program, int threads) {
  try {
    ThreadScope scope(threads);  // primitives are chosen for a number of threads
    LibraryProgram simplified = onednn::simplify(program);
    Result<onednn::Schedule> schedule = onednn::Builder(simplified).build();
    if (!schedule) return schedule.status();
    const std::vector<int> made_for = operators_of(program, simplified);
    for (onednn::Stage& stage : schedule->stages) {
      if (stage.result >= 0) stage.op = made_for[static_cast<size_t>(stage.result)];
    }
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
