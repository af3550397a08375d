// SPDX-License-Identifier: Apache-2.0
// A compiled model as one file, `.collage`: what a process needs to run it without the compiler.
//
//     about       JSON: versions, the processor that the code needs
//     plan        CBOR: plan/plan.h by the names of its fields, and where kernels begin in the code
//     code        machine code, position-independent
//     placed      the placed model as text, for people
//     constants   the host's constant region as it lies in memory, then other tensors: each at a multiple of 4096
//
// One of several shapes has a plan, code and placed model for each specialisation, and one section of constants for
// all, in which what several need stands once:
//
//     about       JSON, as above: of all specialisations together
//     shapes      JSON: plan/shape_table.h, the shapes of all inputs and outputs, and what may be padded
//     plan.0, code.0, placed.0     of the first specialisation; then plan.1, …
//     constants
//
// One for the hosts of a cluster has a plan, code and constants for each of them: a process maps and reads those of its
// host, and nothing of the others:
//
//     about       JSON, as above, and `hosts`: for each the name and bytes of its sections and memory
//     placed      the placed model of all hosts
//     plan.0, code.0, constants.0     the part of the first host (PlanPart); then plan.1, …
//
// The file is mapped, and constants are used where they are: two processes share them, and so do specialisations.
// package_file.h describes the frame around these sections.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/exec/code.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shape_table.h"
#include "runtime/plan/usual_threads.h"

namespace collage::runtime {

struct Package {
  Plan plan;
  std::shared_ptr<const Code> code;
  int threads = 1;               ///< that it was compiled for
  std::string placed;            ///< the placed model as text; may be empty
  std::string about;             ///< JSON; of a package that was read
  bool has_own_threads = false;  ///< `threads` were asked for

  /// Returns the threads of a run for which nobody names a number: all that were asked for, else one for a plan of
  /// little work.
  int run_threads() const { return has_own_threads ? threads : usual_threads(plan, threads); }
};

/// Writes beside `path`, then renames. What the processor must have is taken from the code, versions from this process.
Status write_package(const std::string& path, const Package& package);

/// At most so many specialisations are in a package.
inline constexpr size_t kMostShapes = 128;

/// Specialisations of one model as one package, in the order of the variants of the table, which is valid. Fails where
/// the ports of a plan are not those of the table.
Status write_packages(const std::string& path, const std::vector<Package>& packages, const ShapeTable& shapes);

/// At most so many hosts.
inline constexpr size_t kMostHosts = 1024;

/// The parts of a plan for the hosts of a cluster as one package. Fails where they are not all parts of one plan, in
/// the order of their hosts. `placed` is that of the first.
Status write_cluster_package(const std::string& path, const std::vector<Package>& parts);

/// Fails with the reason, which does not name the file, for anything but a whole package of one shape and one host that
/// this machine can run. In a package that was read, the plan is valid as far as its numbers show it (plan/validate.h),
/// and its kernels are in its code. It is a program none the less: its code does with the process what it likes.
Result<Package> read_package(const std::string& path);

class PackageFile;

/// A package of one shape or of several, or for several hosts: each specialisation, or part, is read when it is needed.
/// Threads may share it.
class PackageSet {
 public:
  /// Fails as read_package. What a specialisation has in its plan and code is not examined.
  static Result<PackageSet> open(const std::string& path);

  /// False: there is one, and `shapes` is empty.
  bool is_shaped() const { return !shapes_.variants.empty(); }
  /// What `load` takes: specialisations, or the parts of hosts.
  size_t count() const { return is_shaped() ? shapes_.variants.size() : hosts_; }
  /// False: there is one host.
  bool is_cluster() const { return is_for_cluster_; }
  size_t hosts() const { return hosts_; }
  /// Fails, and says what runs it, where it is for several hosts.
  Status check_one_host() const;
  const ShapeTable& shapes() const { return shapes_; }
  const std::string& about() const { return about_; }
  /// The number of threads that the package was compiled for.
  int threads() const { return threads_; }
  /// Equal for packages that are equal; found without reading what is in them.
  const std::string& digest() const;
  /// The placed model of a specialisation, or of all hosts.
  std::string placed(size_t index) const;
  /// Reads a specialisation, or the part of a host by its number, anew with each call. Fails as read_package, also
  /// where it has other ports than the table says. Sections of other hosts are not touched.
  Result<Package> load(size_t index) const;

 private:
  PackageSet() = default;

  std::shared_ptr<const PackageFile> file_;
  ShapeTable shapes_;
  std::string about_;
  size_t hosts_ = 1;
  bool is_for_cluster_ = false;
  int threads_ = 1;
  bool has_own_threads_ = false;
  std::vector<std::string> features_;
};

/// Whether bytes are the beginning of a package, of whatever version.
bool looks_like_package(std::string_view bytes);

}  // namespace collage::runtime
