// SPDX-License-Identifier: Apache-2.0
// Builds the operators of the graph that together compute one node of the file.
//
//     void swish(Composition& c) {          // y = Swish(x) {alpha = 2.0}  =>  y = Mul(x, Sigmoid(Mul(x, 2.0)))
//       ValueId x = c.in(0);
//       c.result(0, "Mul", {x, c.add("Sigmoid", {c.times(x, c.attr("alpha", 1.0))})});
//     }
//
// The first error is reported at the node; what is added after it is dropped. Operands, attributes and results that the
// writer never asked for are an error, so that no part of a node's meaning gets lost.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/pending_node.h"

namespace collage::import {

class Composition {
 public:
  Composition(PendingNode node, Emitter& emitter) : node_(std::move(node)), emitter_(emitter) {}

  // --- what the node has ---

  bool has(size_t i);
  ir::ValueId in(size_t i);  ///< invalid: left out
  size_t input_count() const { return node_.inputs.size(); }
  /// Returns whether result `i` is named and read.
  bool wants(size_t i) const;
  bool has_attr(std::string_view name);
  int64_t attr(std::string_view name, int64_t fallback);
  double attr(std::string_view name, double fallback);
  std::string attr(std::string_view name, const char* fallback);
  /// The attribute as it is; null if it is left out.
  const runtime::AttrValue* any_attr(std::string_view name);
  /// The node's attributes of these names, for an operator that has them too.
  ir::AttrMap attrs_named(std::initializer_list<std::string_view> names);
  /// Accepts an attribute that has no effect on results.
  void ignore_attr(std::string_view name) { used_attrs_.insert(std::string(name)); }
  const std::string& op() const { return node_.op; }

  // After an error, values are invalid: they have no dimensions and dtype f32.
  ir::Shape shape(ir::ValueId value) const { return value.is_valid() ? emitter_.type(value).shape : ir::Shape{}; }
  size_t rank(ir::ValueId value) const { return shape(value).size(); }
  /// Dimension `i`, from the end if it is negative; 0 if there is none.
  int64_t dim(ir::ValueId value, int64_t i) const;
  ir::DType dtype(ir::ValueId value) const { return value.is_valid() ? emitter_.type(value).dtype : ir::DType::F32; }
  /// Returns the elements of a constant; null for other values.
  const ir::Tensor* constant(ir::ValueId value) const { return emitter_.constant(value); }

  // --- errors ---

  bool is_good() const { return is_good_; }
  /// Notes that an error was reported elsewhere.
  void fail() { is_good_ = false; }
  /// Reports that the node contradicts its definition. Returns false.
  bool wrong(const std::string& what);
  /// Reports that the graph cannot express it. Returns false.
  bool refuse(const std::string& what);
  /// Reports that what must be known before a run is no constant. Returns false.
  bool undecided(const std::string& what);
  /// Returns whether all of it is well; otherwise reports `what`.
  bool need(bool holds, const std::string& what) { return is_good_ && (holds || wrong(what)); }
  bool need_rank(size_t operand, size_t least, size_t most);

  // --- what is built ---

  ir::ValueId add(std::string_view op, std::vector<ir::ValueId> inputs, ir::AttrMap attrs = {});
  /// Adds the operator that gives result `i`. If nothing reads that, it is an operator like any other.
  ir::ValueId result(size_t i, std::string_view op, std::vector<ir::ValueId> inputs, ir::AttrMap attrs = {});
  /// Makes a value that exists already result `i`.
  void give(size_t i, ir::ValueId value) {
    if (wants(i)) result(i, "Identity", {value});
    ignore_result(i);
  }
  void ignore_result(size_t i) { given_.insert(i); }
  /// Adds an operator with several results, unnamed.
  std::vector<ir::ValueId> add_many(std::string_view op, std::vector<ir::ValueId> inputs, ir::AttrMap attrs,
                                    size_t results);

  ir::ValueId tensor(ir::Tensor value);
  ir::ValueId ints(const runtime::Ints& values);
  /// A scalar of the element type of `like`.
  ir::ValueId scalar(double value, ir::ValueId like) { return scalar(value, dtype(like)); }
  ir::ValueId scalar(double value, ir::DType dtype);
  /// 0, 1, …, count - 1 as i64.
  ir::ValueId range(int64_t count);

  ir::ValueId times(ir::ValueId x, double factor);  ///< `x` itself for the factor 1
  ir::ValueId plus(ir::ValueId x, double term) { return add("Add", {x, scalar(term, x)}); }
  ir::ValueId cast(ir::ValueId x, ir::DType to);  ///< `x` itself if it has this type
  ir::ValueId reshape(ir::ValueId x, const ir::Shape& shape);
  ir::ValueId transpose(ir::ValueId x, const runtime::Ints& perm);
  ir::ValueId expand(ir::ValueId x, const ir::Shape& shape);
  ir::ValueId slice(ir::ValueId x, int64_t axis, int64_t from, int64_t to, int64_t step = 1);
  ir::ValueId concat(std::vector<ir::ValueId> parts, int64_t axis);
  /// ReduceMean and the like, over these axes, which stay with dimension 1.
  ir::ValueId reduce(std::string_view op, ir::ValueId x, const runtime::Ints& axes);
  /// All axes of `x` from `axis` on.
  runtime::Ints axes_from(ir::ValueId x, int64_t axis) const;

  /// Attributes of the operators that are built.
  static ir::AttrMap attrs(std::string_view name, runtime::AttrValue value);
  ir::AttrMap shape_attrs(const ir::Shape& shape) const;

  /// Returns whether the node was written, all of it.
  bool finish();

  Emitter& emitter() { return emitter_; }
  const PendingNode& node() const { return node_; }

 private:
  PendingNode node_;
  Emitter& emitter_;
  bool is_good_ = true;
  std::set<std::string, std::less<>> used_attrs_;
  std::set<size_t> used_inputs_;
  std::set<size_t> given_;
};

}  // namespace collage::import
