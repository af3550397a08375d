// SPDX-License-Identifier: Apache-2.0
// ONNX files -> graph: refused with a message, or accepted, and then a fixed point of print and parse, before the
// passes and after them.
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "compiler/import/onnx.h"
#include "compiler/passes/pass_manager.h"
#include "tests/fuzz/round_trip.h"

namespace collage::fuzz {
namespace {

/// A folder of this process alone: models may name files of external data beside them.
const std::string& folder() {
  static const std::string path = [] {
    auto made = std::filesystem::temp_directory_path() / ("collage-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(made);
    return made.string();
  }();
  return path;
}

void check(const char* data, size_t size) {
  std::string path = folder() + "/input.onnx";
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(data, static_cast<std::streamsize>(size));
  support::SourceManager sources;
  support::Diagnostics diags(sources);
  auto graph = import::import_onnx(path, diags);
  expect_told(graph.has_value(), diags);
  if (!graph) return;
  expect_round_trip(*graph, {}, folder());
  expect_told(passes::run_passes(*graph, passes::all_passes(), {}, diags).has_value(), diags);
  expect_round_trip(*graph, {}, folder());
}

}  // namespace
}  // namespace collage::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  collage::fuzz::check(reinterpret_cast<const char*>(data), size);
  return 0;
}
