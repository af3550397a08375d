// SPDX-License-Identifier: Apache-2.0
// Whether a model of a larger size of an open dimension computes, in its first rows, what the model of a smaller size
// computes: then inputs of the smaller size may be padded, and the results cut.
//
//     exact, batch = 2     x: [2, 3]  Reshape -> [6]   Softmax over it
//     bucket, batch = 4    x: [4, 3]  Reshape -> [12]  Softmax over it       => "`y` (Softmax) normalises over it"
//
// Both graphs come from one model, so they are compared node by node. A value is
//
//     same      equal elements in both
//     rows      its shapes differ along one axis, and the first slices of the larger one are the smaller one
//     sized     anything else that follows from the size: the result of a Shape, the target of a Reshape
//
// Constants are compared by their elements; whatever a graph computes from the size of the dimension has become one.
// For nodes, the definition of an operator (ir/ops/row_rule.h) says along which axes it keeps rows apart. What it does
// not say is not proved.
//
// Padding repeats the last row, so that padded rows are as valid as that one: nothing is divided by a zero, and no
// index is out of range, that would not be without them. Where rows no longer repeat (a constant was added that has
// other elements there), operators that can fail by a value are not proved.
//
// What is proved is mathematical: another size may run on other kernels, which add in another order.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"

namespace collage::shapes {

/// Where the dimension lies in an input or output: `factor` rows along `axis` for each one of the dimension.
struct RowPort {
  int axis = -1;  ///< negative: nowhere
  int64_t factor = 1;
  friend bool operator==(const RowPort&, const RowPort&) = default;
};

struct RowProof {
  std::string obstacle{};  ///< what keeps it from being proved; empty: it is
  std::vector<RowPort> inputs{}, outputs{};

  bool holds() const { return obstacle.empty(); }
};

/// Sizes of the dimension in the two graphs, 1 <= exact < bucket.
struct RowSizes {
  int64_t exact = 1;
  int64_t bucket = 1;
};

/// `axes`: of each input of the graphs, the axis that is the dimension; negative: none.
RowProof prove_rows(const ir::Graph& exact, const ir::Graph& bucket, const RowSizes& sizes,
                    const std::vector<int>& axes);

}  // namespace collage::shapes
