// SPDX-License-Identifier: Apache-2.0
// The kernels of one library program for many executions: packed weights are shared where the library allows it
// (LibraryKernel::share), otherwise each execution has a kernel of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/libraries/library.h"

namespace collage::runtime {

class LibraryKernels {
 public:
  /// Prepares and loads the first kernel. Keeps the program only if the library shares nothing.
  static Result<std::unique_ptr<LibraryKernels>> load(std::string library, const LibraryProgram& program, int threads);

  /// A kernel that no other thread runs while it is held. It must not outlive this object. Several threads may take one
  /// at once.
  Result<std::shared_ptr<LibraryKernel>> take() const;

 private:
  LibraryKernels(std::string library, int threads) : library_(std::move(library)), threads_(threads) {}

  std::string library_;
  int threads_;
  LibraryProgram program_;
  std::unique_ptr<LibraryKernel> first_;
  mutable std::atomic<bool> is_first_taken_ = false;
};

}  // namespace collage::runtime
