// SPDX-License-Identifier: Apache-2.0
// Models of other formats, recognised by their content, and the way from each to ONNX.
#pragma once

#include <optional>
#include <string>

#include "runtime/support/diagnostic.h"

namespace collage::request {

struct ForeignModel {
  std::string what;     ///< `is a TensorFlow Lite model`
  std::string command;  ///< one line of a shell that writes the ONNX file
  std::string remark;   ///< what else is needed for it; empty: nothing
};

/// Looks at a file or a folder. Returns nullopt for whatever may be a model text or an ONNX file.
std::optional<ForeignModel> find_foreign_model(const std::string& path);

/// Reports that the path holds such a model, with the way to ONNX. Returns false.
bool report_foreign_model(const std::string& path, const ForeignModel& model, support::Diagnostics& diags);

}  // namespace collage::request
