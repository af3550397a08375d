// SPDX-License-Identifier: Apache-2.0
#include "compiler/shapes/padded_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/request/bindings.h"

namespace collage::shapes {
namespace {

using Bindings = std::vector<ir::ShapeBinding>;

std::string bindings_key(const Bindings& bindings) {
  std::string key;
  for (const ir::ShapeBinding& binding : bindings) key += request::to_string(binding) + ";";
  return key;
}

/// The size that a bucket gives a dimension.
int64_t size_of_bucket(const Bindings& bucket, const std::string& dimension) {
  const auto at = std::find_if(bucket.begin(), bucket.end(), [&](const auto& one) { return one.name == dimension; });
  return at->sizes.front().least;
}

Bindings with_size(Bindings bindings, const std::string& dimension, int64_t size) {
  std::erase_if(bindings, [&](const ir::ShapeBinding& one) { return one.name == dimension; });
  bindings.push_back({dimension, {{size, size}}, "--buckets " + dimension});
  return bindings;
}

std::vector<runtime::Shape> shapes_of(const runtime::Plan& plan, const std::vector<runtime::PlanPort>& ports) {
  std::vector<runtime::Shape> shapes;
  for (const runtime::PlanPort& port : ports)
    shapes.push_back(plan.buffers[static_cast<size_t>(port.buffer)].tensor.shape);
  return shapes;
}

std::vector<std::string> names_of(const std::vector<runtime::PlanPort>& ports) {
  std::vector<std::string> names;
  for (const runtime::PlanPort& port : ports) names.push_back(port.name);
  return names;
}

/// Looks at the sizes of one dimension, for each combination of the other ones.
class DimensionProof {
 public:
  DimensionProof(const request::ModelSource& source, std::string name, const Bindings& bindings,
                 const runtime::ShapeTable& table, const support::Diagnostics& diags)
      : prover_(source, name, diags), bindings_(bindings), table_(table) {
    made_.name = std::move(name);
  }

  runtime::OpenDimension prove(const std::vector<Bindings>& buckets) {
    std::map<std::string, std::pair<Bindings, Variants>> groups;
    for (size_t i = 0; i < buckets.size(); ++i) {
      Bindings others = buckets[i];
      std::erase_if(others, [&](const ir::ShapeBinding& one) { return one.name == made_.name; });
      auto& [bound, variants] = groups[bindings_key(others)];
      bound = std::move(others);
      variants.emplace(size_of_bucket(buckets[i], made_.name), i);
    }
    bool holds = true;
    for (const auto& [key, group] : groups) holds = holds && prove_group(group.first, group.second);
    if (!holds || !places_) {
      made_.least = 0;
    } else {
      made_.inputs = places_->first;
      made_.outputs = places_->second;
    }
    return made_;
  }

 private:
  using Places = std::pair<std::vector<runtime::DimensionPlace>, std::vector<runtime::DimensionPlace>>;
  using Variants = std::map<int64_t, size_t>;  // of the table, by the size of the dimension

  /// From the largest size down to the first that is not proved. False where no size is.
  bool prove_group(const Bindings& others, const Variants& variants) {
    Bindings bindings = bindings_;
    bindings.insert(bindings.end(), others.begin(), others.end());
    size_t compared = 0;
    int64_t size = variants.rbegin()->first - 1;
    for (; size >= 1; --size) {
      if (variants.contains(size)) continue;
      if (compared == kMostComparedSizes) {
        made_.obstacle = fmt::format("sizes below {} were not looked at", size + 1);
        break;
      }
      const auto [bucket, variant] = *variants.upper_bound(size);
      const RowProof proof =
          prover_.prove(with_size(bindings, made_.name, size), with_size(bindings, made_.name, bucket), {size, bucket});
      std::string obstacle = proof.obstacle;
      if (obstacle.empty() && !prover_.is_of_variant(table_, variant))
        obstacle = "the run fixed sizes of other dimensions";
      if (obstacle.empty() && !agrees(proof)) obstacle = "it lies elsewhere for another size";
      if (!obstacle.empty()) {
        made_.obstacle = compared == 0 ? obstacle : fmt::format("of size {}, {}", size, obstacle);
        break;
      }
      ++compared;
    }
    made_.least = std::max({made_.least, size + 1, int64_t{1}});
    return compared > 0 || size < 1;
  }

