// SPDX-License-Identifier: Apache-2.0
// What the compiler knows about an operator. One `OpDef` per row of `ops.def`, each defined in a file of `ops/`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "compiler/ir/ops/attributes.h"
#include "compiler/ir/ops/cut_family.h"
#include "compiler/ir/ops/row_rule.h"

namespace collage::ir {

/// The fusion kinds of RFC 62, ordered: a sub-graph has the greatest kind of its nodes.
enum class FusionKind { Elementwise, Broadcast, Injective, Reduce, OutFusable, Opaque };

std::string_view name_of(FusionKind kind);

/// The interface of shape functions. A shape function sets the type of every output, or reports one error and returns
/// false.
class InferContext {
 public:
  virtual ~InferContext() = default;
  virtual size_t input_count() const = 0;
  virtual bool has_input(size_t i) const = 0;
  /// Type of a present operand.
  virtual const TensorType& input(size_t i) const = 0;
  /// Returns the elements of operand `i` if it is a constant, else null.
  virtual const Tensor* constant(size_t i) const = 0;
  virtual AttrView attrs() const = 0;
  virtual size_t output_count() const = 0;
  virtual void set_output(size_t i, TensorType type) = 0;
  /// Reports an error at operand `i`. Returns false.
  virtual bool shape_error(size_t i, std::string message) = 0;
  virtual bool type_error(size_t i, std::string message) = 0;
  virtual bool attr_error(std::string_view attr, std::string message) = 0;
  /// Reports that operand `i` determines a shape and is not constant. Returns false.
  virtual bool not_constant(size_t i) = 0;
};

/// Arithmetic work of one node. (The bytes that it reads and writes need no function.)
struct Work {
  double macs = 0;   ///< multiply-accumulates of contractions
  double flops = 0;  ///< all floating-point operations; a multiply-accumulate is two
};

struct WorkArgs {
  std::span<const TensorType> inputs;  ///< absent operands have an empty f32 scalar type
  std::span<const TensorType> outputs;
  AttrView attrs;
};

struct OpDef {
  static constexpr int kVariadic = 1 << 20;

  std::string_view name = {};
  int min_inputs = 1;
  int max_inputs = 1;  ///< kVariadic: any number
  int min_outputs = 1;
  int max_outputs = 1;
  std::vector<AttrDef> attrs = {};
  FusionKind kind = FusionKind::Opaque;
  bool commutative = false;  ///< in the first two operands (in all, if variadic)
  /// An element of the only result depends on the operands' elements at its place alone, to which they are broadcast.
  bool is_pointwise = false;
  /// How it is cut, and what it does to rows: a pointwise operator need not say it.
  CutFamily cut = CutFamily::None;
  Rows rows = {};
  bool (*infer)(InferContext&) = nullptr;
  Work (*work)(const WorkArgs&) = nullptr;
  std::string_view doc = {};  ///< one line, with an example in the model language

  const AttrDef* find_attr(std::string_view attr) const;
};

/// Finds an operator by name. Returns null if there is none.
const OpDef* find_op(std::string_view name);
/// Sorted by name.
std::vector<const OpDef*> all_ops();
std::vector<std::string> op_names();

/// Returns how many of the first operands may be exchanged.
size_t commuting_operands(const OpDef& op, size_t operands);

/// Work of a node of a graph.
Work work_of(const Graph& graph, NodeId node);
/// Bytes that a node reads (constants included) and writes.
double bytes_of(const Graph& graph, NodeId node);

}  // namespace collage::ir
