// SPDX-License-Identifier: Apache-2.0
#include "runtime/package/plan_archive.h"
#include "runtime/package/plan_fields.h"

namespace collage::runtime {
namespace {

using nlohmann::json;

class PlanToJson {
 public:
  explicit PlanToJson(const PlaceTensor& place_tensor) : place_tensor_(place_tensor) {}

  template <typename T>
  json object(T& value) {
    json outer = std::exchange(object_, json::object());
    fields(*this, value);
    return std::exchange(object_, std::move(outer));
  }

  template <typename T>
  void operator()(std::string_view name, T& value) {
    json made = write(value);
    object_[name] = std::move(made);
  }

 private:
  template <typename T>
  json write(T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else {
      return object(value);
    }
  }
  json write(std::string& value) { return value; }
  json write(Duration& value) { return value.ps(); }
  json write(DType& value) { return std::string(name_of(value)); }
  json write(StorageType& value) { return std::string(name_of(value)); }
  json write(Tensor& value) {
    if (value.is_empty_handle()) return nullptr;
    return {{"dtype", std::string(name_of(value.dtype()))}, {"shape", value.shape()}, {"place", place_tensor_(value)}};
  }
  json write(AttrMap& value) {
    json all = json::object();
    for (const auto& [name, attribute] : value) {
      AttrValue copy = attribute;
      all[name] = write(copy);
    }
    return all;
  }
  template <typename T>
  json write(std::vector<T>& value) {
    json all = json::array();
    for (T& item : value) all.push_back(write(item));
    return all;
  }
  template <typename T>
  json write(std::optional<T>& value) {
    return value ? write(*value) : json(nullptr);
  }
  template <typename... T>
  json write(std::variant<T...>& value) {
    const std::string_view name = AlternativeNames<std::variant<T...>>::names[value.index()];
    json all = json::array({std::string(name)});
    all.push_back(std::visit([&](auto& held) { return write(held); }, value));
    return all;
  }

  const PlaceTensor& place_tensor_;
  json object_ = json::object();
};

}  // namespace

json to_json(Plan plan, const PlaceTensor& place_tensor) {
  return PlanToJson(place_tensor).object(plan);
}

}  // namespace collage::runtime
