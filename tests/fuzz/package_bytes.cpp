// SPDX-License-Identifier: Apache-2.0
// Packages -> plans. An input that begins as a package does is read as it is. Any other is taken for the section `plan` of a package
// that is good otherwise, with hashes that fit, since no fuzzer finds those: refused with a reason, or valid, and then it can
// be loaded, or is refused with a reason there.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "runtime/core/host_capabilities.h"
#include "runtime/exec/executor.h"
#include "runtime/package/package.h"
#include "runtime/package/package_file.h"
#include "tests/fuzz/check_input.h"

namespace collage::fuzz {
namespace {

using runtime::Package;
using runtime::Result;
using runtime::Status;

struct NoCode : runtime::Code {
  runtime::KernelFunction find(std::string_view) const override { return nullptr; }
};

/// A folder of this process alone.
const std::string& folder() {
  static const std::string path = [] {
    auto made = std::filesystem::temp_directory_path() / ("collage-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    return made.string();
  }();
  return path;
}

/// What this build writes into the section `about`.
const std::string& about() {
  static const std::string text = [] {
    const std::string path = folder() + "/good.collage";
    runtime::Plan plan;
    plan.spaces = {{"host"}};
    if (!runtime::write_package(path, {plan, std::make_shared<NoCode>(), 1, "", ""})) fail("no package");
    Result<runtime::PackageFile> file = runtime::PackageFile::open(path, 1);
    if (!file) fail("what was written cannot be read: " + file.message());
    const std::span<const char> section = file->section("about");
    return std::string(section.begin(), section.end());
  }();
  return text;
}

Status write(const std::string& path, std::span<const char> bytes) {
  if (!runtime::looks_like_package({bytes.data(), bytes.size()})) {
    constexpr size_t kConstantBytes = 64 * runtime::kPageBytes;
    static const std::string constants(kConstantBytes, '\1');
    const std::span<const char> code(about());  // some bytes; none of them is run
    return runtime::write_package_file(
        path, {{"about", {about()}}, {"plan", {bytes}}, {"code", {code}}, {"placed", {}}, {"constants", {constants}}});
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return Status::ok();
}

void check(std::span<const char> bytes) {
  const std::string path = folder() + "/input.collage";
  if (!write(path, bytes)) fail("no room for an input");
  const Result<Package> package = runtime::read_package(path);
  if (!package) {
    if (package.message().empty()) fail("refused without a word");
    return;
  }
  // A plan may ask for as much memory as a model may take.
  constexpr uint64_t kMostBytes = uint64_t{1} << 26;
  uint64_t wanted = 0;
  for (const runtime::MemorySpace& space : package->plan.spaces) {
    if (space.arena_bytes > kMostBytes || space.constant_bytes > kMostBytes) return;
    wanted += space.arena_bytes + space.constant_bytes;
    if (wanted > kMostBytes) return;
  }
  const auto loaded = runtime::Executor::load(package->plan, *package->code, 1);
  if (!loaded && loaded.message().empty()) fail("not loaded, without a word");
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
