// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/node_checks.h"

#include <algorithm>
#include <string_view>

#include "compiler/import/functions.h"
#include "compiler/import/names.h"

namespace collage::import {
namespace {

using support::Code;

class NodeChecks {
 public:
  NodeChecks(const std::string& file, support::Diagnostics& diags) : file_(file), diags_(diags) {}

  void check_all(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (const onnx::NodeProto& node : nodes) check(node);
  }

  bool is_good() const { return is_good_; }

 private:
  void check(const onnx::NodeProto& node) {
    NameSet names;
    for (const auto& attribute : node.attribute()) {
      if (!names.insert(attribute.name()).second) {
        is_good_ = diags_.error_at(Code::BadAttribute, place_of(node, file_), "attribute `{}` is given twice",
                                   attribute.name());
      }
      if (attribute.has_g()) check_all(attribute.g().node());
      for (const auto& graph : attribute.graphs()) check_all(graph.node());
    }
    if (node.op_type() == "If" && domain_of(node.domain()).empty() &&
        !(graph_of(node, "then_branch") && graph_of(node, "else_branch"))) {
      is_good_ =
          diags_.error_at(Code::BadModel, place_of(node, file_), "an If has a `then_branch` and an `else_branch`");
    }
  }

  const std::string& file_;
  support::Diagnostics& diags_;
  bool is_good_ = true;
};

}  // namespace

bool check_nodes(const onnx::ModelProto& model, const std::string& file, support::Diagnostics& diags) {
  NodeChecks checks(file, diags);
  checks.check_all(model.graph().node());
  for (const auto& function : model.functions()) checks.check_all(function.node());
  return checks.is_good();
}

}  // namespace collage::import
