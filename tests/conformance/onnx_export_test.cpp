// SPDX-License-Identifier: Apache-2.0
// ONNX's operator tests once more: whatever of them is imported, is exported, passes ONNX's checker and its inference
// of types and shapes, and is imported as the same graph again.
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/graph/rewrite.h"
#include "compiler/ir/placement/print.h"
#include "runtime/io/file_bytes.h"

namespace collage {
namespace {

#ifdef COLLAGE_ONNX_TESTDATA
constexpr const char* kFolder = COLLAGE_ONNX_TESTDATA;
#else
constexpr const char* kFolder = nullptr;
#endif

/// How many models came back when this number was last raised. Fewer is a regression.
constexpr int kLeastPassing = 707;

class RoundTrip {
 public:
  RoundTrip()
      : path_(std::filesystem::path(::testing::TempDir()) / ("export_" + std::to_string(::getpid()) + ".onnx")) {}
  ~RoundTrip() { std::filesystem::remove(path_); }

  /// What is wrong; empty: nothing. `is_imported` tells whether there was anything to export.
  std::string run(const std::string& model, bool* is_imported) {
    support::SourceManager sources;
    support::Diagnostics diags(sources);
    std::optional<ir::Graph> graph = import::import_onnx(model, diags);
    *is_imported = graph.has_value();
    if (!graph) return "";
    runtime::Result<exporter::OnnxModel> written = exporter::export_onnx(*graph, {});
    if (!written) return written.message();
    std::string complaint = check(written->bytes);
    if (!complaint.empty()) return complaint;
    runtime::Status status = runtime::write_file(path_.string(), {written->bytes});
    if (!status) return status.message();
    support::Diagnostics back_diags(sources);
    std::optional<ir::Graph> back = import::import_onnx(path_.string(), back_diags);
    if (!back) return back_diags.render();
    std::string there = ir::print(in_order_of_use(*graph)), here = ir::print(in_order_of_use(*back));
    return there == here ? "" : "another graph comes back:\n" + there + here;
  }

 private:
  /// Constants by first use. Importing leaves unread ones behind: operands of what it evaluated.
  static ir::Graph in_order_of_use(const ir::Graph& graph) {
    ir::GraphRewriter rewriter(graph);
    for (ir::NodeId id : graph.node_ids()) rewriter.copy(id);
    return rewriter.finish();
  }
  static std::string check(const std::string& bytes) {
    onnx::ModelProto model;
    if (!model.ParseFromString(bytes)) return "no protobuf";
    try {
      onnx::checker::check_model(model);
      onnx::ShapeInferenceOptions strict{true, 1, true};
      onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path path_;
};

TEST(OnnxExportTest, EveryImportedOperatorTestComesBack) {
  if (kFolder == nullptr) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (std::filesystem::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  int passed = 0;
  RoundTrip round_trip;
  for (const std::filesystem::path& folder : folders) {
    bool is_imported = false;
    std::string why = round_trip.run((folder / "model.onnx").string(), &is_imported);
    EXPECT_EQ(why, "") << folder.filename().string();
    passed += is_imported && why.empty() ? 1 : 0;
  }
  std::printf("%zu tests: %d came back\n", folders.size(), passed);
  EXPECT_GE(passed, kLeastPassing);
}

}  // namespace
}  // namespace collage
