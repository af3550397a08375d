// SPDX-License-Identifier: Apache-2.0
// Packages -> plans. An input that begins as a package does is read as it is. Any other is taken for a section of a
// package that is good otherwise, with hashes that fit, since no fuzzer finds those: for the table of shapes where it
// begins as an object of JSON does, else for the plan. It is refused with a reason, or valid, and then it can be
// loaded, or is refused with a reason there; a valid table chooses for any shape, or refuses it with a reason. What was
// loaded runs, where it is of reference kernels whose operands are examined (kernels/check_call.h), and not too long.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "runtime/core/host_capabilities.h"
#include "runtime/exec/executor.h"
#include "runtime/kernels/check_call.h"
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

/// What this build writes into a section of a package of one shape.
std::string good_section(const char* name) {
  const std::string path = folder() + "/good.collage";
  runtime::Plan plan;
  plan.spaces = {{"host"}};
  if (!runtime::write_package(path, {plan, std::make_shared<NoCode>(), 1, "", ""})) fail("no package");
  Result<runtime::PackageFile> file = runtime::PackageFile::open(path, 1);
  if (!file) fail("what was written cannot be read: " + file.message());
  const std::span<const char> section = file->section(name);
  return std::string(section.begin(), section.end());
}

const std::string& about() {
  static const std::string text = good_section("about");
  return text;
}

/// Two specialisations, of which the bytes are the table.
Status write_shapes(const std::string& path, std::span<const char> bytes) {
  static const std::string plan = good_section("plan");
  std::vector<runtime::SectionPieces> sections{{"about", {about()}}, {"shapes", {bytes}}, {"constants", {}}};
  for (size_t i = 0; i < 2; ++i) {
    sections.push_back({runtime::section_of("plan", i), {plan}});
    sections.push_back({runtime::section_of("code", i), {about()}});
    sections.push_back({runtime::section_of("placed", i), {}});
  }
  return runtime::write_package_file(path, sections, runtime::kShapedPackageVersion);
}

Status write(const std::string& path, std::span<const char> bytes) {
  if (!bytes.empty() && bytes[0] == '{') return write_shapes(path, bytes);
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

/// Asks a table for each of its own shapes, and for shapes next to them.
void check_choices(const runtime::ShapeTable& table) {
  for (const runtime::ShapedVariant& variant : table.variants) {
    for (int64_t less : {0, 1}) {
      std::vector<std::optional<runtime::Shape>> shapes(variant.inputs.begin(), variant.inputs.end());
      for (auto& shape : shapes) {
        if (!shape->empty()) shape->front() -= less;
      }
      const auto choice = runtime::choose_variant(table, shapes);
      if (!choice && choice.message().empty()) fail("no variant, without a word");
      if (choice && choice->variant >= table.variants.size()) fail("a variant that does not exist");
    }
  }
}

/// Whether a call is of the table of rules, and computes no more than some million elements.
bool is_small_and_examined(const runtime::Plan& plan, const runtime::HostCall& any) {
  constexpr double kMostWork = 1e7;
  const auto* call = std::get_if<runtime::OpCall>(&any);
  const auto rows = runtime::call_rows();
  if (call == nullptr || std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.op == call->op; }))
    return false;
  double work = 1;
  const auto add = [&](runtime::BufferId id) {
    if (id < 0) return;
    const auto count = static_cast<double>(runtime::element_count(plan.buffers[static_cast<size_t>(id)].tensor.shape));
    work *= std::max(count, 1.0);
  };
  for (const runtime::BufferId id : call->inputs) add(id);
  for (const runtime::BufferId id : call->outputs) add(id);
  return work <= kMostWork;
}

bool may_run(const runtime::Plan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const runtime::Step& step) {
    const auto* host = std::get_if<runtime::HostStep>(&step);
    return host != nullptr && std::all_of(host->calls.begin(), host->calls.end(),
                                          [&](const auto& call) { return is_small_and_examined(plan, call); });
  });
}

void check_package(const Result<Package>& package);

void check(std::span<const char> bytes) {
  const std::string path = folder() + "/input.collage";
  if (!write(path, bytes)) fail("no room for an input");
  const Result<runtime::PackageSet> set = runtime::PackageSet::open(path);
  if (!set) {
    if (set.message().empty()) fail("refused without a word");
    return;
  }
  check_choices(set->shapes());
  for (size_t i = 0; i < set->count(); ++i) check_package(set->load(i));
}

void check_package(const Result<Package>& package) {
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
  if (!loaded || !may_run(package->plan)) return;
  std::vector<runtime::Tensor> inputs;
  for (const runtime::PlanPort& port : package->plan.inputs) {
    const runtime::StoredTensor& tensor = package->plan.buffers[static_cast<size_t>(port.buffer)].tensor;
    inputs.emplace_back(tensor.dtype, tensor.shape);
  }
  const auto results = (*loaded)->run(inputs);
  if (!results && results.message().empty()) fail("not run, without a word");
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
