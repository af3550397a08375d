// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/shape_table.h"

#include <algorithm>
#include <limits>
#include <set>

#include "runtime/core/joined.h"
#include "runtime/core/rows.h"

namespace collage::runtime {
namespace {

bool fits(const std::vector<std::optional<Shape>>& given, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (given[i] && *given[i] != shapes[i]) return false;
  }
  return true;
}

/// The size that the given inputs have for a dimension; nullopt where they have none, or several.
std::optional<int64_t> size_in(const std::vector<std::optional<Shape>>& given, const OpenDimension& dimension) {
  std::optional<int64_t> size;
  for (size_t i = 0; i < dimension.inputs.size(); ++i) {
    const DimensionPlace& place = dimension.inputs[i];
    if (place.axis < 0 || !given[i]) continue;
    if (static_cast<size_t>(place.axis) >= given[i]->size()) return std::nullopt;
    const int64_t rows = (*given[i])[static_cast<size_t>(place.axis)];
    if (rows % place.factor != 0 || (size && *size != rows / place.factor)) return std::nullopt;
    size = rows / place.factor;
  }
  return size;
}

/// The shapes of ports where the dimension has another size.
std::vector<Shape> resized(std::vector<Shape> shapes, const std::vector<DimensionPlace>& places, int64_t size) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (places[i].axis >= 0) shapes[i][static_cast<size_t>(places[i].axis)] = size * places[i].factor;
  }
  return shapes;
}

Status wrong(const std::string& what) {
  return Status::error("its table of shapes " + what);
}

/// The places of a dimension in ports of these shapes.
Status check_places(const std::vector<DimensionPlace>& places, const std::vector<Shape>& shapes, int64_t size) {
  for (size_t i = 0; i < places.size(); ++i) {
    const DimensionPlace& place = places[i];
    if (place.axis < 0) continue;
    const bool is_inside = static_cast<size_t>(place.axis) < shapes[i].size() && place.factor >= 1;
    if (!is_inside) return wrong("has a dimension outside of a shape");
    if (size > std::numeric_limits<int64_t>::max() / place.factor ||
        shapes[i][static_cast<size_t>(place.axis)] != size * place.factor) {
      return wrong("contradicts itself: a shape has another size than its dimension");
    }
  }
  return Status::ok();
}

Status check_dimension(const ShapeTable& table, size_t index) {
  const OpenDimension& dimension = table.dimensions[index];
  if (dimension.least < 0) return wrong("has a negative size");
  const bool is_padded = dimension.least > 0;
  if (dimension.inputs.size() != (is_padded ? table.inputs.size() : 0) ||
      dimension.outputs.size() != (is_padded ? table.outputs.size() : 0)) {
    return wrong("has a dimension with another number of inputs or outputs");
  }
  for (const ShapedVariant& variant : table.variants) {
    if (Status status = check_places(dimension.inputs, variant.inputs, variant.sizes[index]); !status) return status;
    if (Status status = check_places(dimension.outputs, variant.outputs, variant.sizes[index]); !status) return status;
  }
  return Status::ok();
}

}  // namespace

std::string ShapeTable::name_of(size_t variant) const {
  std::string name;
  const ShapedVariant& one = variants[variant];
  for (size_t d = 0; d < dimensions.size(); ++d)
    add_to_list(name, dimensions[d].name + "=" + std::to_string(one.sizes[d]), ",");
  if (!name.empty()) return name;
  for (size_t i = 0; i < inputs.size(); ++i) add_to_list(name, inputs[i] + " " + to_string(one.inputs[i]));
  return name;
}

std::string ShapeTable::held() const {
  std::string names;
  for (size_t i = 0; i < variants.size(); ++i) names += (i == 0 ? "" : "; ") + name_of(i);
  return names;
}

std::vector<Tensor> RowPadding::pad(std::vector<Tensor> given) const {
  for (size_t i = 0; is_needed() && i < inputs.size(); ++i) {
    if (inputs[i].axis < 0) continue;
    given[i] = with_repeated_rows(given[i], static_cast<size_t>(inputs[i].axis), padded * inputs[i].factor);
  }
  return given;
}

std::vector<Tensor> RowPadding::keep(std::vector<Tensor> results) const {
  for (size_t i = 0; is_needed() && i < outputs.size(); ++i) {
    if (outputs[i].axis < 0) continue;
    results[i] = with_first_rows(results[i], static_cast<size_t>(outputs[i].axis), size * outputs[i].factor);
  }
  return results;
}

Result<ShapeChoice> choose_variant(const ShapeTable& table, const std::vector<std::optional<Shape>>& inputs) {
  if (inputs.size() != table.inputs.size()) {
    return Status::error("takes " + std::to_string(table.inputs.size()) + " inputs, not " +
                         std::to_string(inputs.size()));
  }
  for (size_t i = 0; i < table.variants.size(); ++i) {
    const ShapedVariant& variant = table.variants[i];
    if (fits(inputs, variant.inputs)) return ShapeChoice{i, {}, variant.inputs, variant.outputs};
  }
  std::optional<ShapeChoice> best;
  std::string obstacles;
  for (size_t d = 0; d < table.dimensions.size(); ++d) {
    const OpenDimension& dimension = table.dimensions[d];
    if (!dimension.obstacle.empty()) obstacles += "; " + dimension.name + " is not padded: " + dimension.obstacle;
    const std::optional<int64_t> size = dimension.least > 0 ? size_in(inputs, dimension) : std::nullopt;
    if (!size || *size < dimension.least) continue;
    for (size_t i = 0; i < table.variants.size(); ++i) {
      const ShapedVariant& variant = table.variants[i];
      const int64_t padded = variant.sizes[d];
      if (padded <= *size || (best && best->padding.padded <= padded)) continue;
      std::vector<Shape> exact = resized(variant.inputs, dimension.inputs, *size);
      if (!fits(inputs, exact)) continue;
      best = ShapeChoice{i,
                         {dimension.inputs, dimension.outputs, *size, padded},
                         std::move(exact),
                         resized(variant.outputs, dimension.outputs, *size)};
    }
  }
  if (best) return *best;
  std::string given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) add_to_list(given, table.inputs[i] + " " + to_string(*inputs[i]));
  }
  return Status::error("was not compiled for " + given + ", but for " + table.held() + obstacles);
}

Status validate(const ShapeTable& table) {
  if (table.variants.empty()) return wrong("has no shape");
  std::set<std::vector<Shape>> known;
  for (const ShapedVariant& variant : table.variants) {
    if (variant.sizes.size() != table.dimensions.size() || variant.inputs.size() != table.inputs.size() ||
        variant.outputs.size() != table.outputs.size()) {
      return wrong("has a shape with another number of sizes, inputs or outputs");
    }
    for (int64_t size : variant.sizes) {
      if (size < 0) return wrong("has a negative size");
    }
    for (const std::vector<Shape>* shapes : {&variant.inputs, &variant.outputs}) {
      for (const Shape& shape : *shapes) {
        if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; })) {
          return wrong("has a negative size");
        }
      }
    }
    if (!known.insert(variant.inputs).second) return wrong("has a shape twice");
  }
  std::set<std::string> names;
  for (size_t d = 0; d < table.dimensions.size(); ++d) {
    if (!names.insert(table.dimensions[d].name).second) return wrong("has a dimension twice");
    if (Status status = check_dimension(table, d); !status) return status;
  }
  return Status::ok();
}

}  // namespace collage::runtime
