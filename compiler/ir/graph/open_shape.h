// SPDX-License-Identifier: Apache-2.0
// Shapes of model inputs with dimensions that the model leaves open, and how they become shapes of a graph.
//
//     ids: i64[batch, seq], mask: i64[batch, seq]   and   seq = 17, batch = 2   =>   ids: [2, 17], mask: [2, 17]
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph/graph.h"
#include "runtime/support/diagnostic.h"

namespace collage::ir {

/// A dimension with a size, or an open one, with a name where the model gives it one.
struct OpenDim {
  int64_t size = -1;  ///< negative: open
  std::string name{};

  bool is_open() const { return size < 0; }
};

struct OpenInput {
  std::string name;
  std::optional<std::vector<OpenDim>> dims;  ///< nullopt: not even the number of dimensions is known

  bool is_open() const;
};

/// `8`, or `1..512`
struct SizeRange {
  int64_t least = 0;
  int64_t most = 0;

  bool is_one() const { return least == most; }
  bool holds(int64_t size) const { return least <= size && size <= most; }
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// What fixes open dimensions: sizes of a named dimension, or of all dimensions of an input.
struct ShapeBinding {
  std::string name;              ///< of an input or a dimension
  std::vector<SizeRange> sizes;  ///< one for a dimension
  std::string where;             ///< `--shape seq`, `--input ids`
  bool is_of_tensor = false;     ///< of a tensor that is given for the input `name`: it fixes only what is open
  bool leaves_first = false;     ///< of a tensor whose first dimension counts runs
};

/// `1x3x224x224`, `8`, `1..512`, `1x1..512`; nullopt where the text is none of these.
std::optional<std::vector<SizeRange>> parse_sizes(const std::string& text);
std::string to_string(const std::vector<SizeRange>& sizes);

struct ClosedShapes {
  std::map<std::string, Shape> inputs{};   ///< of every input
  std::map<std::string, int64_t> names{};  ///< of every dimension that has a name
};

/// Fixes all dimensions. A size holds wherever the dimension's name stands. A dimension with a range and no size gets
/// the largest, with a warning; a first dimension that nothing fixes becomes 1, with a warning. Returns nullopt after
/// errors: contradictions, names that do not exist, other dimensions that nothing fixes.
std::optional<ClosedShapes> close_shapes(const std::vector<OpenInput>& inputs,
                                         const std::vector<ShapeBinding>& bindings, const std::string& file,
                                         support::Diagnostics& diags);

}  // namespace collage::ir
