// SPDX-License-Identifier: Apache-2.0
// Turns a program into a schedule. The lowerings (lowerings.def) say which primitive computes an operator; the builder
// keeps track of where each value is, adds reorders only where layouts differ, and appends the elementwise operators
// that follow to the primitive as post-ops, as many as oneDNN accepts.
//
//     Conv, Add r, Relu        =>   convolution + sum r + relu
//     Conv, Sigmoid, Mul       =>   convolution + swish
//     ConvTranspose, Relu      =>   deconvolution; eltwise      (fused it would fall to a slow implementation)
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/status.h"
#include "runtime/libraries/onednn/links.h"
#include "runtime/libraries/onednn/schedule.h"

namespace collage::runtime::onednn {

/// The primitive that computes an operator.
struct Head {
  std::string name;
  /// Makes it for a layout of the result (or any); empty if oneDNN has no implementation. `attr` holds the post-ops.
  std::function<dnnl::primitive_desc_base(const Desc& result, const dnnl::primitive_attr& attr)> make;
  /// Its operands, in the layouts that it expects.
  std::function<std::vector<Argument>(const dnnl::primitive_desc_base& primitive)> operands;
  Dims dims;                   ///< of the result, as the primitive sees it
  bool fuses = true;           ///< whether other operators may become its post-ops
  bool accumulates = false;    ///< whether it can add to the contents of the result; oneDNN's pools ignore the request
  bool reference_ok = false;   ///< accepts oneDNN's reference implementation if there is no other
  std::optional<Desc> result;  ///< the only acceptable layout of the result
};

class Builder {
 public:
  explicit Builder(const LibraryProgram& program);

  /// The failure names the operator that oneDNN cannot do, and why.
  Result<Schedule> build();

  // For the lowerings.
  const LibraryProgram& program() const { return program_; }
  const LibraryOp& op(int index) const { return program_.ops[static_cast<size_t>(index)]; }
  const LibraryValue& value(int id) const { return program_.values[static_cast<size_t>(id)]; }
  const Shape& shape(int id) const { return value(id).shape; }
  /// Operand `i` of an operator, -1 where it is absent.
  int input(int index, size_t i) const;
  /// Data of a constant operand, or an empty handle.
  Tensor constant(int id) const { return id < 0 ? Tensor() : value(id).constant; }

  /// The current place of a value.
  const Stored& stored(int id) const { return stored_[static_cast<size_t>(id)]; }
  /// The value with other dimensions of the same count: in place if possible, otherwise made plain first.
  Stored viewed(int id, const Dims& dims);
  /// A tensor in another layout, through a reorder if it differs.
  Stored converted(const Stored& from, const Desc& to);
  /// The same in separate memory, which the caller may overwrite.
  Stored copied(const Stored& from, const Desc& to);
  Stored plain(int id) { return converted(stored(id), plain_desc(shape(id))); }
  /// New constant data.
  Stored add_constant(Tensor data);

  /// The operator's result is another view of memory that exists.
  void define_view(int index, Stored memory);
  /// The operator's results are these, one for each that it has.
  void define_views(int index, const std::vector<Stored>& memory);
  /// Schedules the primitive of operator `index` with what can be fused into it.
  Status emit(int index, const Head& head);

 private:
  /// An operator after the head that may become post-ops of it.
  struct Follower {
    int index = -1;
    Link link;
  };
  struct Attempt {
    dnnl::primitive_desc_base primitive;
    std::vector<Argument> operands;  ///< of the post-ops
    int addend = -1;                 ///< value that the result is accumulated into; -1: none
    std::string text;
  };

  Status lower(int index);
  std::vector<Follower> followers(int index) const;
  std::optional<Attempt> with_followers(const Head& head, const Shape& whole, const std::vector<Follower>& chain,
                                        size_t count);
  std::optional<Attempt> attempt(const Head& head, const Shape& whole, const std::vector<Link>& links, bool with_sum);
  std::optional<Dims> operand_dims(int operand, const Shape& whole, const Dims& result) const;
  bool is_available(int id) const { return stored_[static_cast<size_t>(id)].slot >= 0; }
  bool dies(int id) const;
  void consume(int index);
  void define(int id, Stored memory);
  Desc boundary_desc(int id) const;
  int add_slot(Slot slot);
  void add_reorder(const Stored& from, const Stored& to, bool at_load);
  void finish_outputs();

  const LibraryProgram& program_;
  Schedule schedule_;
  std::vector<Stored> stored_;       ///< by value
  std::vector<int> uses_;            ///< by value: operands of operators not lowered yet; outputs have one more
  std::vector<int> reader_;          ///< by value: an operator that reads it
  std::vector<bool> is_done_;        ///< by operator
  std::vector<int> values_in_slot_;  ///< by slot
  std::vector<std::pair<Stored, Stored>> reorders_;  ///< made so far
};

/// The engine that all primitives live on: this machine's processor.
dnnl::engine& cpu_engine();

}  // namespace collage::runtime::onednn
