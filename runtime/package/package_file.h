// SPDX-License-Identifier: Apache-2.0
// The frame of a package: named sections, each with its hash.
//
//     0    12   89 "COLLAGE" 0d 0a 1a 0a: no text, and not what a transfer as text would leave of it
//     12    4   version of the format, little-endian, as the numbers below
//     16    8   bytes of the file
//     24    8   bytes of the table
//     32   32   hash of the table, hexadecimal
//     64        the table, JSON: [{"name", "offset", "bytes", "hash"}], then the sections
//
// A file is read by the version that wrote it, and by no other: kPackageVersion changes with whatever changes the
// meaning of a package, the plan's fields and the interface of compiled kernels among it (plan/plan.h,
// core/external_functions.h). Packages of one shape, of several shapes, and of a cluster's hosts are versions that
// change together: a program that knows the first alone refuses the others as such.
//
// Opening a package for hosts reads only the frame; each section is read when it is asked for, and the others are
// neither mapped nor read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/io/descriptor.h"

namespace collage::runtime {

inline constexpr std::string_view kPackageMagic =
    "\x89"
    "COLLAGE\r\n\x1a\n";
inline constexpr uint32_t kPackageVersion = 7;
inline constexpr uint32_t kShapedPackageVersion = 8;
inline constexpr uint32_t kClusterPackageVersion = 9;
/// Alignment of sections, and of tensors in them: a page.
inline constexpr size_t kPageBytes = 4096;

struct SectionPieces {
  std::string name;
  std::vector<std::span<const char>> pieces;  ///< one after another
};

/// `plan.2`: a section of one specialisation, or one host, of several.
inline std::string section_of(const std::string& name, size_t number) {
  return name + "." + std::to_string(number);
}

/// Writes beside `path`, then renames. Every section begins at a multiple of kPageBytes.
Status write_package_file(const std::string& path, const std::vector<SectionPieces>& sections,
                          uint32_t version = kPackageVersion);

/// A package file in memory, read-only, with sections as their hashes say.
class PackageFile {
 public:
  /// Hashes with `threads` threads. Fails for a file of another kind or version, and where a byte is not as written.
  static Result<PackageFile> open(const std::string& path, int threads);

  uint32_t version() const { return version_; }
  /// Equal for files that are equal.
  const std::string& table_hash() const { return table_hash_; }
  bool has(std::string_view name) const { return sections_.find(name) != sections_.end(); }
  /// Maps a section of a package for hosts, and compares it with its hash. Others are mapped already.
  Status read(std::string_view name);
  /// Empty if there is none of this name, or it was not read. Lives as long as `memory_of`.
  std::span<const char> section(std::string_view name) const;
  std::shared_ptr<const std::byte> memory_of(std::string_view name) const;

 private:
  struct Section {
    size_t offset = 0, bytes = 0;
    std::string hash{};
    std::shared_ptr<const std::byte> first{};  ///< shares what keeps it; null: not read, or empty
  };

  Status add_rows(std::span<const char> table_text, size_t file_bytes);
  Status check(const std::string& name, const Section& section) const;

  uint32_t version_ = kPackageVersion;
  int threads_ = 1;
  std::string table_hash_;
  std::shared_ptr<const Descriptor> file_;  ///< null where all sections were mapped at once
  std::map<std::string, Section, std::less<>> sections_;
};

}  // namespace collage::runtime
