// SPDX-License-Identifier: Apache-2.0
// Libraries that run whole partitions in host memory. A library gets a program once, decides there how to run it
// (fusion, layouts, packed weights), and then runs it any number of times.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/core/tensor.h"
#include "runtime/plan/library_program.h"

namespace collage::runtime {

/// One of the calls that a run of a program makes.
struct LibraryPart {
  std::string text;         ///< the primitive, how it is implemented, what was fused into it; no line end
  int op = -1;              ///< operator of the program whose result it makes; -1: of none, it changes a layout
  bool is_at_load = false;  ///< made once; in a run it takes no time
};

/// What a kernel keeps of constants once it is loaded.
struct KeptConstants {
  std::vector<Tensor> as_given{};  ///< unchanged; other kernels may keep the same elements
  size_t packed = 0;               ///< bytes of copies that only this kernel and those that share with it have
  bool is_least = false;           ///< the copies may be larger: they count as large as what they are made of
};

/// A program as one library runs it.
class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;

  /// Packs weights and allocates scratch memory. Called once, before the first run. The compiler prepares kernels
  /// without loading them.
  virtual Status load() = 0;
  /// Whether `share` makes kernels.
  virtual bool shares() const { return false; }
  /// Another kernel of the program, loaded, that shares what no run changes with this one: it has scratch memory of its
  /// own, so that both may run at once. Only after `load`; may be called while this one runs.
  virtual Result<std::unique_ptr<LibraryKernel>> share() const { return Status::error("the library shares nothing"); }
  /// `inputs` and `outputs` in the order of the program's, each in the layout that the program gives the value and
  /// aligned to kTensorAlignment. No input overlaps an output. Must not be called concurrently; different kernels may
  /// run at once.
  virtual Status run(std::span<std::byte* const> inputs, std::span<std::byte* const> outputs) = 0;
  /// What it keeps of constants once it is loaded; known before. nullopt: the library does not tell.
  virtual std::optional<KeptConstants> kept() const { return std::nullopt; }
  /// The calls that a run makes, in order.
  virtual std::vector<LibraryPart> parts() const = 0;
  /// Their texts, for `--emit=plan` and tests.
  std::vector<std::string> describe() const;
  /// From now on each run leaves the wall time of each of its parts there, in seconds; null: no longer. The list stays
  /// empty where the library does not tell when its calls begin.
  void time_parts(std::vector<double>* seconds) { part_seconds_ = seconds; }

 protected:
  std::vector<double>* part_seconds() const { return part_seconds_; }

 private:
  std::vector<double>* part_seconds_ = nullptr;
};

/// Decides how `library` runs a program on `threads` threads of the one pool, without touching weights. The failure
/// says what the library cannot do, or that this build does not have it. Expects nothing of the program: it may come
/// from a damaged package.
Result<std::unique_ptr<LibraryKernel>> prepare_library(std::string_view library, const LibraryProgram& program,
                                                       int threads);

/// Libraries of this build, in the order of library_list.def.
std::vector<std::string_view> library_names();

/// Version and instruction set of the loaded library, which may differ from the one at build time: `2.6.3 isa 1023
/// HASH`. Empty for a library that this build lacks.
std::string library_version(std::string_view library);

bool has_library(std::string_view library);

}  // namespace collage::runtime
