// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/node_checks.h"

#include "compiler/import/functions.h"
#include "compiler/import/names.h"

namespace collage::import {
namespace {

using support::Code;

/// More faults are not reported.
constexpr int kMostFaults = 20;

class NodeChecks {
 public:
  NodeChecks(const std::string& file, support::Diagnostics& diags) : file_(file), diags_(diags) {}

  void check_all(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
    for (const onnx::NodeProto& node : nodes) check(node);
  }

  bool is_good() const { return faults_ == 0; }

 private:
  void check(const onnx::NodeProto& node) {
    NameSet names;
    for (const auto& attribute : node.attribute()) {
      if (!names.insert(attribute.name()).second) {
        report(node, Code::BadAttribute, fmt::format("attribute `{}` is given twice", attribute.name()));
      }
      if (attribute.has_g()) check_all(attribute.g().node());
      for (const auto& graph : attribute.graphs()) check_all(graph.node());
    }
    if (node.op_type() == "If" && domain_of(node.domain()).empty() &&
        !(graph_of(node, "then_branch") && graph_of(node, "else_branch"))) {
      report(node, Code::BadModel, "an If has a `then_branch` and an `else_branch`");
    }
  }
  void report(const onnx::NodeProto& node, Code code, std::string_view fault) {
    if (++faults_ <= kMostFaults) diags_.error_at(code, place_of(node, file_), "{}", fault);
  }

  const std::string& file_;
  support::Diagnostics& diags_;
  int faults_ = 0;
};

}  // namespace

bool check_nodes(const onnx::ModelProto& model, const std::string& file, support::Diagnostics& diags) {
  NodeChecks checks(file, diags);
  checks.check_all(model.graph().node());
  for (const auto& function : model.functions()) checks.check_all(function.node());
  return checks.is_good();
}

}  // namespace collage::import
