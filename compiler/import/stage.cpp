// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compiler/import/functions.h"
#include "compiler/import/proto.h"

namespace collage::import {
namespace {

constexpr std::array kHostOperators = {
#define HOST_OPERATOR(name) std::string_view(#name),
#include "compiler/import/host_operators.def"
#undef HOST_OPERATOR
};

}  // namespace

bool runs_on_host(const onnx::NodeProto& node) {
  return domain_of(node.domain()).empty() &&
         std::find(kHostOperators.begin(), kHostOperators.end(), node.op_type()) != kHostOperators.end();
}

bool runs_on_host(const OnnxFile& file, int index) {
  return runs_on_host(file.graph()->node(index));
}

std::string decided_by_run(const NodeView& node) {
  const std::string_view op = node.domain.empty() ? std::string_view(node.op) : "";
  std::string_view what = "the shapes of its results";
  if (op == "If") what = "which branch it takes";
  if (op == "Loop") what = "what its turns are";
  return fmt::format("values of a run decide {}", what);
}

bool has_body(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.has_g(); });
}

}  // namespace collage::import
