// SPDX-License-Identifier: Apache-2.0
#include "compiler/measure/candidate_text.h"

#include <map>

#include "compiler/ir/op_def.h"
#include "compiler/ir/print.h"
#include "runtime/core/layout.h"

namespace collage::measure {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

/// A constant of at most this many floats determines shapes or bounds; a larger one is a weight.
constexpr int64_t kSmallFloats = 16;
/// At most this many integers are written out; larger tables become zeros, which are valid indices everywhere.
constexpr int64_t kSmallIntegers = 4096;

class CandidateGraph {
 public:
  CandidateGraph(const Graph& graph, const ir::Partition& candidate) : from_(graph), candidate_(candidate) {}

  std::string text() {
    to_.name = "candidate";
    for (const ir::BoundaryValue& input : candidate_.inputs) {
      map_[input.value] = to_.add_input(next_name(), from_.value(input.value).type);
    }
    for (NodeId node : candidate_.nodes) add_node(node);
    ir::Partition partition;
    partition.name = "p0";
    partition.backend = candidate_.backend;
    partition.instance = candidate_.instance;
    for (const std::string& rule : ir::rule_names(candidate_)) partition.matches.push_back({rule});
    partition.nodes = to_.node_ids();
    for (const ir::BoundaryValue& input : candidate_.inputs) {
      partition.inputs.push_back({map_.at(input.value), input.format});
      convert(map_.at(input.value), ir::kHostPlain, input.format);
    }
    for (const ir::BoundaryValue& output : candidate_.outputs) {
      partition.outputs.push_back({map_.at(output.value), output.format});
      to_.mark_output(map_.at(output.value));
      convert(map_.at(output.value), output.format, ir::kHostPlain);
    }
    if (candidate_.outputs.empty()) {  // its results have no reader, but a model needs an output
      ValueId last = to_.first_output(partition.nodes.back());
      to_.mark_output(last);
      partition.outputs.push_back({last, ir::kHostPlain});
    }
    placement_.partitions.push_back(std::move(partition));
    return ir::print(to_, placement_);
  }

 private:
  std::string next_name() { return "v" + std::to_string(names_++); }

  void convert(ValueId value, const ir::Format& from, const ir::Format& to) {
    if (from == to) return;
    std::string name = to_.value(value).name + ".converted";
    placement_.conversions.push_back({value, from, to, {}, std::move(name), {}});
  }

  void add_node(NodeId id) {
    const ir::Node& node = from_.node(id);
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      if (input.is_valid() && map_.count(input) == 0) add_constant(input);
      inputs.push_back(input.is_valid() ? map_.at(input) : ValueId());
    }
    std::vector<std::string> names;
    std::vector<ir::TensorType> types;
    for (ValueId output : node.outputs) {
      names.push_back(output.is_valid() ? next_name() : "");
      types.push_back(output.is_valid() ? from_.value(output).type : ir::TensorType{});
    }
    NodeId made = to_.add_node(*node.op, std::move(inputs), node.attrs, std::move(names), std::move(types));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].is_valid()) map_[node.outputs[i]] = to_.node(made).outputs[i];
    }
  }

  /// Shares the tensor instead of copying it; of a large one only the type is printed.
  void add_constant(ValueId id) {
    map_[id] = to_.add_constant(next_name(), untrained_constant(*from_.value(id).constant));
  }

  const Graph& from_;
  const ir::Partition& candidate_;
  Graph to_;
  ir::Placement placement_;
  std::map<ValueId, ValueId> map_;
  int names_ = 0;
};

}  // namespace

bool tells_elements(const runtime::Tensor& constant) {
  return constant.count() <= (runtime::is_float(constant.dtype()) ? kSmallFloats : kSmallIntegers);
}

ir::Constant untrained_constant(const ir::Constant& constant) {
  ir::Constant made;
  made.data = constant.data;
  if (tells_elements(made.data)) return made;
  const bool can_be_random = runtime::is_float(made.data.dtype()) && runtime::is_arithmetic(made.data.dtype());
  made.form = can_be_random ? ir::Constant::Form::Random : ir::Constant::Form::Splat;
  made.seed = 1;
  return made;
}

std::string candidate_text(const Graph& graph, const ir::Partition& candidate) {
  return CandidateGraph(graph, candidate).text();
}

}  // namespace collage::measure
