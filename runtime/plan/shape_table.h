// SPDX-License-Identifier: Apache-2.0
// The specialisations of one model that a package holds, by the shapes of their inputs, and which of them takes an
// input of other sizes:
//
//     specialisations x [1, 3], x [8, 3]    batch is padded from 1 on
//     x [8, 3]  =>  the second as it is
//     x [5, 3]  =>  the second: x gets 3 more rows, the last one again, and of the results 5 rows are kept
//     x [9, 3]  =>  refused, with the sizes that there are
//
// That results keep apart what is padded was proved when the model was compiled (compiler/shapes). One dimension
// is padded for a run: of two together nothing was proved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/shape.h"
#include "runtime/core/status.h"
#include "runtime/core/tensor.h"

namespace collage::runtime {

/// Where a dimension lies in an input or output: `factor` rows along `axis` for each one of it.
struct DimensionPlace {
  int32_t axis = -1;  ///< negative: nowhere
  int64_t factor = 1;
  friend bool operator==(const DimensionPlace&, const DimensionPlace&) = default;
};

struct OpenDimension {
  std::string name;
  int64_t least = 0;       ///< sizes from here on may be padded; 0: none
  std::string obstacle{};  ///< why none may, or none below `least`; empty: all may
  /// By input and by output; empty where nothing is padded.
  std::vector<DimensionPlace> inputs{}, outputs{};
};

struct ShapedVariant {
  std::vector<int64_t> sizes;  ///< by dimension
  std::vector<Shape> inputs, outputs;
};

struct ShapeTable {
  std::vector<std::string> inputs, outputs;  ///< names, in the order of all plans
  std::vector<OpenDimension> dimensions;
  std::vector<ShapedVariant> variants;  ///< at least one

  /// `batch=8,seq=64`, or the shapes of the inputs where no dimension has a name.
  std::string name_of(size_t variant) const;
  /// The names of all variants.
  std::string held() const;
};

/// Rows that are added to inputs, and those that are kept of outputs. Empty lists: none.
struct RowPadding {
  std::vector<DimensionPlace> inputs{}, outputs{};
  int64_t size = 0;    ///< of the dimension in what is given
  int64_t padded = 0;  ///< of the dimension where it runs

  bool is_needed() const { return size != padded; }
  std::vector<Tensor> pad(std::vector<Tensor> given) const;
  std::vector<Tensor> keep(std::vector<Tensor> results) const;
};

struct ShapeChoice {
  size_t variant = 0;
  RowPadding padding{};
  std::vector<Shape> inputs{}, outputs{};  ///< as the caller sees them
};

/// The variant for inputs of these shapes; nullopt: whatever the shape is. The failure says what there is.
Result<ShapeChoice> choose_variant(const ShapeTable& table, const std::vector<std::optional<Shape>>& inputs);

/// Refuses a table that contradicts itself, with the reason.
Status validate(const ShapeTable& table);

}  // namespace collage::runtime
