// SPDX-License-Identifier: Apache-2.0
// The model as the compiler sees it: a typed SSA dataflow graph of ONNX operators.
//
// Semantics that every pass may rely on:
//   - Operators are pure: no state, no aliasing, no order but data dependence. A node runs once.
//   - Values are dense tensors of known dtype and shape. f32 stays f32; a pass may reorder a reduction, nothing else.
//   - NaN and infinity follow IEEE; maxima and minima of a NaN are NaN, as in NumPy. Zeros may have either sign.
//   - Node ids are a topological order: a node's operands come from nodes with smaller ids, graph inputs or constants.
//     Passes that insert or remove nodes copy the graph (ir/graph/rewrite.h), so ids stay dense.
// Nodes and values are stored in vectors and named by typed ids. Iteration is in id order: deterministic.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/attributes.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "runtime/core/tensor.h"
#include "runtime/support/ids.h"
#include "runtime/support/span.h"

namespace collage::ir {

using runtime::AttrMap;
using runtime::DType;
using runtime::Shape;
using runtime::Tensor;

struct OpDef;

using NodeId = support::Id<struct NodeTag>;
using ValueId = support::Id<struct ValueTag>;

struct TensorType {
  DType dtype = DType::F32;
  Shape shape;

  size_t bytes() const { return static_cast<size_t>(runtime::element_count(shape)) * size_of(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// `f32[1, 3, 224, 224]`; `f32[]` for a scalar.
std::string to_string(const TensorType& type);

/// How a constant is written, and its elements: always there, and made when they are needed (Tensor::is_made).
struct Constant {
  enum class Form { Literal, Splat, Random, File };
  Form form = Form::Literal;
  double splat = 0.0;  ///< Splat
  uint64_t seed = 0;   ///< Random
  double low = -1.0;   ///< Random: its elements are uniform in low … high
  double high = 1.0;
  std::string file;  ///< File: path as written, relative to the model's folder
  std::string key;   ///< File: tensor name in a .safetensors; empty for .npy
  Tensor data;
};

/// `on npu[0]`: a guarantee. `instance` is -1 if none is named.
struct Pin {
  std::string device;
  int instance = -1;
  support::Span span;
};

struct Use {
  NodeId node;
  int operand = 0;

  friend bool operator==(const Use&, const Use&) = default;
};

struct Value {
  std::string name;  ///< without `%`; unique in the graph, never empty
  TensorType type;
  NodeId producer;  ///< invalid: a graph input or a constant
  int result = 0;   ///< which result of the producer
  std::optional<Constant> constant;
  bool is_input = false;
  bool is_output = false;
  std::vector<Use> uses;
  support::Span span;

  bool is_constant() const { return constant.has_value(); }
};

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;   ///< invalid: an optional operand left out
  std::vector<ValueId> outputs;  ///< invalid: an unused optional result
  AttrMap attrs;                 ///< as written: defaults are not filled in
  std::optional<Pin> pin;
  support::Span span;
  std::string origin;  ///< name of the node in the source model, for messages; may be empty
};

class Graph {
 public:
  std::string name = "model";

  size_t node_count() const { return nodes_.size(); }
  size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.slot()]; }
  Node& node(NodeId id) { return nodes_[id.slot()]; }
  const Value& value(ValueId id) const { return values_[id.slot()]; }
  Value& value(ValueId id) { return values_[id.slot()]; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }

  /// Ids 0 … count-1, for range-for.
  std::vector<NodeId> node_ids() const;
  std::vector<ValueId> value_ids() const;

  ValueId add_input(std::string name, TensorType type, support::Span span = {});
  ValueId add_constant(std::string name, Constant constant, support::Span span = {});
  /// Adds a node; operands must exist. One result per name; an empty name creates no value (an unused result). Does not
  /// infer types: see `infer.h`, and `append_inferred` there.
  NodeId add_node(const OpDef& op, std::vector<ValueId> inputs, AttrMap attrs, std::vector<std::string> result_names,
                  std::vector<TensorType> result_types, support::Span span = {});
  void mark_output(ValueId value);

  ValueId find_value(std::string_view name) const;  ///< invalid if there is none
  /// The node named by one of its results.
  NodeId find_node(std::string_view result_name) const;
  /// Name of the first result: reports name a node by it.
  const std::string& node_name(NodeId id) const;
  /// First result that exists.
  ValueId first_output(NodeId id) const;
  /// Returns `base`, or `base.1`, `base.2`, …: the first name that no value has, nor one of the graph `beside`.
  std::string unique_name(std::string_view base, const Graph* beside = nullptr) const;

 private:
  ValueId add_value(Value value);
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::map<std::string, ValueId, std::less<>> by_name_;
};

}  // namespace collage::ir