  /// The places of the dimension are those of every other size.
  bool agrees(const RowProof& proof) {
    Places places;
    for (const std::string& name : table_.inputs) {
      const auto at = std::find(prover_.inputs().begin(), prover_.inputs().end(), name);
      if (at == prover_.inputs().end()) return false;
      const RowPort& port = proof.inputs[static_cast<size_t>(at - prover_.inputs().begin())];
      places.first.push_back({port.axis, port.factor});
    }
    if (proof.inputs.size() != table_.inputs.size() || proof.outputs.size() != table_.outputs.size()) return false;
    for (const RowPort& port : proof.outputs) places.second.push_back({port.axis, port.factor});
    if (!places_) places_ = places;
    return *places_ == places;
  }

  SizeProver prover_;
  const Bindings& bindings_;
  const runtime::ShapeTable& table_;
  runtime::OpenDimension made_;
  std::optional<Places> places_;
};

}  // namespace

runtime::Result<ir::Graph> SizeProver::graph_for(const std::vector<ir::ShapeBinding>& bindings) const {
  using runtime::Status;
  support::Diagnostics own(diags_.sources());
  std::optional<request::Specialised> made = source_.specialise({bindings, {}}, own);
  if (made && made->whole) return std::move(made->whole->model.graph);
  if (made) return Status::error("values of a run decide shapes");
  for (const support::DiagnosticRecord& record : own.records()) {
    if (record.severity == support::Severity::Error) return Status::error(record.message);
  }
  return Status::error("the model has no such size: " + dimension_);
}

runtime::Result<std::vector<int>> SizeProver::axes_of(const ir::Graph& graph) const {
  std::vector<int> axes;
  for (ir::ValueId id : graph.inputs()) {
    const std::string& name = graph.value(id).name;
    const auto input = std::find_if(source_.inputs().begin(), source_.inputs().end(),
                                    [&](const ir::OpenInput& one) { return one.name == name; });
    int axis = -1;
    for (size_t d = 0; input != source_.inputs().end() && input->dims && d < input->dims->size(); ++d) {
      const ir::OpenDim& dim = (*input->dims)[d];
      if (!dim.is_open() || dim.name != dimension_) continue;
      if (axis >= 0) return runtime::Status::error("input `" + name + "` has it twice");
      axis = static_cast<int>(d);
    }
    axes.push_back(axis);
  }
  return axes;
}

RowProof SizeProver::prove(const std::vector<ir::ShapeBinding>& exact, const std::vector<ir::ShapeBinding>& bucket,
                           const RowSizes& sizes) {
  if (const std::string key = bindings_key(bucket); !bucket_ || key != bucket_key_) {
    runtime::Result<ir::Graph> made = graph_for(bucket);
    bucket_.reset();
    if (!made) return {made.message(), {}, {}};
    bucket_ = std::move(*made);
    bucket_key_ = key;
  }
  inputs_.clear();
  for (ir::ValueId id : bucket_->inputs()) inputs_.push_back(bucket_->value(id).name);
  const runtime::Result<std::vector<int>> axes = axes_of(*bucket_);
  if (!axes) return {axes.message(), {}, {}};
  const runtime::Result<ir::Graph> small = graph_for(exact);
  if (!small) return {small.message(), {}, {}};
  return prove_rows(*small, *bucket_, sizes, *axes);
}

bool SizeProver::is_of_variant(const runtime::ShapeTable& table, size_t variant) const {
  const auto shape_of = [&](ir::ValueId id) -> const ir::Shape& { return bucket_->value(id).type.shape; };
  const runtime::ShapedVariant& one = table.variants[variant];
  const std::vector<ir::ValueId>&inputs = bucket_->inputs(), &outputs = bucket_->outputs();
  if (inputs.size() != one.inputs.size() || outputs.size() != one.outputs.size()) return false;
  for (ir::ValueId id : inputs) {
    const auto name = std::find(table.inputs.begin(), table.inputs.end(), bucket_->value(id).name);
    if (name == table.inputs.end()) return false;
    if (one.inputs[static_cast<size_t>(name - table.inputs.begin())] != shape_of(id)) return false;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (one.outputs[i] != shape_of(outputs[i])) return false;
  }
  return true;
}

std::vector<std::string> bucket_dimensions(const request::ModelSource& source,
                                           const std::vector<std::vector<ir::ShapeBinding>>& buckets) {
  std::vector<std::string> names;
  if (buckets.empty()) return names;
  for (const ir::ShapeBinding& binding : buckets.front()) {
    const bool is_input = std::any_of(source.inputs().begin(), source.inputs().end(),
                                      [&](const ir::OpenInput& input) { return input.name == binding.name; });
    const bool is_size = std::all_of(buckets.begin(), buckets.end(), [&](const Bindings& bucket) {
      return std::any_of(bucket.begin(), bucket.end(), [&](const ir::ShapeBinding& one) {
        return one.name == binding.name && one.sizes.size() == 1 && one.sizes.front().is_one();
      });
    });
    if (!is_input && is_size) names.push_back(binding.name);
  }
  return names;
}

bool check_buckets(const request::ModelSource& source, const std::vector<std::vector<ir::ShapeBinding>>& buckets,
                   support::Diagnostics& diags) {
  std::set<std::string> names;
  for (const ir::OpenInput& input : source.inputs()) {
    for (const ir::OpenDim& dim : input.dims.value_or(std::vector<ir::OpenDim>())) {
      if (dim.is_open() && !dim.name.empty()) names.insert(dim.name);
    }
  }
  bool good = true;
  for (const ir::ShapeBinding& binding : buckets.empty() ? Bindings() : buckets.front()) {
    if (names.contains(binding.name)) continue;
    good = diags
               .error_at(support::Code::InputMismatch, "buckets " + binding.name,
                         "`{}` is no open dimension of the model", binding.name)
               .did_you_mean(support::closest(binding.name, {names.begin(), names.end()}));
  }
  return good;
}

runtime::ShapeTable make_shape_table(const request::ModelSource& source, const std::vector<ir::ShapeBinding>& bindings,
                                     const std::vector<std::vector<ir::ShapeBinding>>& buckets,
                                     const std::vector<const runtime::Plan*>& plans,
                                     const support::Diagnostics& diags) {
  runtime::ShapeTable table;
  const std::vector<std::string> names = bucket_dimensions(source, buckets);
  table.inputs = names_of(plans.front()->inputs);
  table.outputs = names_of(plans.front()->outputs);
  for (size_t i = 0; i < plans.size(); ++i) {
    runtime::ShapedVariant variant;
    for (const std::string& name : names) variant.sizes.push_back(size_of_bucket(buckets[i], name));
    variant.inputs = shapes_of(*plans[i], plans[i]->inputs);
    variant.outputs = shapes_of(*plans[i], plans[i]->outputs);
    table.variants.push_back(std::move(variant));
  }
  for (const std::string& name : names)
    table.dimensions.push_back(DimensionProof(source, name, bindings, table, diags).prove(buckets));
  return table;
}

std::string report_padding(const runtime::ShapeTable& table, support::Diagnostics& diags) {
  std::string text;
  for (const runtime::OpenDimension& dimension : table.dimensions) {
    if (dimension.least > 0) {
      text += fmt::format("{:<12}{} from {} on, to the next bucket\n", text.empty() ? "padding" : "", dimension.name,
                          dimension.least);
    }
    if (dimension.obstacle.empty()) continue;
    const std::string where = "--buckets " + dimension.name;
    if (dimension.least > 0) {
      diags.warning_at(support::Code::NotPadded, where, "{} is not padded below {}: {}", dimension.name,
                       dimension.least, dimension.obstacle);
    } else {
      diags.warning_at(support::Code::NotPadded, where, "{} is not padded: {}", dimension.name, dimension.obstacle);
    }
  }
  return text;
}

}  // namespace collage::shapes
