// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values of ONNX -> the tensors that they hold. A sequence whose elements are known when the
// model is read needs no operator:
//
//     s = SplitToSequence(x)  y = SequenceAt(s, 1)  =>  y is the second result of a Split
//     s = SequenceConstruct(a, b)  y = ConcatFromSequence(s) {axis = 0}  =>  y = Concat(a, b) {axis = 0}
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/import/emitter.h"

namespace collage::import {

class Sequences {
 public:
  explicit Sequences(Emitter& emitter) : emitter_(emitter) {}

  /// Whether the value is a sequence, or an optional value that is empty.
  bool contains(const std::string& name) const { return sequences_.contains(name) || empty_.contains(name); }

  /// Whether the operator is one of sequences and optional values, or reads one.
  bool handles(const std::string& op, const std::vector<std::string>& inputs) const;

  /// Adds the nodes that the results need. `inputs` are the names of all operands; those of sequences are left out in
  /// `node`. Returns false, after an error, if elements or places are not known.
  bool add(PendingNode node, const std::vector<std::string>& inputs);

 private:
  using Elements = std::vector<ir::ValueId>;

  bool construct(const PendingNode& node);
  bool insert(const PendingNode& node, Elements elements);
  bool erase(const PendingNode& node, Elements elements);
  bool at(const PendingNode& node, const Elements& elements);
  bool length(const PendingNode& node, const Elements& elements);
  bool concat(const PendingNode& node, const Elements& elements);
  bool split(const PendingNode& node);
  bool make_optional(const PendingNode& node, const std::string& input);
  bool has_element(const PendingNode& node, const std::string& input);

  /// Makes the result a sequence.
  bool define(const PendingNode& node, Elements elements);
  /// Makes the result a tensor.
  bool define(const PendingNode& node, ir::ValueId value);
  /// Reads operand 1 or 2 as a place in a sequence, `last` if it is absent. An error, and false, if it is not constant
  /// or not from -size to `last`.
  bool read_place(const PendingNode& node, size_t operand, size_t size, int64_t last, size_t* place);

  Emitter& emitter_;
  std::map<std::string, Elements, std::less<>> sequences_;
  std::set<std::string, std::less<>> empty_;  ///< optional values without an element
};

}  // namespace collage::import
