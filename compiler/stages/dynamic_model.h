// SPDX-License-Identifier: Apache-2.0
// A model that is specialised while it runs: to the shapes of its inputs, when it first meets them.
//
//     f32[2, 17]  =>  no specialisation for it yet: the model is specialised, placed and compiled, as a whole
//                     or, where values decide shapes, in stages
//     f32[2, 17]  =>  runs at once
//
// What is computed does not depend on which specialisations are kept. With buckets, a size between two of them runs in
// the next larger one where that is proved to change nothing (shapes/row_independence.h):
//
//     buckets batch = 8, 32   f32[5, 17]  =>  3 more rows: the specialisation to f32[8, 17]; 5 rows of its results
//
// Where it is not proved the model is specialised to the size itself, with a warning.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/request/model_source.h"
#include "compiler/shapes/row_independence.h"
#include "compiler/stages/staged_model.h"
#include "runtime/plan/shape_table.h"

namespace collage::stages {

class DynamicModel {
 public:
  struct Output {
    std::string name;
    ir::Tensor tensor;
  };

  /// Keeps the `kept` specialisations that were used last, at least one. `buckets`: sizes of dimensions, as the option
  /// has them. `diags`: of what is compiled; outlives this.
  DynamicModel(std::unique_ptr<const request::ModelSource> source, StageSettings settings, size_t kept,
               support::Diagnostics& diags, const std::vector<std::vector<ir::ShapeBinding>>& buckets = {});
  ~DynamicModel();

  /// The inputs that a run takes, with the dimensions that the model leaves open.
  const std::vector<ir::OpenInput>& inputs() const { return source_->inputs(); }
  /// In the order of the inputs. Returns nullopt after errors: shapes that contradict the model or each other, another
  /// dtype, a run that fails.
  std::optional<std::vector<Output>> run(const std::vector<ir::Tensor>& given);
  /// Specialisations made so far, those that were dropped too.
  size_t made() const { return made_; }

 private:
  struct Version;

  /// What a proof says, for inputs of these shapes.
  struct KnownPadding {
    std::string dimension;
    std::vector<ir::Shape> shapes;
    int64_t bucket = 0;
    std::optional<runtime::RowPadding> padding{};    ///< nullopt: it is not proved
    std::vector<std::optional<ir::DType>> dtypes{};  ///< of the inputs, where it is proved; nullopt: any
  };

  /// The inputs with the rows that bring dimensions to their buckets, and what was done to them, in turn.
  std::vector<runtime::RowPadding> pad(std::vector<ir::Tensor>* inputs);
  /// The size of a dimension in these inputs; nullopt where it has none or several.
  std::optional<int64_t> size_in(const std::vector<ir::Tensor>& inputs, const std::string& dimension) const;
  const KnownPadding& padding_for(const std::vector<ir::Tensor>& inputs, const std::string& dimension,
                                  const shapes::RowSizes& sizes);
  Version* version_for(const std::vector<ir::Tensor>& inputs);
  std::unique_ptr<Version> make_version(const std::vector<ir::Tensor>& inputs);

  std::unique_ptr<const request::ModelSource> source_;
  StageSettings settings_;
  size_t kept_;
  support::Diagnostics& diags_;
  std::map<std::string, std::set<int64_t>> buckets_;  ///< sizes by dimension
  std::vector<KnownPadding> paddings_;
  std::set<std::string> warned_;                  ///< dimensions
  std::list<std::unique_ptr<Version>> versions_;  ///< the last used first
  size_t made_ = 0;
};

}  // namespace collage::stages
