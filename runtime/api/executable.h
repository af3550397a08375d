// SPDX-License-Identifier: Apache-2.0
// What a `collage_executable` of the C interface is. The compiler library makes it, the runtime library runs it: both
// are of the same version exactly (collage_build checks that), since this is no part of the ABI.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "include/collage/runtime.h"
#include "runtime/cluster/local_hosts.h"
#include "runtime/core/tensor.h"
#include "runtime/exec/code.h"
#include "runtime/exec/recovery.h"
#include "runtime/package/package.h"
#include "runtime/plan/plan.h"

namespace collage::runtime {

/// A port with the memory that it points to.
class NamedPort {
 public:
  NamedPort(std::string name, DType dtype, Shape shape);
  NamedPort(const NamedPort&) = delete;
  NamedPort& operator=(const NamedPort&) = delete;

  const collage_port* port() const { return &port_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }

 private:
  std::string name_;
  DType dtype_;
  Shape shape_;
  collage_port port_{};
};

/// Threads of the host that a model was compiled for.
struct CompiledThreads {
  int count = 1;
  bool are_asked = false;  ///< by the user: a plan of little work has as many
};

/// A model compiled for one shape. What is public never changes after construction.
class CompiledModel {
 public:
  CompiledModel(Plan plan, std::shared_ptr<const Code> code, CompiledThreads threads, std::string placed);
  /// Expects the parts of a plan for several hosts, which all run in this process, in their order, with constants
  /// already loaded.
  CompiledModel(std::vector<HostPart> parts, CompiledThreads threads, std::string placed);

  /// The loaded plan, and what takes over where a device is lost; one for all sessions of so many threads. It is kept
  /// as long as one of them. With several hosts each session has all parts loaded for itself.
  Result<std::shared_ptr<Recovery>> recovery(int threads) const;
  /// Returns the threads of a run for which nobody names a number.
  int run_threads() const;
  /// Writes a package.
  Status save(const std::string& path) const;

  Plan plan;  ///< of several hosts that of the first
  std::shared_ptr<const Code> code;
  std::vector<HostPart> parts{};  ///< of all hosts; empty: there is one
  CompiledThreads threads{};
  std::string placed;  ///< the placed model as text, for its package
  std::vector<std::unique_ptr<const NamedPort>> inputs, outputs;

 private:
  mutable std::mutex mutex_;
  mutable std::map<int, std::weak_ptr<Recovery>> loaded_;  ///< by threads
};

/// A package of several shapes. Each specialisation is read when it is first asked for, and kept. Threads may share it.
class ShapedModel {
 public:
  explicit ShapedModel(PackageSet set) : set_(std::move(set)), read_(set_.count()) {}

  const ShapeTable& shapes() const { return set_.shapes(); }
  const std::string& name(size_t index) const { return names_[index]; }
  /// Fails where the package is damaged there, and where there is no such specialisation.
  Result<std::shared_ptr<const CompiledModel>> specialisation(size_t index) const;
  /// Writes all of them.
  Status save(const std::string& path) const;

 private:
  std::vector<std::string> names() const;

  PackageSet set_;
  std::vector<std::string> names_ = names();
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const CompiledModel>> read_;  ///< null: not yet
};

}  // namespace collage::runtime

struct collage_executable {
  std::shared_ptr<const collage::runtime::CompiledModel> compiled;  ///< of several shapes the first
  std::shared_ptr<const collage::runtime::ShapedModel> shaped{};    ///< null: of one shape
};
