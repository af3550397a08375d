// SPDX-License-Identifier: Apache-2.0
// A failure is thrown as text and caught where the document is read: nothing of it leaves this file.
#include "runtime/package/shape_archive.h"

#include <utility>

namespace collage::runtime {
namespace {

using nlohmann::json;

/// What a table of shapes has that it should not.
struct WrongTable {
  std::string what;
};

const json& member(const json& from, const char* name, size_t members) {
  if (!from.is_object() || from.size() != members) throw WrongTable{"is of another form"};
  const auto found = from.find(name);
  if (found == from.end()) throw WrongTable{"lacks `" + std::string(name) + "`"};
  return *found;
}

template <typename Number>
Number whole_number(const json& from) {
  const bool fits = from.is_number_unsigned() ? std::in_range<Number>(from.get<uint64_t>())
                                              : from.is_number_integer() && std::in_range<Number>(from.get<int64_t>());
  if (!fits) throw WrongTable{"has something else than a whole number"};
  return from.get<Number>();
}

std::string text_of_table(const json& from) {
  if (!from.is_string()) throw WrongTable{"has something else than a text"};
  return from.get<std::string>();
}

template <typename Read>
auto list_of(const json& from, const Read& read) {
  if (!from.is_array()) throw WrongTable{"has something else than a list"};
  std::vector<decltype(read(from))> all;
  for (const json& one : from) all.push_back(read(one));
  return all;
}

Shape shape_of_table(const json& from) {
  return list_of(from, whole_number<int64_t>);
}

DimensionPlace place_of_table(const json& from) {
  return {whole_number<int32_t>(member(from, "axis", 2)), whole_number<int64_t>(member(from, "factor", 2))};
}

OpenDimension dimension_of_table(const json& from) {
  constexpr size_t kMembers = 5;
  return {text_of_table(member(from, "name", kMembers)), whole_number<int64_t>(member(from, "least", kMembers)),
          text_of_table(member(from, "obstacle", kMembers)), list_of(member(from, "inputs", kMembers), place_of_table),
          list_of(member(from, "outputs", kMembers), place_of_table)};
}

ShapedVariant variant_of_table(const json& from) {
  constexpr size_t kMembers = 3;
  return {list_of(member(from, "sizes", kMembers), whole_number<int64_t>),
          list_of(member(from, "inputs", kMembers), shape_of_table),
          list_of(member(from, "outputs", kMembers), shape_of_table)};
}

json places_json(const std::vector<DimensionPlace>& places) {
  json all = json::array();
  for (const DimensionPlace& place : places) all.push_back({{"axis", place.axis}, {"factor", place.factor}});
  return all;
}

}  // namespace

json to_json(const ShapeTable& table) {
  json dimensions = json::array(), variants = json::array();
  for (const OpenDimension& dimension : table.dimensions) {
    dimensions.push_back({{"name", dimension.name},
                          {"least", dimension.least},
                          {"obstacle", dimension.obstacle},
                          {"inputs", places_json(dimension.inputs)},
                          {"outputs", places_json(dimension.outputs)}});
  }
  for (const ShapedVariant& variant : table.variants)
    variants.push_back({{"sizes", variant.sizes}, {"inputs", variant.inputs}, {"outputs", variant.outputs}});
  return {{"inputs", table.inputs}, {"outputs", table.outputs}, {"dimensions", dimensions}, {"variants", variants}};
}

Result<ShapeTable> shape_table_from_json(const json& document) {
  constexpr size_t kMembers = 4;
  ShapeTable table;
  try {
    table.inputs = list_of(member(document, "inputs", kMembers), text_of_table);
    table.outputs = list_of(member(document, "outputs", kMembers), text_of_table);
    table.dimensions = list_of(member(document, "dimensions", kMembers), dimension_of_table);
    table.variants = list_of(member(document, "variants", kMembers), variant_of_table);
  } catch (const WrongTable& wrong) {
    return Status::error("its table of shapes " + wrong.what);
  }
  if (Status status = validate(table); !status) return status;
  return table;
}

}  // namespace collage::runtime
