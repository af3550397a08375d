// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/stage.h"

#include <algorithm>
#include <array>

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

bool has_body(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.has_g(); });
}

}  // namespace collage::import
