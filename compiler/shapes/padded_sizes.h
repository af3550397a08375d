// SPDX-License-Identifier: Apache-2.0
// Which sizes of an open dimension run, padded, where the model was specialised to a larger one.
//
//     --buckets batch=1,8      a package: batch = 2 … 7 are each compared with batch = 8 (row_independence.h), so that
//                              nothing is assumed of sizes in between; all of them hold: padded from 1 on
//     x [5, 3] in a session    batch = 5 is compared with batch = 8 when it is first met
//
// Comparing takes as long as reading the model once more: it is neither searched nor compiled. Where several dimensions
// are open the others stay as they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/request/model_source.h"
#include "compiler/shapes/row_independence.h"
#include "runtime/core/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shape_table.h"

namespace collage::shapes {

/// So many sizes of a dimension are compared for a package, from the largest on.
inline constexpr size_t kMostComparedSizes = 256;

/// Compares specialisations of one model.
class SizeProver {
 public:
  /// `diags` gets nothing; it knows the files of the model.
  SizeProver(const request::ModelSource& source, std::string dimension, const support::Diagnostics& diags)
      : source_(source), dimension_(std::move(dimension)), diags_(diags) {}

  /// The two bindings differ by the size of the dimension. The last bucket is kept.
  RowProof prove(const std::vector<ir::ShapeBinding>& exact, const std::vector<ir::ShapeBinding>& bucket,
                 const RowSizes& sizes);
  /// The inputs of the model, in the order of the proof's.
  const std::vector<std::string>& inputs() const { return inputs_; }
  /// The type of an input of the last bucket.
  ir::DType dtype_of(size_t input) const { return bucket_->value(bucket_->inputs()[input]).type.dtype; }
  /// Whether the last bucket has the shapes of a variant of the table: whatever else fixed sizes when its plan was
  /// made, a proof for other ones says nothing.
  bool is_of_variant(const runtime::ShapeTable& table, size_t variant) const;

 private:
  /// Fails where the model cannot be specialised as a whole.
  runtime::Result<ir::Graph> graph_for(const std::vector<ir::ShapeBinding>& bindings) const;
  /// For each input of the graph, the axis that is the dimension. Fails where an input has it twice.
  runtime::Result<std::vector<int>> axes_of(const ir::Graph& graph) const;

  const request::ModelSource& source_;
  std::string dimension_;
  const support::Diagnostics& diags_;
  std::string bucket_key_;
  std::optional<ir::Graph> bucket_;
  std::vector<std::string> inputs_;
};

/// The names that the buckets give sizes: those of dimensions, not of inputs.
std::vector<std::string> bucket_dimensions(const request::ModelSource& source,
                                           const std::vector<std::vector<ir::ShapeBinding>>& buckets);

/// False after errors: a bucket of something that is no open dimension of the model.
bool check_buckets(const request::ModelSource& source, const std::vector<std::vector<ir::ShapeBinding>>& buckets,
                   support::Diagnostics& diags);

/// The table of specialisations to these buckets, by their plans, with what may be padded. `bindings`: of other
/// dimensions.
runtime::ShapeTable make_shape_table(const request::ModelSource& source, const std::vector<ir::ShapeBinding>& bindings,
                                     const std::vector<std::vector<ir::ShapeBinding>>& buckets,
                                     const std::vector<const runtime::Plan*>& plans, const support::Diagnostics& diags);

/// Lines about dimensions that are padded; empty where none is. Warns of the others, with the reason.
std::string report_padding(const runtime::ShapeTable& table, support::Diagnostics& diags);

}  // namespace collage::shapes
