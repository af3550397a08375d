// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/library_kernels.h"

#include <utility>

namespace collage::runtime {

Result<std::unique_ptr<LibraryKernels>> LibraryKernels::load(std::string library, const LibraryProgram& program,
                                                             int threads) {
  std::unique_ptr<LibraryKernels> kernels(new LibraryKernels(std::move(library), threads));
  Result<std::unique_ptr<LibraryKernel>> first = prepare_library(kernels->library_, program, threads);
  if (!first) return first.status();
  if (Status status = (*first)->load(); !status) return status;
  kernels->first_ = std::move(*first);
  if (!kernels->first_->shares()) kernels->program_ = program;
  return kernels;
}

Result<std::shared_ptr<LibraryKernel>> LibraryKernels::take() const {
  if (!is_first_taken_.exchange(true)) {
    return std::shared_ptr<LibraryKernel>(first_.get(), [this](LibraryKernel*) { is_first_taken_ = false; });
  }
  const bool shares = first_->shares();
  Result<std::unique_ptr<LibraryKernel>> other =
      shares ? first_->share() : prepare_library(library_, program_, threads_);
  if (!other) return other.status();
  if (!shares) {
    if (Status status = (*other)->load(); !status) return status;
  }
  return std::shared_ptr<LibraryKernel>(std::move(*other));
}

}  // namespace collage::runtime
