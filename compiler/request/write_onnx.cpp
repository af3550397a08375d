// SPDX-License-Identifier: Apache-2.0
#include "compiler/request/write_onnx.h"

#include <algorithm>
#include <filesystem>

#include "compiler/export/onnx.h"
#include "runtime/core/text.h"
#include "runtime/support/write_file.h"

namespace collage::request {
namespace {

namespace fs = std::filesystem;
using support::Code;

void warn_of_losses(const sema::Model& model, const std::string& path, support::Diagnostics& diags) {
  if (!model.placement.empty()) {
    diags.warning_at(Code::UnsupportedOnnx, path, "holds the graph without its placement: ONNX has no place for one");
  }
  std::vector<ir::NodeId> nodes = model.graph.node_ids();
  auto pinned =
      std::count_if(nodes.begin(), nodes.end(), [&](ir::NodeId id) { return model.graph.node(id).pin.has_value(); });
  if (pinned == 0) return;
  diags.warning_at(Code::UnsupportedOnnx, path, "leaves out {}: ONNX has no place for them",
                   runtime::counted(pinned, "pin"));
}

}  // namespace

bool write_onnx(const sema::Model& model, const std::string& path, support::Diagnostics& diags) {
  warn_of_losses(model, path, diags);
  exporter::OnnxOptions options;
  options.data_file = fs::path(path).filename().string() + ".data";
  runtime::Result<exporter::OnnxModel> onnx = exporter::export_onnx(model.graph, options);
  if (!onnx) return diags.error_at(Code::UnsupportedOnnx, path, "cannot be written as ONNX: {}", onnx.message());
  support::FileGroup files;
  if (!onnx->data.empty()) {
    const std::string data = path + ".data";
    if (!files.add(data, runtime::FileReplacement::write(data, onnx->data), diags)) return false;
  }
  return files.add(path, onnx->bytes, diags) && files.commit(diags);
}

}  // namespace collage::request
